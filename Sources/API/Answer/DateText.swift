import Gateway

extension UnixMilliseconds {
    /// The moment as RFC 3339 in UTC with milliseconds, such as `2026-02-28T23:59:59.007Z`.
    var dateText: String {
        let (day, milliseconds) = Self.floorDivide(rawValue, by: 86_400_000)
        let date = Self.gregorianDate(ofDay: day)
        let seconds = milliseconds / 1000
        let calendar = "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))"
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(calendar)T\(clock).\(Self.padded(milliseconds % 1000, 3))Z"
    }

    /// The date of a day counted from 1970-01-01.
    ///
    /// Counts in years that begin in March, so that the leap day is the last; 146,097 days make 400 years.
    private static func gregorianDate(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + 400 * era + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
