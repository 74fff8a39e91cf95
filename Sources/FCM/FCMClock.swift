import Glibc

/// The two clocks that pushes through FCM need; tests bring their own.
package struct FCMClock: Sendable {
    /// Time since some fixed moment; never steps. Ages are measured by it.
    package let monotonic: @Sendable () -> Duration
    /// Seconds since 1970 as the system believes; may step. Grants and times to live are made from it.
    package let wallSeconds: @Sendable () -> Int64

    /// Puts both together.
    package init(monotonic: @escaping @Sendable () -> Duration, wallSeconds: @escaping @Sendable () -> Int64) {
        self.monotonic = monotonic
        self.wallSeconds = wallSeconds
    }

    /// The system's clocks.
    package static let system: FCMClock = {
        let start = ContinuousClock.now
        return FCMClock(monotonic: { start.duration(to: .now) }, wallSeconds: { Int64(time(nil)) })
    }()
}
