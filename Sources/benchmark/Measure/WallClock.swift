import Glibc

/// The system's wall clock.
enum WallClock {
    /// Seconds since 1970.
    static var seconds: Int64 {
        var now = timespec()
        // It cannot fail: the clock exists and the pointer is valid.
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec)
    }
}
