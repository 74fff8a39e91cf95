import Glibc

/// The clock of timers: nanoseconds since some fixed point, never set back, the same clock epoll waits by.
enum MonotonicClock {
    static var nanoseconds: UInt64 {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        precondition(result == 0, "no monotonic clock")
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Longest delay of a timer, in seconds (about 31 years): what is longer is as good as never.
    private static let delaySecondLimit: Int64 = 1_000_000_000

    /// A delay in nanoseconds; less than nothing counts as nothing.
    static func nanoseconds(of delay: Duration) -> UInt64 {
        let (seconds, attoseconds) = delay.components
        guard delay > .zero else { return 0 }
        guard seconds < delaySecondLimit else { return UInt64(delaySecondLimit) * 1_000_000_000 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000
    }
}
