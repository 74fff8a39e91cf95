/// Sends a claimed chunk and makes the record of it.
struct ChunkSending: Sendable {
    let sender: any PushSender
    let board: ProgressBoard
    let clock: FanOutClock
    let counters: FanOutCounters
    let quarantine: TokenQuarantine

    /// Returns when every device of the chunk has an outcome.
    func send(_ chunk: Chunk, as active: ActiveJob) async -> ChunkRecord {
        let outcomes = await outcomes(of: chunk, as: active)
        counters.add(outcomes)
        let keepsTokens = quarantine.keepsTokens(of: active.job.application, after: outcomes, now: clock.instant())
        let isSuperseded = active.cancellation.cause == .superseded
        return ChunkOutcome(chunk: chunk, job: active.job, isSuperseded: isSuperseded, keepsTokens: keepsTokens)
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
