import Calendar

/// Reads the header field `retry-after` (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// Longest wait that is believed. Source: Apple names 15 minutes for 5xx answers of APNs; no more is believed of others.
    package static let limitMilliseconds: Int64 = 15 * 60 * 1000

    /// The wait, 0 up to the limit; nil for a value that is neither seconds nor an HTTP date.
    ///
    /// A date that has passed means now.
    package static func milliseconds(_ value: String, wallSeconds: Int64) -> Int64? {
        let text = Array(value.utf8)
        guard let first = text.first, text.count <= 64 else { return nil }
        if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
            guard text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
            // Too many digits for 64 bits are more than the limit as well.
            guard let seconds = Int64(value), seconds < limitMilliseconds / 1000 else { return limitMilliseconds }
            return seconds * 1000
        }
        guard let date = HTTPDate.seconds(text) else { return nil }
        let wait = date - wallSeconds
        return min(max(wait, 0), limitMilliseconds / 1000) * 1000
    }
}

extension HTTPDate {
    /// Seconds since 1970; nil for anything that is not such a date.
    static func seconds(_ text: [UInt8]) -> Int64? {
        let parts = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[0].count == 4, parts[0].last == "," else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let day = number(parts[1], in: 1...31), let year = number(parts[3], in: 1970...9999),
            let month = months.firstIndex(of: String(parts[2])), let hour = number(time[0], in: 0...23),
            let minute = number(time[1], in: 0...59), let second = number(time[2], in: 0...60),
            let date = CivilDate(year: year, month: Int64(month) + 1, day: day)
        else { return nil }
        return date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: Substring, in range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let value = Int64(text) else {
            return nil
        }
        return range.contains(value) ? value : nil
    }
}
