extension JSONScanner {
    /// Reads a string from its opening to its closing quotation mark.
    mutating func scanString() throws(JSONError) {
        let start = position
        var kind = JSONEntry.Kind.string
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                append(kind, from: start, to: position)
                return
            case UInt8(ascii: "\\"):
                kind = .escapedString
                try skipEscape()
            case 0..<0x20: throw failure(.controlCharacter)
            case 0x20..<0x80: position += 1
            default: try skipMultibyteScalar()
            }
        }
        throw failure(.endOfInput)
    }

    private mutating func skipEscape() throws(JSONError) {
        guard position + 1 < bytes.count else { throw failure(.endOfInput) }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"): try skipUnicodeEscape()
        default: throw failure(.invalidEscape)
        }
    }

    /// Passes over one `\u` escape, or two that make a surrogate pair.
    private mutating func skipUnicodeEscape() throws(JSONError) {
        guard let unit = JSONEscape.codeUnit(in: bytes, at: position) else { throw failure(.invalidEscape) }
        switch unit {
        case 0xD800..<0xDC00:
            guard let second = JSONEscape.codeUnit(in: bytes, at: position + 6), 0xDC00..<0xE000 ~= second else {
                throw failure(.loneSurrogate)
            }
            position += 12
        case 0xDC00..<0xE000: throw failure(.loneSurrogate)
        default: position += 6
        }
    }

    /// Passes over one scalar of two to four bytes: no overlong forms, no surrogates, nothing above U+10FFFF.
    private mutating func skipMultibyteScalar() throws(JSONError) {
        let first = bytes[position]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch first {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw failure(.invalidUTF8)
        }
        guard position + length <= bytes.count, second.contains(bytes[position + 1]) else { throw failure(.invalidUTF8) }
        for offset in 2..<max(length, 2) where bytes[position + offset] & 0xC0 != 0x80 { throw failure(.invalidUTF8) }
        position += length
    }
}

/// The `\uXXXX` escape.
enum JSONEscape {
    /// The code unit of the six bytes at `position`; nil when they are no such escape.
    static func codeUnit(in bytes: [UInt8], at position: Int) -> UInt16? {
        guard position + 6 <= bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for index in position + 2..<position + 6 {
            let digit: UInt8
            switch bytes[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = bytes[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = bytes[index] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = bytes[index] - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// The text of a string literal that the scanner accepted, given without its quotation marks.
    static func decode(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            guard bytes[position] == UInt8(ascii: "\\") else {
                text.append(bytes[position])
                position += 1
                continue
            }
            switch bytes[position + 1] {
            case UInt8(ascii: "u"):
                position += appendUnicodeEscape(of: bytes, at: position, to: &text)
                continue
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case let character: text.append(character)
            }
            position += 2
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the scalar of one escape or surrogate pair; returns how many bytes the escape takes.
    private static func appendUnicodeEscape(of bytes: [UInt8], at position: Int, to text: inout [UInt8]) -> Int {
        let unit = UInt32(codeUnit(in: bytes, at: position) ?? 0)
        guard unit & 0xFC00 == 0xD800 else {
            append(unit, to: &text)
            return 6
        }
        let low = UInt32(codeUnit(in: bytes, at: position + 6) ?? 0)
        append(0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF), to: &text)
        return 12
    }

    private static func append(_ value: UInt32, to text: inout [UInt8]) {
        guard let scalar = Unicode.Scalar(value) else { preconditionFailure("the scanner let a lone surrogate pass") }
        text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
}
