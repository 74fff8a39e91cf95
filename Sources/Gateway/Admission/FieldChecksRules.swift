package import JSON

/// How single values are read; every dialect uses the same rules.
package enum FieldRule {
    /// Longest sound name, version or similar short text, in UTF-8 bytes.
    package static let shortTextByteCount = 128
    /// Shortest and longest language tag, in characters. Source: RFC 5646, 4.4.1.
    package static let languageCharacterCount = 2...35
    /// How far a device's clock may run ahead, in seconds.
    package static let clockSkewSeconds: Int64 = 300

    /// A string.
    package static func string(_ value: JSONValue) throws(FieldProblem) -> String {
        guard let text = value.string else { throw .wrongKind(expected: "a string") }
        return text
    }

    /// An object that is not empty, as the bytes it came in.
    package static func rawObject(_ value: JSONValue) throws(FieldProblem) -> [UInt8] {
        guard value.kind == .object else { throw .wrongKind(expected: "an object") }
        guard !value.isEmpty else { throw .empty }
        return Array(value.rawBytes)
    }

    /// An identifier: 1 to 128 bytes, no control characters.
    package static func identifier(_ value: JSONValue) throws(FieldProblem) -> String {
        try identifier(try string(value))
    }
    /// The same for text that is not in JSON, such as a path segment.
    package static func identifier(_ text: String) throws(FieldProblem) -> String {
        try bounded(text, byteCount: AdmissionLimits.identifierByteCount)
    }
    /// An activity's identifier: one that fits a path segment.
    package static func activityID(_ value: JSONValue) throws(FieldProblem) -> String { try activityID(try string(value)) }
    /// The same for text that is not in JSON.
    package static func activityID(_ text: String) throws(FieldProblem) -> String {
        let identifier = try identifier(text)
        guard !identifier.utf8.contains(UInt8(ascii: "/")) else { throw .slash }
        return identifier
    }
    /// A short text such as a version: 1 to 128 bytes, no control characters.
    package static func shortText(_ value: JSONValue) throws(FieldProblem) -> String {
        try bounded(try string(value), byteCount: shortTextByteCount)
    }
    /// Text of 1 to `byteCount` bytes without control characters.
    package static func bounded(_ text: String, byteCount: Int) throws(FieldProblem) -> String {
        guard !text.isEmpty else { throw .empty }
        let actual = text.utf8.count
        guard actual <= byteCount else { throw .tooLong(actual: actual, limit: byteCount, unit: .bytes) }
        guard !hasControlCharacter(text) else { throw .controlCharacter }
        return text
    }
    /// Whether one of Unicode's control characters (general category Cc: U+0000 to U+001F, U+007F to U+009F) is in a text.
    package static func hasControlCharacter(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.value < 0x20 || 0x7F...0x9F ~= $0.value }
    }

    /// A tag's value as text: a number is the literal as it came. NUL is what PostgreSQL cannot store.
    package static func tagValue(_ value: JSONValue) throws(FieldProblem) -> String {
        switch value.kind {
        case .string: return try tagValue(value.string ?? "")
        case .number, .true, .false: return try tagValue(String(decoding: value.rawBytes, as: UTF8.self))
        default: throw .wrongKind(expected: "a string, a number, true, false or null")
        }
    }
    /// The same for text that is a part of a string in JSON.
    package static func tagValue(_ text: String) throws(FieldProblem) -> String {
        let byteCount = text.utf8.count
        guard byteCount <= AdmissionLimits.tagValueByteCount else {
            throw .tooLong(actual: byteCount, limit: AdmissionLimits.tagValueByteCount, unit: .bytes)
        }
        guard !text.utf8.contains(0) else { throw .controlCharacter }
        return text
    }

    /// A name for people: not blank, at most 128 characters, no NUL (which PostgreSQL cannot store).
    package static func name(_ value: JSONValue) throws(FieldProblem) -> String {
        let text = try string(value)
        guard !isBlank(text) else { throw .blank }
        let actual = text.unicodeScalars.count
        guard actual <= AdmissionLimits.nameCharacterCount else {
            throw .tooLong(actual: actual, limit: AdmissionLimits.nameCharacterCount, unit: .characters)
        }
        guard !text.utf8.contains(0) else { throw .controlCharacter }
        return text
    }

    /// A UUID in either case.
    package static func uuid(_ value: JSONValue) throws(FieldProblem) -> UUID {
        guard let uuid = UUID(try string(value)) else { throw .notUUID }
        return uuid
    }

    /// Seconds since 1970; milliseconds are recognised and refused.
    package static func seconds(_ value: JSONValue) throws(FieldProblem) -> Int64 {
        guard value.kind == .number else { throw .wrongKind(expected: "a whole number of seconds since 1970") }
        // Compared as a fraction first: it also tells 1e19, which no 64-bit integer holds, from a fraction.
        if let fraction = value.double, fraction >= Double(AdmissionLimits.firstMillisecondDate) { throw .milliseconds }
        guard let seconds = value.integer, seconds >= 0 else {
            throw .wrongKind(expected: "a whole number of seconds since 1970")
        }
        return seconds
    }
    /// Seconds since 1970, no later than a few minutes from `now`.
    package static func pastSeconds(_ value: JSONValue, now: Int64) throws(FieldProblem) -> Int64 {
        let seconds = try seconds(value)
        guard seconds <= now + clockSkewSeconds else { throw .future }
        return seconds
    }
    /// A whole number, 0 or more.
    package static func count(_ value: JSONValue) throws(FieldProblem) -> Int64 {
        guard let count = value.integer, count >= 0 else { throw .wrongKind(expected: "a whole number, 0 or more") }
        return count
    }

    /// A latitude in degrees.
    package static func latitude(_ value: JSONValue) throws(FieldProblem) -> Double {
        guard let degrees = value.double, abs(degrees) <= DeviceLocation.latitudeLimit else {
            throw .notOneOf("a number from -90 to 90")
        }
        return degrees
    }
    /// A longitude in degrees.
    package static func longitude(_ value: JSONValue) throws(FieldProblem) -> Double {
        guard let degrees = value.double, abs(degrees) <= DeviceLocation.longitudeLimit else {
            throw .notOneOf("a number from -180 to 180")
        }
        return degrees
    }

    /// `apns-priority`: 5 or 10.
    package static func priority(_ value: JSONValue) throws(FieldProblem) -> Int {
        guard let priority = value.integer, priority == 5 || priority == 10 else { throw .notOneOf("5 or 10") }
        return Int(priority)
    }
    /// A number from 0 to 1, as the literal it came in.
    package static func relevanceScore(_ value: JSONValue) throws(FieldProblem) -> [UInt8] {
        guard let score = value.double, (0...1).contains(score) else { throw .notOneOf("a number from 0 to 1") }
        return Array(value.rawBytes)
    }

    /// A token: an even number of hexadecimal digits in either case, 2 to 400 of them.
    package static func token(_ value: JSONValue) throws(FieldProblem) -> [UInt8] {
        let text = try string(value)
        let digitCount = text.utf8.count
        guard digitCount > 0 else { throw .empty }
        guard digitCount <= 2 * AdmissionLimits.tokenByteCount else {
            throw .tooLong(actual: digitCount, limit: 2 * AdmissionLimits.tokenByteCount, unit: .digits)
        }
        guard digitCount.isMultiple(of: 2) else { throw .notHexadecimal }
        var token: [UInt8] = []
        token.reserveCapacity(digitCount / 2)
        var digits = text.utf8.makeIterator()
        while let high = digits.next(), let low = digits.next() {
            guard let high = hexadecimalValue(of: high), let low = hexadecimalValue(of: low) else { throw .notHexadecimal }
            token.append(high << 4 | low)
        }
        return token
    }

    /// A language tag: 2 to 35 letters, digits and hyphens.
    package static func language(_ value: JSONValue) throws(FieldProblem) -> String { try language(try string(value)) }
    /// The same for text that is not a JSON value, such as a member's name.
    package static func language(_ text: String) throws(FieldProblem) -> String {
        guard languageCharacterCount.contains(text.utf8.count), text.utf8.allSatisfy(isLanguageCharacter) else {
            throw .notOneOf("a language tag such as en or pt-BR")
        }
        return text
    }
    /// A country: ISO 3166 alpha-2, given in upper case back.
    package static func country(_ value: JSONValue) throws(FieldProblem) -> String { try country(try string(value)) }
    /// The same for text that is not a JSON value.
    package static func country(_ text: String) throws(FieldProblem) -> String {
        guard text.utf8.count == 2, text.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }) else {
            throw .notOneOf("a country code of two letters")
        }
        return text.uppercased()
    }

    /// Whether a text has nothing but what Unicode calls White_Space.
    package static func isBlank(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// Whether it is one of ASCII's.
    package static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    private static func isLanguageCharacter(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    private static func hexadecimalValue(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
