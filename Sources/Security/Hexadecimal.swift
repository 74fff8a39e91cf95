/// Bytes as hexadecimal digits: lower case is written, either case is read.
package enum Hexadecimal {
    /// Two lower-case digits a byte.
    package static func encode(_ bytes: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            for (index, byte) in bytes.enumerated() {
                unsafe buffer[index * 2] = digit(byte >> 4)
                unsafe buffer[index * 2 + 1] = digit(byte & 15)
            }
            return bytes.count * 2
        }
    }

    /// Appends two lower-case digits a byte to `text`.
    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        text.reserveCapacity(text.count + bytes.count * 2)
        for index in bytes.indices {
            let byte = bytes[index]
            text.append(digit(byte >> 4))
            text.append(digit(byte & 15))
        }
    }

    /// Reads an even number of digits in either case; nil for an odd number or anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var high: UInt8?
        for character in text.utf8 {
            guard let value = value(of: character) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + (value - 10)
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
