import Observability

/// Records chunks together, and one by one when one of them is refused, so that it does not keep the others from being recorded.
struct ChunkRecorder: Sendable {
    let queue: any DeliveryQueue
    let logger: Logger

    /// Stores the outcomes; returns how many chunks another worker took over meanwhile.
    func record(_ records: [ChunkRecord], worker: WorkerID) async throws(StorageError) -> Int {
        do throws(StorageError) {
            return try await queue.record(records, worker: worker).count
        } catch {
            guard error.isAboutValues else { throw error }
        }
        var lostCount = 0
        for record in records { lostCount += try await recordAlone(record, worker: worker) }
        return lostCount
    }

    private func recordAlone(_ record: ChunkRecord, worker: WorkerID) async throws(StorageError) -> Int {
        do throws(StorageError) {
            return try await queue.record([record], worker: worker).count
        } catch {
            guard error.isAboutValues else { throw error }
            logger.log(
                .error, "PostgreSQL refuses the outcomes of a chunk; they count as unknown",
                [
                    .notificationID: "\(record.chunk.notification)", .chunkID: "\(record.chunk.number)",
                    .count: "\(record.deliveries.count + record.retries.count)", .reason: "\(error)",
                ])
        }
        try await queue.giveUp(record.chunk, of: worker)
        return 0
    }
}
