package import Observability

/// Settles what dead workers of this host left behind, by their journals.
///
/// A journal that nobody holds proves that its process is dead. What is known of its pushes is stored for it, in the dead
/// worker's name, so that the fence of owner and epoch holds: a chunk another daemon took over meanwhile is left alone.
package actor JournalRecovery {
    /// How long after its death a claim of a process may still be committed: PostgreSQL notices within a second that a client is
    /// gone (`client_connection_check_interval`). The worker is looked at once more after this time.
    package static let lateClaimTime: Duration = .seconds(2)

    private let executor: any SerialExecutor
    private let journals: any PushJournals
    private let queue: any DeliveryQueue
    private let clock: FanOutClock
    private let logger: Logger
    /// Journals that were settled once, and when.
    private var settledAt: [UUID: ContinuousClock.Instant] = [:]
    /// Journals this process has nothing to do with; bounded by the files the adapter lists.
    private var ignored: Set<UUID> = []

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Nothing is settled yet.
    package init(
        executor: any SerialExecutor, journals: any PushJournals, queue: any DeliveryQueue, clock: FanOutClock, logger: Logger
    ) {
        self.executor = executor
        self.journals = journals
        self.queue = queue
        self.clock = clock
        self.logger = logger
    }

    /// Settles every journal whose process is dead; returns whether there may be chunks to claim now.
    ///
    /// Throws when the database is away: what is left is settled by the next call. Doing so twice changes nothing.
    @discardableResult package func settle() async throws(StorageError) -> Bool {
        var isAnySettled = false
        let found = journals.abandoned()
        settledAt = settledAt.filter { entry in found.contains { $0.id == entry.key } }
        for journal in found where !ignored.contains(journal.id) {
            do throws(StorageError) {
                if try await settle(journal) { isAnySettled = true }
            } catch .refused(let sqlState) {
                ignored.insert(journal.id)
                logger.log(
                    .error, "A dead worker's journal could not be used: its chunks wait for its lease to run out",
                    [.file: journal.id.description, .sqlState: sqlState])
            }
        }
        return isAnySettled
    }

    private func settle(_ journal: any AbandonedJournal) async throws(StorageError) -> Bool {
        let workers = try await queue.workers(ofJournal: journal.id)
        guard !workers.isEmpty else {
            // That of another database, or of a process that died before it registered.
            ignored.insert(journal.id)
            journal.removeIfForgotten()
            return false
        }
        let contents: JournalContents
        do {
            contents = try journal.read()
        } catch {
            logger.log(
                .warning, "A dead worker's journal is not believed: its chunks wait for its lease to run out",
                [.file: journal.id.description, .reason: error.description])
            journal.remove()
            return false
        }
        for worker in workers { try await settle(contents, of: worker) }
        let now = clock.instant()
        let first = settledAt[journal.id] ?? now
        settledAt[journal.id] = first
        guard first.duration(to: now) >= Self.lateClaimTime else { return true }
        for worker in workers { try await queue.releaseLease(of: worker) }
        settledAt[journal.id] = nil
        journal.remove()
        return true
    }

    /// Stores what is known, and hands out what was never sent; the worker's lease still keeps others away meanwhile.
    private func settle(_ contents: JournalContents, of worker: WorkerID) async throws(StorageError) {
        let superseded = try await queue.superseded(among: Array(Set(contents.pages.map(\.id.notification))))
        var settled: [ChunkRecord] = []
        // One by one: a chunk that cannot be stored must not keep the others from it.
        for page in contents.pages {
            do throws(StorageError) {
                guard let job = try await queue.job(for: page.id.notification) else { continue }
                let record = page.record(
                    for: job, isSuperseded: superseded.contains(page.id.notification), now: clock.now()
                ) { Double.random(in: 0..<1) }
                if try await queue.record([record], worker: worker).isEmpty { settled.append(record) }
            } catch .refused(let sqlState) {
                logger.log(
                    .error, "A dead worker's chunk could not be settled; it waits for the lease to run out",
                    [
                        .notificationID: "\(page.id.notification)", .chunkID: "\(page.id.number)", .workerID: worker.description,
                        .sqlState: sqlState,
                    ])
            }
        }
        if contents.isComplete { try await queue.handOutChunks(ofDead: worker, except: contents.pages.map(\.id)) }
        if !settled.isEmpty { report(settled, of: worker) }
    }

    private func report(_ records: [ChunkRecord], of worker: WorkerID) {
        let deliveries = records.flatMap(\.deliveries)
        let counts = deliveries.reduce(into: [Tally: Int]()) { $0[$1.reason.tally, default: 0] += 1 }
        logger.log(
            .warning, "A worker of this host died; its chunks are settled by its journal",
            [
                .workerID: worker.description, .count: "\(records.count)", .acceptedCount: "\(counts[.accepted, default: 0])",
                .rejectedCount: "\(counts[.failed, default: 0])", .unknownCount: "\(counts[.unknown, default: 0])",
                .unsentCount: "\(records.reduce(0) { $0 + $1.retries.count })",
            ])
    }
}
