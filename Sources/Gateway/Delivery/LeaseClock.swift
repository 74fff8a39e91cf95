/// Knows by the local clock alone how long a lease still holds; asking the database may take longer than the lease.
struct LeaseClock {
    /// The moment before the last extension was asked for.
    var extendedAt: ContinuousClock.Instant
    let limits: FanOutLimits

    /// A worker that could not extend its lease must not send: another daemon may already be sending the same.
    func isExpired(at now: ContinuousClock.Instant) -> Bool {
        extendedAt.duration(to: now) > .seconds(limits.leaseSeconds) - limits.leaseMargin
    }

    func isExtensionDue(at now: ContinuousClock.Instant) -> Bool { extendedAt.duration(to: now) >= limits.heartbeatInterval }
}
