/// Holds an app's pushes back when a push service keeps refusing its set-up, so that the service is not hit by a push for every device.
///
/// Pushes that are held back are rejected with the service's own reason; the token of a device is never blamed.
package struct ApplicationHolds {
    /// Refusals in a row that hold an app back.
    package static let refusalCount = 3
    /// How long; afterwards the next push finds out whether the set-up was put right.
    package static let holdTime = Duration.seconds(60)

    private struct Refusals {
        var count: Int
        var reason: DeliveryReason
        var until: ContinuousClock.Instant
    }

    private var refusals: [ApplicationID: Refusals] = [:]

    /// Nobody is held back.
    package init() {}

    /// Why an app is held back now; nil when it is not.
    package func reason(for application: ApplicationID, now: ContinuousClock.Instant) -> DeliveryReason? {
        guard let known = refusals[application], known.count >= Self.refusalCount, now < known.until else { return nil }
        return known.reason
    }

    /// The service refused the set-up. Returns whether the app is held back from now on.
    package mutating func refused(_ reason: DeliveryReason, application: ApplicationID, now: ContinuousClock.Instant) -> Bool {
        let count = (refusals[application]?.count ?? 0) + 1
        refusals[application] = Refusals(count: count, reason: reason, until: now + Self.holdTime)
        return count >= Self.refusalCount
    }

    /// The service accepted a push of the app.
    package mutating func accepted(application: ApplicationID) { if !refusals.isEmpty { refusals[application] = nil } }
}
