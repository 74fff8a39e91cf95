/// Sends a claimed chunk and makes the record of it.
struct ChunkSending: Sendable {
    let sender: any PushSender
    let board: ProgressBoard
    let clock: FanOutClock
    let counters: FanOutCounters
    let quarantine: TokenQuarantine

    /// Returns when every device of the chunk has an outcome.
    func send(
        _ chunk: Chunk, of owner: WorkerID, as active: ActiveJob, journal: (any WorkerJournal)?
    ) async -> FinishedChunk {
        let notification = chunk.id.notification
        var batches = active.batches(of: chunk) { [board] in board.pushAccepted(of: notification) }
        let page = journal.flatMap { Self.openPage(of: chunk, in: $0, for: &batches, job: active.job) }
        let outcomes = await outcomes(of: chunk, in: batches)
        counters.add(outcomes)
        let keepsTokens = quarantine.keepsTokens(
            of: active.job.application, after: outcomes, services: chunk.services, now: clock.instant())
        let isSuperseded = active.cancellation.cause == .superseded
        let record = ChunkOutcome(chunk: chunk, job: active.job, isSuperseded: isSuperseded, keepsTokens: keepsTokens)
            .record(outcomes, now: clock.now()) { Double.random(in: 0..<1) }
        return FinishedChunk(
            owner: owner, application: chunk.application, record: record, sign: ServiceSign(outcomes), page: page)
    }

    /// Makes the chunk's page, with the devices of each batch side by side.
    private static func openPage(
        of chunk: Chunk, in journal: any WorkerJournal, for batches: inout [(batch: PushBatch, indexes: [Int])],
        job: PushJob
    ) -> (any JournalPage)? {
        let order = batches.flatMap(\.indexes)
        let attempts = chunk.attempts.isEmpty ? [] : order.map { chunk.attempts[$0] }
        let page = journal.openPage(of: chunk.id, devices: order.map { chunk.devices[$0] }, attempts: attempts)
        guard let page else { return nil }
        var first = 0
        for index in batches.indices {
            // All devices of a batch have the same variant.
            let variant = chunk.variants.isEmpty ? 0 : chunk.variants[batches[index].indexes[0]]
            let joins = job.joinedChannel(variant: variant, service: batches[index].batch.service) != nil
            batches[index].batch.marks = PushMarks(
                page: page, first: first, accepted: joins ? .acceptedForChannel : .accepted)
            first += batches[index].indexes.count
        }
        return page
    }

    /// One outcome a device, at the index it has in the chunk. The batches are sent side by side.
    private func outcomes(of chunk: Chunk, in batches: [(batch: PushBatch, indexes: [Int])]) async -> [PushOutcome] {
        // Its indexes rise, so a batch of all devices has them in the chunk's order.
        if let (batch, indexes) = batches.first, indexes.count == chunk.devices.count { return await sender.send(batch) }
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
