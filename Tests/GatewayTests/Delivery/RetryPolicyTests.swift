import Testing

@testable import Gateway

@Suite("Retry policy") struct RetryPolicyTests {
    private let now = UnixMilliseconds(rawValue: 1_000_000)
    private func policy(_ event: ActivityEvent, seconds: Int64 = 3_600) -> RetryPolicy {
        RetryPolicy(event: event, expiresAt: UnixMilliseconds(rawValue: now.rawValue + seconds * 1_000))
    }
    private func decide(
        _ outcome: PushOutcome, event: ActivityEvent = .update, attempt: Int16 = 0, isSuperseded: Bool = false,
        seconds: Int64 = 3_600
    ) -> DeliveryDecision {
        policy(event, seconds: seconds).decide(outcome, attempt: attempt, isSuperseded: isSuperseded, now: now, jitter: 0)
    }
    private func retry(attempt: Int16, after milliseconds: Int64) -> DeliveryDecision {
        .retry(attempt: attempt, notBefore: UnixMilliseconds(rawValue: now.rawValue + milliseconds))
    }

    @Test("ends what APNs accepted or refused for good")
    func endsWhatIsDecided() {
        #expect(decide(.accepted) == .final(.accepted))
        #expect(decide(.rejected(.badTopic)) == .final(.badTopic))
        #expect(decide(.tokenDead(.unregistered, since: now)) == .final(.unregistered))
    }

    @Test("never sends a start again that may have arrived")
    func keepsStartsAtMostOnce() {
        #expect(decide(.unknown, event: .start) == .final(.unknown))
    }

    @Test(
        "sends an unanswered update or end again until it expires, with growing pauses", arguments: [ActivityEvent.update, .end])
    func repeatsUnansweredUpdates(event: ActivityEvent) {
        #expect(decide(.unknown, event: event) == retry(attempt: 1, after: 1_000))
        #expect(decide(.unknown, event: event, attempt: 1) == retry(attempt: 2, after: 2_000))
        #expect(decide(.unknown, event: event, attempt: 2) == retry(attempt: 3, after: 4_000))
        #expect(decide(.unknown, event: event, attempt: 60) == retry(attempt: 61, after: RetryPolicy.longestDelayMilliseconds))
        #expect(decide(.unknown, event: event, attempt: 2, seconds: 4) == .final(.unknown))
        #expect(decide(.unknown, event: event, attempt: RetryPolicy.attemptCount - 1) == .final(.unknown))
    }

    @Test("of an APNs that swallows pushes for hours lasts as long as an update lives, whatever came of it before")
    func outlastsAnOutage() {
        let policy = RetryPolicy(event: .update, expiresAt: UnixMilliseconds(rawValue: now.rawValue + 8 * 3_600_000))
        var moment = now
        var attempt: Int16 = 0
        var outcome = PushOutcome.deferred(.tooManyRequests, delayMilliseconds: 5_000)
        while case .retry(let next, let notBefore) = policy.decide(
            outcome, attempt: attempt, isSuperseded: false, now: moment, jitter: 0.5)
        {
            (attempt, moment) = (next, notBefore)
            if attempt == 2 { outcome = .unknown }
        }
        #expect(policy.expiresAt.rawValue - moment.rawValue < RetryPolicy.longestDelayMilliseconds * 5 / 4)
        #expect(attempt < RetryPolicy.attemptCount)
    }

    @Test("waits at least as long as APNs asks, longer with each try, and never longer than 15 minutes")
    func backsOff() {
        #expect(decide(.deferred(.serviceUnavailable, delayMilliseconds: 3_000)) == retry(attempt: 1, after: 3_000))
        #expect(decide(.deferred(.serviceUnavailable, delayMilliseconds: 0), attempt: 4) == retry(attempt: 5, after: 16_000))
        let longest = RetryPolicy.longestDelayMilliseconds
        #expect(decide(.deferred(.shutdown, delayMilliseconds: .max)) == retry(attempt: 1, after: longest))
        #expect(decide(.deferred(.shutdown, delayMilliseconds: 0), attempt: 60) == retry(attempt: 61, after: longest))
    }

    @Test("stretches a pause by a quarter at most")
    func jitters() {
        let decision = policy(.update).decide(
            .deferred(.shutdown, delayMilliseconds: 4_000), attempt: 0, isSuperseded: false, now: now, jitter: 0.999)
        guard case .retry(_, let notBefore) = decision else { return #expect(Bool(false), "a deferred push ended") }
        #expect((4_000...5_000).contains(notBefore.rawValue - now.rawValue))
        #expect(notBefore.rawValue - now.rawValue > 4_900)
    }

    @Test("gives the reason APNs gave when the time to live or the tries run out")
    func givesUp() {
        #expect(decide(.deferred(.tooManyRequests, delayMilliseconds: 5_000), seconds: 5) == .final(.tooManyRequests))
        #expect(
            decide(.deferred(.shutdown, delayMilliseconds: 0), attempt: RetryPolicy.attemptCount - 1) == .final(.shutdown))
    }

    @Test("sends what never left at once and without counting a try, until it expires")
    func repeatsUnsent() {
        #expect(decide(.notSent, event: .start, attempt: 2) == retry(attempt: 2, after: 0))
        #expect(decide(.notSent, event: .start, seconds: 0) == .final(.expired))
    }

    @Test("lets a newer state take the place of what is unsent, and tells what may have arrived apart")
    func yieldsToNewerState() {
        #expect(decide(.notSent, isSuperseded: true) == .final(.superseded))
        #expect(decide(.deferred(.shutdown, delayMilliseconds: 1), isSuperseded: true) == .final(.superseded))
        #expect(decide(.unknown, isSuperseded: true) == .final(.unknown))
        #expect(decide(.accepted, isSuperseded: true) == .final(.accepted))
    }
}
