import Calendar
import Glibc

/// When a line was logged: milliseconds since 1970 in UTC.
package struct LogTime: Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; 0 or more.
    package let millisecondsSince1970: Int64

    /// Takes milliseconds since 1970; less than 0 counts as 0.
    package init(millisecondsSince1970: Int64) { self.millisecondsSince1970 = max(0, millisecondsSince1970) }

    /// The system's wall clock.
    @Sendable package static func now() -> LogTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(millisecondsSince1970: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// As RFC 3339, such as `2026-02-28T23:59:59.007Z`.
    var text: String { MomentText.rfc3339(millisecondsSince1970: millisecondsSince1970) }
}
