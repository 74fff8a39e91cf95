/// Identifies one live notification, or one delivery of it: a ULID, 48 bits of milliseconds and 80 random bits.
///
/// Text is 26 digits of Crockford's base 32. Either case is read, upper case is written. Source: github.com/ulid/spec.
package struct InstanceID: Hashable, Sendable, CustomStringConvertible {
    /// How long the text is.
    package static let digitCount = 26

    /// The 128 bits.
    package let value: UUID

    /// Any bits are allowed.
    package init(_ value: UUID) { self.value = value }

    /// Makes a new one.
    ///
    /// - Parameter milliseconds: since 1970; the 48 lower bits count.
    package static func mint(milliseconds: Int64) -> InstanceID {
        var generator = SystemRandomNumberGenerator()
        let time = UInt64(truncatingIfNeeded: milliseconds) << 16
        return InstanceID(UUID(high: time | (generator.next() & 0xFFFF), low: generator.next()))
    }

    /// Reads the text; nil when it is anything else. `I`, `L`, `O` and `U` are no digits.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.digitCount else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for (position, byte) in text.utf8.enumerated() {
            guard let digit = Self.digitValue(byte), position > 0 || digit < 8 else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | UInt64(digit)
        }
        value = UUID(high: high, low: low)
    }

    package var description: String {
        var (high, low) = (value.high, value.low)
        var text = [UInt8](repeating: 0, count: Self.digitCount)
        for position in text.indices.reversed() {
            text[position] = Self.digits[Int(low & 31)]
            low = low >> 5 | high << 59
            high >>= 5
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    private static func digitValue(_ byte: UInt8) -> Int? {
        let upper = byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") ? byte - 32 : byte
        return digits.firstIndex(of: upper)
    }
}
