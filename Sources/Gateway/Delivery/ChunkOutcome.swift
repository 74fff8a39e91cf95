/// Turns the outcomes of a chunk into what is stored of it.
struct ChunkOutcome {
    /// So many devices whose token APNs calls wrong, and not one it accepts, are a mistake in the set-up (the bundle identifier, or
    /// the environment) rather than as many wrong tokens: the tokens stay.
    static let suspiciousRefusalCount = 20

    let chunk: Chunk
    let job: PushJob
    let isSuperseded: Bool

    /// Decides about every device.
    ///
    /// - Parameters:
    ///   - outcomes: one a device, at the index it has in the chunk.
    ///   - jitter: makes a random number, 0 up to 1, for each retry.
    func record(_ outcomes: [PushOutcome], now: UnixMilliseconds, jitter: () -> Double) -> ChunkRecord {
        precondition(outcomes.count == chunk.devices.count, "outcomes and devices of a chunk differ in number")
        let policy = RetryPolicy(
            event: job.content.event, expiresAt: UnixMilliseconds(rawValue: job.expiresAt * 1_000))
        let isSetUpSuspect = Self.isSetUpSuspect(outcomes)
        var record = ChunkRecord(chunk: chunk.id, event: job.content.event)
        record.deliveries.reserveCapacity(outcomes.count)
        for (index, outcome) in outcomes.enumerated() {
            let device = chunk.devices[index]
            if case .tokenDead(let reason, let since) = outcome, !(isSetUpSuspect && Self.blamesSetUp(reason)) {
                record.deadTokens.append(DeadToken(device: device, token: chunk.tokens[index], since: since))
            }
            let attempt = chunk.attempts.isEmpty ? 0 : chunk.attempts[index]
            let isCertain = outcome == .accepted
            let decision = policy.decide(
                outcome, attempt: attempt, isSuperseded: isSuperseded, now: now, jitter: isCertain ? 0 : jitter())
            switch decision {
            case .final(let reason):
                record.deliveries.append(DeliveryRecord(device: device, reason: reason, at: now))
            case .retry(let attempt, let notBefore):
                record.retries.append(RetryRecord(device: device, attempt: attempt, notBefore: notBefore))
            }
        }
        return record
    }

    /// Whether the outcomes speak against the app's set-up rather than against its devices' tokens.
    static func isSetUpSuspect(_ outcomes: [PushOutcome]) -> Bool {
        var refusalCount = 0
        for outcome in outcomes {
            switch outcome {
            case .accepted: return false
            case .tokenDead(let reason, _) where blamesSetUp(reason): refusalCount += 1
            default: break
            }
        }
        return refusalCount >= suspiciousRefusalCount
    }

    /// Whether APNs gives this reason for a good token too, when it comes with the wrong topic or to the wrong environment.
    private static func blamesSetUp(_ reason: DeliveryReason) -> Bool {
        reason == .badDeviceToken || reason == .deviceTokenNotForTopic
    }
}
