package import Gateway
import PostgreSQL

/// What one round of upkeep did.
package struct UpkeepReport: Sendable {
    /// Whether another daemon was removing what is old at that moment, so that this one left it alone.
    package var isElsewhere = false
    /// Rows and tables that are gone.
    package var removed = RemovedCounts()
    /// Partitions past their time that stay because a fan-out of their day has not finished.
    package var heldPartitionCount = 0
    /// Why a partition past its time is still there; the next round tries again.
    package var partitionProblem: String?
    /// Where the next round goes on.
    package var progress = RetentionProgress()
    /// The end of the last partition that is there, seconds since 1970: from then on nothing can be stored.
    package var partitionsEndAt: Int64 = 0
}

/// How much a round of upkeep removed.
package struct RemovedCounts: Hashable, Sendable {
    package var partitions = 0
    package var keys = 0
    package var notifications = 0
    package var activities = 0
    package var updateTokens = 0
    package var instances = 0
    package var retries = 0
    package var workers = 0
    /// Nothing yet.
    package init() {}
}

/// How far rounds of upkeep have looked through what is kept longer, so that a long list is seen to its end by several of them.
package struct RetentionProgress: Hashable, Sendable {
    /// The last notification and the last activity that were looked at; 0 begins anew.
    var notification: Int64 = 0
    var activity: Int64 = 0
    /// Begins with the oldest.
    package init() {}
}

extension Store {
    /// Days for which partitions are made ahead: an insert finds its partition when a daemon ran within a day less.
    static let partitionDaysAhead: Int32 = 8
    /// How long deliveries, chunks, taps, notifications and activities are kept unless the configuration says otherwise, in days.
    package static let defaultRetentionDays = 30

    /// Makes the partitions of the coming days that are missing; any number of daemons may do so at once.
    package func maintainPartitions() async throws(StorageError) {
        try await query(MaintenanceStatements.ensurePartitions, [.int32(Self.partitionDaysAhead)])
    }

    /// Makes partitions ahead, removes what is past its time, and finishes fan-outs whose last worker died between its last two
    /// commits. Only one daemon at a time removes; each makes partitions and finishes.
    ///
    /// - Parameters:
    ///   - progress: where the round before stopped.
    ///   - moment: what counts as now; nil is the clock of the server.
    @discardableResult package func maintain(
        retentionDays: Int = Store.defaultRetentionDays, resuming progress: RetentionProgress = RetentionProgress(),
        at moment: UnixMilliseconds? = nil
    ) async throws(StorageError) -> UpkeepReport {
        try await maintainPartitions()
        let end = try await query(MaintenanceStatements.partitionsEnd).int64(row: 0, column: 0)
        var report: UpkeepReport
        do {
            report = try await pool.withConnection { connection in
                try await alone(on: connection) {
                    try await Retention(connection: connection, days: retentionDays, moment: moment).round(progress)
                }
            }
        } catch let error as DatabaseError {
            throw StorageError(error)
        } catch {
            throw .unavailable
        }
        report.partitionsEndAt = end
        var place: Int64? = 0
        while let behind = place { place = try await finishOpen(behind: behind) }
        return report
    }

    /// Runs `body` unless another session is at it. The lock belongs to the session: a crash gives it back.
    private func alone(
        on connection: DatabaseConnection, _ body: () async throws -> UpkeepReport
    ) async throws -> UpkeepReport {
        guard try await connection.query(MaintenanceStatements.lock).bool(row: 0, column: 0) else {
            var report = UpkeepReport()
            report.isElsewhere = true
            return report
        }
        let report: UpkeepReport
        do {
            report = try await body()
            try await connection.query(MaintenanceStatements.unlock)
        } catch {
            // A session that might still hold the lock must not go back to the others.
            await connection.close()
            throw error
        }
        return report
    }
}

enum MaintenanceStatements {
    static let all = [ensurePartitions, partitionsEnd, lock, unlock]

    static let ensurePartitions = Statement(name: "maintenance_partitions", text: "select ensure_partitions($1)")

    /// The end of the time for which all four tables have partitions, seconds since 1970.
    static let partitionsEnd = Statement(
        name: "maintenance_partitions_end",
        text: """
            select coalesce(min(last), 0)::bigint
            from (
                select unix_seconds((to_date(max(right(child.relname, 8)), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC') as last
                from unnest(array['fan_out_chunk', 'delivery', 'click', 'device_report']) as parent (name)
                    left join pg_inherits as link on link.inhparent = parent.name::regclass
                    left join pg_class as child on child.oid = link.inhrelid
                group by parent.name) as ends
            """)

    static let lock = Statement(
        name: "maintenance_lock", text: "select pg_try_advisory_lock(hashtext('openpushd upkeep'))")

    static let unlock = Statement(
        name: "maintenance_unlock", text: "select pg_advisory_unlock(hashtext('openpushd upkeep'))")
}
