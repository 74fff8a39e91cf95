import Calendar
import Gateway

extension UnixMilliseconds {
    /// The moment as RFC 3339 in UTC with milliseconds, such as `2026-02-28T23:59:59.007Z`.
    var dateText: String { MomentText.rfc3339(millisecondsSince1970: rawValue) }
}
