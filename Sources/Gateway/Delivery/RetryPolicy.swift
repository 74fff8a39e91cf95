/// What is done about one push's outcome.
package enum DeliveryDecision: Hashable, Sendable {
    /// It is over, and this is why; a dead token is removed as well.
    case final(DeliveryReason)
    /// It is sent again, not before this moment; `attempt` counts the tries that cost one.
    case retry(attempt: Int16, notBefore: UnixMilliseconds)
}

/// Decides between ending a push and sending it again.
///
/// A start is sent at most once: when nobody knows whether APNs got it, it ends as `unknown`. An update or end is sent
/// at least once: its content state is idempotent and `timestamp` orders it on the device. What was never answered is repeated
/// like what was put off, until the time to live ends.
package struct RetryPolicy: Sendable {
    /// Most tries of one push, whatever its time to live.
    package static let attemptCount: Int16 = 100
    /// First pause before a push is sent again, in milliseconds; doubles with each try.
    package static let firstDelayMilliseconds: Int64 = 1_000
    /// Longest pause between two tries, in milliseconds. Source: Apple names 15 minutes for 5xx answers.
    package static let longestDelayMilliseconds: Int64 = 15 * 60 * 1_000
    /// Pauses are stretched at random by up to this share, so that retries of one outage spread out.
    package static let jitterShare = 0.25

    /// What the push does.
    package let event: ActivityEvent
    /// End of its time to live.
    package let expiresAt: UnixMilliseconds

    /// The policy of one notification.
    package init(event: ActivityEvent, expiresAt: UnixMilliseconds) {
        self.event = event
        self.expiresAt = expiresAt
    }

    /// Decides about one outcome.
    ///
    /// - Parameters:
    ///   - attempt: how often the push was tried before this outcome.
    ///   - isSuperseded: whether a newer state, or the end, took its place.
    ///   - jitter: a random number, 0 up to 1.
    package func decide(
        _ outcome: PushOutcome, attempt: Int16, isSuperseded: Bool, now: UnixMilliseconds, jitter: Double
    ) -> DeliveryDecision {
        switch outcome {
        case .accepted: .final(.accepted)
        case .rejected(let reason), .tokenDead(let reason, _): .final(reason)
        case .notSent:
            if isSuperseded {
                .final(.superseded)
            } else if now >= expiresAt {
                .final(.expired)
            } else {
                .retry(attempt: attempt, notBefore: now)
            }
        case .deferred(let reason, let delayMilliseconds):
            again(reason, atLeast: delayMilliseconds, after: attempt, isSuperseded, now, jitter)
        case .unknown:
            event == .start ? .final(.unknown) : again(.unknown, atLeast: 0, after: attempt, isSuperseded, now, jitter)
        }
    }

    private func again(
        _ reason: DeliveryReason, atLeast minimum: Int64, after attempt: Int16, _ isSuperseded: Bool, _ now: UnixMilliseconds,
        _ jitter: Double
    ) -> DeliveryDecision {
        guard !isSuperseded else { return .final(reason == .unknown ? .unknown : .superseded) }
        guard attempt + 1 < Self.attemptCount else { return .final(reason) }
        let doublings = Int64(min(attempt, 20))
        let backOff = min(Self.firstDelayMilliseconds << doublings, Self.longestDelayMilliseconds)
        let pause = min(max(minimum, backOff), Self.longestDelayMilliseconds)
        let stretched = pause + Int64(Double(pause) * Self.jitterShare * jitter)
        let notBefore = UnixMilliseconds(rawValue: now.rawValue + stretched)
        return notBefore < expiresAt ? .retry(attempt: attempt + 1, notBefore: notBefore) : .final(reason)
    }
}
