/// A date of the Gregorian calendar, before 1582 as well.
///
/// Counted in years that begin in March, so that the leap day is the last; 146,097 days make 400 years.
package struct CivilDate: Hashable, Sendable {
    /// As people count years; 0 is the year before 1.
    package let year: Int64
    /// 1 to 12.
    package let month: Int64
    /// 1 to 31.
    package let day: Int64

    /// Days from 0000-03-01 to 1970-01-01.
    private static let shift: Int64 = 719_468

    /// The date so many days after 1970-01-01, or before it.
    package init(daysSince1970: Int64) {
        let (era, dayOfEra) = floorDivide(daysSince1970 + Self.shift, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + 400 * era + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    }

    /// Nil for what is no date, such as 30 February, and for years that are not 0 to 9999.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard 0...9999 ~= year, 1...12 ~= month, 1...Self.dayCount(ofMonth: month, in: year) ~= day else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Less than 0 before 1970.
    package var daysSince1970: Int64 {
        let (year, monthFromMarch) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        let leapDays =
            floorDivide(year, by: 4).quotient - floorDivide(year, by: 100).quotient + floorDivide(year, by: 400).quotient
        return 365 * year + leapDays + (153 * monthFromMarch + 2) / 5 + day - 1 - Self.shift
    }

    private static func dayCount(ofMonth month: Int64, in year: Int64) -> Int64 {
        if month != 2 { return [4, 6, 9, 11].contains(month) ? 30 : 31 }
        return year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
    }
}

extension CivilDate: CustomStringConvertible {
    /// Such as `2026-02-28`.
    package var description: String { "\(padded(year, to: 4))-\(padded(month, to: 2))-\(padded(day, to: 2))" }
}

/// Rounds down, so that the remainder is never negative.
func floorDivide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}

/// With zeros in front.
func padded(_ number: Int64, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
