import Observability

/// Sends a claimed chunk and makes the record of it.
struct ChunkSending: Sendable {
    let sender: any PushSender
    let board: ProgressBoard
    let clock: FanOutClock
    let counters: FanOutCounters
    let logger: Logger

    /// Returns when every device of the chunk has an outcome.
    func send(_ chunk: Chunk, as active: ActiveJob) async -> ChunkRecord {
        let outcomes = await outcomes(of: chunk, as: active)
        counters.add(outcomes)
        if ChunkOutcome.isSetUpSuspect(outcomes) {
            logger.log(
                .error, "APNs calls every token wrong, so they are kept: check the app's bundle id and environment",
                [.appID: active.job.application.publicID.description, .count: "\(outcomes.count)"])
        }
        let isSuperseded = active.cancellation.cause == .superseded
        return ChunkOutcome(chunk: chunk, job: active.job, isSuperseded: isSuperseded)
            .record(outcomes, now: clock.now()) { Double.random(in: 0..<1) }
    }

    /// One outcome a device, at the index it has in the chunk. The environments are sent to side by side.
    private func outcomes(of chunk: Chunk, as active: ActiveJob) async -> [PushOutcome] {
        let notification = chunk.id.notification
        let batches = active.batches(of: chunk) { [board] in board.pushAccepted(of: notification) }
        var outcomes = [PushOutcome](repeating: .rejected(.tokenGone), count: chunk.devices.count)
        await withTaskGroup(of: ([Int], [PushOutcome]).self) { group in
            for (batch, indexes) in batches.dropFirst() {
                group.addTask { [sender] in (indexes, await sender.send(batch)) }
            }
            if let (batch, indexes) = batches.first {
                for (position, outcome) in await sender.send(batch).enumerated() { outcomes[indexes[position]] = outcome }
            }
            for await (indexes, results) in group {
                for (position, index) in indexes.enumerated() { outcomes[index] = results[position] }
            }
        }
        return outcomes
    }
}
