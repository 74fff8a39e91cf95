import Glibc

/// The two clocks a provider token needs; tests bring their own.
package struct ProviderTokenClock: Sendable {
    /// Time since some fixed moment; never steps. Ages are measured by it.
    package let monotonic: @Sendable () -> Duration
    /// Seconds since 1970 as the system believes; may step. `iat` is made from it.
    package let wallSeconds: @Sendable () -> Int64

    /// Puts both together.
    package init(monotonic: @escaping @Sendable () -> Duration, wallSeconds: @escaping @Sendable () -> Int64) {
        self.monotonic = monotonic
        self.wallSeconds = wallSeconds
    }

    /// The system's clocks.
    package static let system: ProviderTokenClock = {
        let start = ContinuousClock.now
        return ProviderTokenClock(
            monotonic: { start.duration(to: .now) }, wallSeconds: { Int64(time(nil)) })
    }()
}
