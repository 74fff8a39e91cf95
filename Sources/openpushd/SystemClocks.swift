import API
import Gateway
import Glibc
import Networking

/// The machine's clocks, in the forms the layers take them.
enum SystemClocks {
    /// Milliseconds since 1970-01-01 UTC.
    static func now() -> UnixMilliseconds {
        var time = timespec()
        // It cannot fail: the clock exists and the pointer is valid.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return UnixMilliseconds(rawValue: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// For the fan-out of one loop.
    static func fanOut(on loop: EventLoop) -> FanOutClock {
        FanOutClock(now: { now() }, instant: { .now }, sleep: { await loop.sleep(for: $0) })
    }

    /// For the API on one loop.
    static func api(on loop: EventLoop) -> APIClock {
        APIClock(now: { now().seconds }, sleep: { await loop.sleep(for: $0) })
    }
}
