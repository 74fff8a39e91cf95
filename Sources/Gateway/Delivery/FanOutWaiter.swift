/// How waiting for the first accepted push of a fan-out ended.
package enum FirstAcceptance: Hashable, Sendable {
    /// APNs accepted at least one push.
    case accepted
    /// A newer state took its place before a push of it was accepted; that one goes to the devices instead.
    case overtaken
    /// The fan-out is finished and no push was accepted.
    case reachedNobody
    /// Neither is known yet; the fan-out goes on.
    case timedOut
}

/// Lets a caller wait for a fan-out that may run in another daemon.
package protocol FanOutWaiter: Sendable {
    /// Returns as soon as one push was accepted or the fan-out is finished, and after `timeout` at the latest.
    func waitForFirstAcceptance(of notification: AcceptedNotification, timeout: Duration) async -> FirstAcceptance
}
