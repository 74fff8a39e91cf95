import Calendar
import Gateway

extension UnixMilliseconds {
    /// Reads a date and time of RFC 3339, such as `2026-02-28T23:59:59.007Z` or with `+01:00`; nil for anything else.
    ///
    /// What is finer than a millisecond is dropped. Years before 1970 are left out: no event happened then.
    init?(dateText text: String) {
        var digits = DateDigits(text.utf8)
        guard let year = digits.number(4), year >= 1970, digits.skip("-"), let month = digits.number(2), digits.skip("-"),
            let day = digits.number(2), let date = CivilDate(year: year, month: month, day: day),
            digits.skip("T") || digits.skip("t") || digits.skip(" "),
            let hour = digits.number(2), hour < 24, digits.skip(":"), let minute = digits.number(2), minute < 60,
            // A leap second is the one after it.
            digits.skip(":"), let second = digits.number(2), second <= 60, let milliseconds = digits.fraction(),
            let offset = digits.offsetMinutes(), digits.isAtEnd
        else { return nil }
        let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
        self.init(rawValue: (minutes * 60 + second) * 1_000 + milliseconds)
    }
}

/// The characters of a date that are not read yet.
private struct DateDigits {
    private var rest: Substring.UTF8View

    init(_ text: String.UTF8View) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Exactly so many digits.
    mutating func number(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func digit() -> Int64? {
        guard let byte = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        rest.removeFirst()
        return Int64(byte - UInt8(ascii: "0"))
    }

    /// The milliseconds of a fraction of a second; 0 when there is none.
    mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        guard var milliseconds = digit().map({ $0 * 100 }) else { return nil }
        var weight: Int64 = 10
        while let digit = digit() {
            milliseconds += digit * weight
            weight /= 10
        }
        return milliseconds
    }

    /// How far the zone is ahead of UTC.
    mutating func offsetMinutes() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let isAhead = skip("+")
        guard isAhead || skip("-"), let hours = number(2), hours < 24, skip(":"), let minutes = number(2), minutes < 60 else {
            return nil
        }
        return (isAhead ? 1 : -1) * (hours * 60 + minutes)
    }
}
