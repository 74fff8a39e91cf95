/// A 128-bit identifier in the form of RFC 9562; text in either case is read, lower case is written.
package struct UUID: Hashable, Sendable, CustomStringConvertible {
    /// The first eight bytes, most significant first.
    package let high: UInt64
    /// The last eight bytes, most significant first.
    package let low: UInt64

    /// Puts the two halves together; any bits are allowed.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random (version 4) identifier from the system's random generator.
    package static func random() -> UUID {
        var generator = SystemRandomNumberGenerator()
        return UUID(
            high: (generator.next() & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000,
            low: (generator.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000)
    }

    /// Reads `8-4-4-4-12` hexadecimal digits in either case; nil for anything else.
    package init?(_ text: some StringProtocol) {
        var digits = 0
        var high: UInt64 = 0
        var low: UInt64 = 0
        for (position, byte) in text.utf8.enumerated() {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard position < 36, let digit = UUID.value(ofHexadecimalDigit: byte) else { return nil }
            if digits < 16 { high = high << 4 | digit } else { low = low << 4 | digit }
            digits += 1
        }
        guard digits == 32 else { return nil }
        self.init(high: high, low: low)
    }

    /// The sixteen bytes, most significant first; nil when there are not sixteen.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }, low: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// The sixteen bytes, most significant first.
    package var bytes: [UInt8] {
        (0..<16).map { index in
            index < 8 ? UInt8(truncatingIfNeeded: high >> (56 - 8 * index)) : UInt8(truncatingIfNeeded: low >> (120 - 8 * index))
        }
    }

    package var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the 36 characters of the lower-case form.
    package func append(to text: inout [UInt8]) {
        for position in 0..<32 {
            if position == 8 || position == 12 || position == 16 || position == 20 { text.append(UInt8(ascii: "-")) }
            let half = position < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half >> (60 - 4 * (position % 16))) & 0xF
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    private static func value(ofHexadecimalDigit byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
