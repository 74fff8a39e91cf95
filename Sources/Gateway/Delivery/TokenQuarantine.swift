package import Observability
import Synchronization

/// What APNs said lately about the tokens of one app, and whether its word is taken.
///
/// APNs gives "BadDeviceToken" and "DeviceTokenNotForTopic" for a good token too, when it comes with the wrong topic or to the wrong
/// environment: then all tokens of an app would be lost in minutes. FCM says as much of good tokens with the wrong service account.
package struct TokenRefusals: Sendable {
    /// Fewer refusals than this, in one window, are believed.
    package static let believedCount = 20
    /// How long answers are counted together.
    package static let window = Duration.seconds(600)

    private var acceptedCount = 0
    private var refusedCount = 0
    private var windowBeganAt: ContinuousClock.Instant
    /// Whether tokens are kept.
    package private(set) var isQuarantined = false

    /// Nothing was said yet.
    package init(now: ContinuousClock.Instant) { windowBeganAt = now }

    /// Takes the answers of a chunk. The quarantine begins with `believedCount` refusals when they are at least as many as the pushes
    /// APNs accepted, and ends when it accepts more than it refuses.
    package mutating func observe(acceptedCount accepted: Int, refusedCount refused: Int, now: ContinuousClock.Instant) {
        if windowBeganAt.duration(to: now) >= Self.window {
            (acceptedCount, refusedCount, windowBeganAt) = (0, 0, now)
        }
        acceptedCount += accepted
        refusedCount += refused
        if refusedCount >= Self.believedCount, refusedCount >= acceptedCount { isQuarantined = true }
        if acceptedCount > refusedCount { isQuarantined = false }
    }
}

/// Keeps the tokens of apps whose set-up is suspect; one for all workers of a process.
package final class TokenQuarantine: Sendable {
    private let refusals = Mutex<[ApplicationID: TokenRefusals]>([:])
    private let reports: WrongTokenReports
    private let quarantinedAppCount: Gauge
    private let keptTokenCount: Counter
    private let logger: Logger

    /// Without any app in it.
    package init(metrics: Metrics, logger: Logger) {
        quarantinedAppCount = metrics.gauge(
            "openpush_token_quarantine_apps",
            help:
                "Apps whose tokens are kept although a push service calls them wrong, most or all of them: their set-up is suspect."
        )
        keptTokenCount = metrics.counter(
            "openpush_token_quarantine_kept_total", help: "Tokens that a push service called wrong and that were kept.")
        self.logger = logger
        reports = WrongTokenReports(logger: logger)
    }

    /// Whether the tokens that are called wrong in these outcomes stay.
    ///
    /// - Parameter services: of each push, at the index of its outcome.
    func keepsTokens(
        of application: Application, after outcomes: [PushOutcome], services: [Int16], now: ContinuousClock.Instant
    ) -> Bool {
        let refusedCount = outcomes.count { Self.blamesSetUp($0) }
        let acceptedCount = outcomes.count { $0 == .accepted }
        guard refusedCount + acceptedCount > 0 else { return false }
        if refusedCount > 0 { reports.note(outcomes, services: services, of: application, now: now) }
        let (wasQuarantined, isQuarantined, count) = refusals.withLock { refusals -> (Bool, Bool, Int) in
            // Apps without a refusal need no memory.
            guard refusedCount > 0 || refusals[application.id] != nil else { return (false, false, 0) }
            var known = refusals[application.id] ?? TokenRefusals(now: now)
            let before = known.isQuarantined
            known.observe(acceptedCount: acceptedCount, refusedCount: refusedCount, now: now)
            refusals[application.id] = known
            return (before, known.isQuarantined, refusals.values.count(where: \.isQuarantined))
        }
        if wasQuarantined != isQuarantined { note(application, isQuarantined: isQuarantined, count: count) }
        if isQuarantined { keptTokenCount.add(refusedCount) }
        return isQuarantined
    }

    private func note(_ application: Application, isQuarantined: Bool, count: Int) {
        quarantinedAppCount.set(count)
        let fields: [LogKey: String] = [.appID: application.publicID.description]
        if isQuarantined {
            logger.log(
                .error,
                "Most tokens of an app are called wrong, so they are kept: check its bundle id and environment, or its service account",
                fields)
        } else {
            logger.log(.info, "Most pushes of the app are accepted again: wrong tokens are removed again", fields)
        }
    }

    /// Whether an outcome may speak against the app's set-up rather than against the device's token.
    static func blamesSetUp(_ outcome: PushOutcome) -> Bool {
        switch outcome {
        case .tokenDead(.badDeviceToken, _), .tokenDead(.deviceTokenNotForTopic, _): true
        case .tokenDead(.fcmSenderIDMismatch, _), .tokenDead(.fcmInvalidArgument, _): true
        default: false
        }
    }
}
