import Observability
import Testing

@testable import Gateway

@Suite("Token quarantine") struct TokenQuarantineTests {
    private static let bad = PushOutcome.tokenDead(.badDeviceToken, since: nil)
    private let metrics = Metrics()
    private let start = ContinuousClock.now

    private func quarantine() -> TokenQuarantine { TokenQuarantine(metrics: metrics, logger: Logger(level: .error)) }

    private func judge(
        _ quarantine: TokenQuarantine, accepted: Int = 0, refused: Int = 0, app: Int32 = 1, after: Duration = .zero
    ) -> Bool {
        let outcomes =
            [PushOutcome](repeating: .accepted, count: accepted) + [PushOutcome](repeating: Self.bad, count: refused)
        return quarantine.keepsTokens(of: WorkerBench.application(app), after: outcomes, now: start + after)
    }

    private var quarantinedAppCount: Int { metrics.gauge("openpush_token_quarantine_apps").value }

    @Test("begins with many refusals, over several chunks too, and raises the alarm metric for that app alone")
    func begins() {
        let quarantine = quarantine()
        #expect(!judge(quarantine, refused: TokenRefusals.believedCount - 1))
        #expect(quarantinedAppCount == 0)
        #expect(judge(quarantine, refused: 1))
        #expect(quarantinedAppCount == 1)
        #expect(metrics.counter("openpush_token_quarantine_kept_total").value == 1)
        #expect(!judge(quarantine, refused: 1, app: 2))
    }

    @Test(
        "begins for every answer that may speak against the set-up, and for no other",
        arguments: [
            (DeliveryReason.badDeviceToken, true), (.deviceTokenNotForTopic, true), (.fcmSenderIDMismatch, true),
            (.fcmInvalidArgument, true), (.unregistered, false), (.expiredToken, false), (.fcmUnregistered, false),
        ])
    func reasons(reason: DeliveryReason, begins: Bool) {
        let outcomes = [PushOutcome](repeating: .tokenDead(reason, since: nil), count: TokenRefusals.believedCount)
        #expect(quarantine().keepsTokens(of: WorkerBench.application(1), after: outcomes, now: start) == begins)
    }

    @Test("does not begin while APNs accepts more than it refuses")
    func spares() {
        let quarantine = quarantine()
        #expect(!judge(quarantine, accepted: 500, refused: 100))
        #expect(!judge(quarantine, refused: 399))
        #expect(judge(quarantine, refused: 1))
    }

    @Test("ends when APNs accepts more than it refuses, and not by time alone")
    func ends() {
        let quarantine = quarantine()
        #expect(judge(quarantine, refused: 50))
        #expect(judge(quarantine, refused: 1, after: TokenRefusals.window * 3))
        #expect(!judge(quarantine, accepted: 2, after: TokenRefusals.window * 3))
        #expect(quarantinedAppCount == 0)
    }

    @Test("forgets old refusals: a few in each window are believed")
    func windows() {
        let quarantine = quarantine()
        for window in 0..<5 {
            #expect(!judge(quarantine, refused: TokenRefusals.believedCount - 1, after: TokenRefusals.window * window))
        }
    }
}
