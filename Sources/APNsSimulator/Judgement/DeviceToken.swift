/// The hexadecimal text of `:path` as bytes.
enum DeviceToken {
    /// Longest token believed, in bytes. Apple gives no limit; those of Live Activities have about 80.
    static let byteCountLimit = 256

    /// Reads pairs of hexadecimal digits in either case; nil when they are none, too many, or all zero.
    static func parse(_ text: String) -> [UInt8]? {
        let digits = text.utf8
        guard digits.count >= 2, digits.count % 2 == 0, digits.count <= 2 * byteCountLimit else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            if let upper = high {
                bytes.append(upper << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes.allSatisfy { $0 == 0 } ? nil : bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
