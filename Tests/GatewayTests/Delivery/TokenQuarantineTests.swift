import Observability
import Synchronization
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
        return quarantine.keepsTokens(
            of: WorkerBench.application(app), after: outcomes, services: outcomes.map { _ in 0 }, now: start + after)
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
        let services = outcomes.map { _ in PushService.apnsSandbox.rawValue }
        #expect(
            quarantine().keepsTokens(of: WorkerBench.application(1), after: outcomes, services: services, now: start) == begins)
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

    @Test("says once a minute of each app and environment how many tokens are called wrong, and never which")
    func reports() {
        let lines = Mutex<[String]>([])
        let quarantine = TokenQuarantine(
            metrics: metrics, logger: Logger(level: .warning, sink: { line in lines.withLock { $0.append(line) } }))
        let application = WorkerBench.application(1)
        let outcomes = [Self.bad, .accepted, Self.bad, .tokenDead(.unregistered, since: nil), Self.bad]
        for second in [0, 1, 59, 60, 61] {
            _ = quarantine.keepsTokens(
                of: application, after: outcomes, services: [0, 0, 1, 1, 1], now: start + .seconds(second))
        }
        let told = lines.withLock { $0 }
        #expect(told.count == 4)
        for (environment, counts) in [("production", ["1", "3"]), ("sandbox", ["2", "6"])] {
            let own = told.filter { $0.contains(environment) && $0.contains("BadDeviceToken") }
            #expect(own.count == 2)
            for (line, count) in zip(own, counts) {
                #expect(line.contains("count=\(count) ") || line.contains("count=\(count)\n") || line.hasSuffix("count=\(count)"))
            }
        }
    }
}
