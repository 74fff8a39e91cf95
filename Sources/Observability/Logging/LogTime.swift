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
    var text: String {
        let (day, millisecondsOfDay) = millisecondsSince1970.quotientAndRemainder(dividingBy: 86_400_000)
        let date = Self.date(ofDay: day)
        let seconds = millisecondsOfDay / 1_000
        let clock = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { Self.padded($0, to: 2) }.joined(separator: ":")
        let calendar = "\(Self.padded(date.year, to: 4))-\(Self.padded(date.month, to: 2))-\(Self.padded(date.day, to: 2))"
        return "\(calendar)T\(clock).\(Self.padded(millisecondsOfDay % 1_000, to: 3))Z"
    }

    /// The Gregorian date of a day counted from 1970-01-01. Years are counted from March, so that a leap day ends its year; 400 years
    /// always have 146,097 days.
    private static func date(ofDay dayNumber: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = dayNumber + 719_468  // days from 0000-03-01 to 1970-01-01
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
