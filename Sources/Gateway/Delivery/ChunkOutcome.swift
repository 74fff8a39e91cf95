/// Turns the outcomes of a chunk into what is stored of it.
struct ChunkOutcome {
    let chunk: Chunk
    let job: PushJob
    let isSuperseded: Bool
    /// Whether tokens stay that APNs calls wrong, because the app's set-up is suspect.
    let keepsTokens: Bool

    /// Decides about every device.
    ///
    /// - Parameters:
    ///   - outcomes: one a device, at the index it has in the chunk.
    ///   - jitter: makes a random number, 0 up to 1, for each retry.
    func record(_ outcomes: [PushOutcome], now: UnixMilliseconds, jitter: () -> Double) -> ChunkRecord {
        precondition(outcomes.count == chunk.devices.count, "outcomes and devices of a chunk differ in number")
        let policy = RetryPolicy(event: job.content.event, expiresAt: job.expiry)
        var record = ChunkRecord(chunk: chunk.id, event: job.content.event)
        record.deliveries.reserveCapacity(outcomes.count)
        for (index, outcome) in outcomes.enumerated() {
            let device = chunk.devices[index]
            if case .tokenDead(let reason, let since) = outcome, !(keepsTokens && TokenQuarantine.blamesSetUp(outcome)) {
                record.deadTokens.append(
                    DeadToken(device: device, token: chunk.tokens[index], reason: reason, since: since))
            }
            let attempt = chunk.attempts.isEmpty ? 0 : chunk.attempts[index]
            let isCertain = outcome == .accepted
            let decision = policy.decide(
                outcome, attempt: attempt, isSuperseded: isSuperseded, now: now, jitter: isCertain ? 0 : jitter())
            switch decision {
            case .final(let reason):
                record.deliveries.append(DeliveryRecord(device: device, reason: told(reason, at: index), at: now))
            case .retry(let attempt, let notBefore):
                record.retries.append(RetryRecord(device: device, attempt: attempt, notBefore: notBefore))
            }
            if case .deferred(.tooManyRequests, let delayMilliseconds) = outcome {
                let until = quietEnd(after: decision, delayMilliseconds: delayMilliseconds, now: now)
                record.quietTokens.append(QuietToken(device: device, token: chunk.tokens[index], until: until))
            }
        }
        return record
    }

    /// Until when a token is left alone that was sent too much: as long as this push of it waits, or would have.
    private func quietEnd(
        after decision: DeliveryDecision, delayMilliseconds: Int64, now: UnixMilliseconds
    ) -> UnixMilliseconds {
        if case .retry(_, let notBefore) = decision { return notBefore }
        return UnixMilliseconds(rawValue: now.rawValue + min(delayMilliseconds, RetryPolicy.longestDelayMilliseconds))
    }

    /// An accepted start that put its device on a channel says so.
    private func told(_ reason: DeliveryReason, at index: Int) -> DeliveryReason {
        guard reason == .accepted, !chunk.variants.isEmpty, let service = PushService(rawValue: chunk.services[index]),
            job.joinedChannel(variant: chunk.variants[index], service: service) != nil
        else { return reason }
        return .acceptedForChannel
    }
}
