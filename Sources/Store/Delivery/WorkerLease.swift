import Gateway
import PostgreSQL

extension Store {
    /// How long the first lease of a worker lasts, in seconds; it extends it long before.
    static let firstLeaseSeconds = 15

    func addWorker(node: String, journal: UUID?) async throws(StorageError) -> WorkerID {
        let added = try await query(
            WorkerStatements.add,
            [.text(node), .int32(Int32(Self.firstLeaseSeconds)), journal.map(Parameter.uuid) ?? .null])
        return WorkerID(rawValue: added.int32(row: 0, column: 0))
    }

    func extend(leaseOf worker: WorkerID, seconds: Int) async throws(StorageError) -> Bool {
        // Were it to wait behind requests, a flood of them would cost the lease, and with it what its chunks were sent for.
        let parameters: [Parameter] = [.worker(worker), .int32(Int32(seconds))]
        return try await query(WorkerStatements.extend, parameters, isUrgent: true).affectedRowCount == 1
    }

    func release(leaseOf worker: WorkerID) async throws(StorageError) {
        try await query(WorkerStatements.release, [.worker(worker)])
    }
}

enum WorkerStatements {
    static let all = [add, ofJournal, extend, release, markLost]

    static let add = Statement(
        name: "worker_add",
        text: """
            insert into worker (node, lease_until, journal)
            values ($1, clock_timestamp() + $2::int * interval '1 second', $3)
            returning worker_id
            """)

    static let ofJournal = Statement(
        name: "worker_of_journal", text: "select worker_id from worker where journal = $1 order by worker_id")

    /// A lease that ran out is extended as well, as long as nobody has taken the worker's chunks.
    static let extend = Statement(
        name: "worker_extend",
        text: """
            update worker
            set lease_until = clock_timestamp() + $2::int * interval '1 second',
                held_since = case when lease_until < clock_timestamp() then clock_timestamp() else held_since end
            where worker_id = $1 and lost_at is null
            """)

    static let release = Statement(
        name: "worker_release",
        text: """
            update worker
            set lease_until = least(lease_until, clock_timestamp()), lost_at = coalesce(lost_at, clock_timestamp())
            where worker_id = $1
            """)

    // While the database is away, or not to be reached, the leases of living workers run out as well. Whoever comes back first then has not
    // held its own lease all the while, and leaves the others the time of a lease to come back, too.
    /// Whether a worker is gone in the eyes of another: its lease ran out, and the other's has not since before that, or for the length of a
    /// lease.
    ///
    /// - Parameters:
    ///   - worker: name of the row of the worker in question.
    ///   - claimant: number of the worker that asks.
    static func isGone(_ worker: String, to claimant: String) -> String {
        """
        (\(worker).lost_at is not null or \(worker).lease_until < clock_timestamp() and exists (
            select from worker as claimant
            where claimant.worker_id = \(claimant) and claimant.held_since <= greatest(
                \(worker).lease_until, clock_timestamp() - interval '\(Store.firstLeaseSeconds) seconds')))
        """
    }

    /// From here on the chunks of workers that are gone belong to whoever claims them: the worker that asks.
    static let markLost = Statement(
        name: "worker_mark_lost",
        text: """
            update worker
            set lost_at = clock_timestamp()
            where worker_id = any(array(
                select gone.worker_id from worker as gone
                where gone.lost_at is null and \(isGone("gone", to: "$1"))
                order by gone.worker_id
                for update))
            """)
}
