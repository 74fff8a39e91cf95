import Glibc

/// What this process has used so far.
struct ProcessCost {
    /// User and system time, in seconds.
    let cpuSeconds: Double
    /// Largest resident size, in bytes.
    let peakByteCount: Int
    let instant: ContinuousClock.Instant

    static func now() -> ProcessCost {
        var usage = rusage()
        // It cannot fail: the argument is valid and the pointer is alive.
        unsafe getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return ProcessCost(
            cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime), peakByteCount: usage.ru_maxrss * 1_024, instant: .now)
    }
}
