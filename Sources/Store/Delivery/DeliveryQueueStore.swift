package import Gateway
import JSON
import PostgreSQL

extension Store: DeliveryQueue {
    package func registerWorker(node: String, journal: UUID? = nil) async throws(StorageError) -> WorkerID {
        try await addWorker(node: node, journal: journal)
    }

    package func workers(ofJournal journal: UUID) async throws(StorageError) -> [WorkerID] {
        let found = try await query(WorkerStatements.ofJournal, [.uuid(journal)])
        return (0..<found.rowCount).map { WorkerID(rawValue: found.int32(row: $0, column: 0)) }
    }

    package func extendLease(of worker: WorkerID, seconds: Int) async throws(StorageError) -> Bool {
        try await extend(leaseOf: worker, seconds: seconds)
    }

    package func releaseLease(of worker: WorkerID) async throws(StorageError) { try await release(leaseOf: worker) }

    package func claimChunk(for worker: WorkerID, deviceCount: Int, excluding applications: [ApplicationID])
        async throws(StorageError) -> Chunk?
    {
        try await claim(for: worker, deviceCount: deviceCount, excluding: applications)
    }

    package func giveBackChunks(of worker: WorkerID, except held: [ChunkID]) async throws(StorageError) {
        try await giveBack(chunksOf: worker, except: held)
    }

    package func handOutChunks(ofDead worker: WorkerID, except held: [ChunkID]) async throws(StorageError) {
        try await giveBack(chunksOf: worker, except: held, ownerLimit: AbandonedChunkStatements.ownerLimit)
    }

    package func job(for notification: NotificationID) async throws(StorageError) -> PushJob? {
        let result = try await query(FanOutStatements.job, [.notification(notification)])
        guard result.rowCount == 1 else { return nil }
        let column = Application.columnCount
        guard let event = ActivityEvent(rawValue: result.int16(row: 0, column: column + 1)),
            let content = PushContent(stored: result.bytes(row: 0, column: column + 2), event: event),
            let variants = PushVariant.ofTypes(result, column: column + 5),
            let channels = ActivityChannel.list(result, column: column + 6)
        else { throw .refused(sqlState: SQLStates.unreadableValue) }
        return PushJob(
            notification: notification, application: result.application(row: 0, firstColumn: 0),
            activityID: result.text(row: 0, column: column), content: content,
            variants: !result.isNull(row: 0, column: column + 7) && result.bool(row: 0, column: column + 7)
                ? PushVariant.ofChannels : variants,
            channels: channels,
            timestamp: result.int64(row: 0, column: column + 3), expiresAt: result.int64(row: 0, column: column + 4))
    }

    package func superseded(among notifications: [NotificationID]) async throws(StorageError) -> [NotificationID] {
        let result = try await query(FanOutStatements.superseded, [.notifications(notifications)])
        return (0..<result.rowCount).map { NotificationID(rawValue: result.int64(row: $0, column: 0)) }
    }

    package func record(_ records: [ChunkRecord], worker: WorkerID) async throws(StorageError) -> [ChunkID] {
        try await store(records, worker: worker)
    }

    package func giveUp(_ chunk: ChunkID, of worker: WorkerID) async throws(StorageError) {
        try await handOver(chunk, of: worker)
    }

    package func millisecondsUntilNextRetry(excluding applications: [ApplicationID]) async throws(StorageError) -> Int64? {
        try await query(
            NextWorkStatements.nextRetry,
            [.int32Array(applications.map(\.rawValue)), .notifications(setAside.passedOver())]
        ).optionalInt64(column: 0)
    }
}

extension PushVariant {
    /// Of a start that puts devices on channels: the second one is for those it can.
    static let ofChannels = [PushVariant(), PushVariant(joinsChannel: true)]

    /// One for each attributes type; the one of everybody where there is no list. Nil for what this version does not understand.
    fileprivate static func ofTypes(_ result: QueryResult, column: Int) -> [PushVariant]? {
        guard !result.isNull(row: 0, column: column) else { return [PushVariant()] }
        guard let names = try? JSONDocument(parsing: result.jsonb(row: 0, column: column)).root.elements, !names.isEmpty else {
            return nil
        }
        return names.map { PushVariant(attributesType: $0.string) }
    }
}
