/// Base64 as of RFC 4648, read strictly: no white space, no foreign character, exact padding, no stray bits at the end.
package enum Base64 {
    /// The standard alphabet (`+`, `/`) with padding.
    package static func encode(_ bytes: [UInt8]) -> String { encode(bytes, with: standard, padded: true) }

    /// The alphabet for URLs and file names (`-`, `_`) without padding, as JSON Web Tokens use it.
    package static func encodeURL(_ bytes: [UInt8]) -> String { encode(bytes, with: forURLs, padded: false) }

    /// Reads the standard alphabet; padding is required. Nil for anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count.isMultiple(of: 4) else { return nil }
        let padding = characters.suffix(2).reduce(0) { $0 + ($1 == UInt8(ascii: "=") ? 1 : 0) }
        return decode(characters.dropLast(padding), with: standard)
    }

    /// Reads the alphabet for URLs; padding is refused. Nil for anything else.
    package static func decodeURL(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(text.utf8)[...], with: forURLs)
    }

    private struct Alphabet {
        let characters: [UInt8]
        /// The value of each byte; 255 where it is no character of the alphabet.
        let values: [UInt8]

        init(last two: String) {
            characters = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + two).utf8)
            var values = [UInt8](repeating: 255, count: 256)
            for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
            self.values = values
        }
    }

    private static let standard = Alphabet(last: "+/")
    private static let forURLs = Alphabet(last: "-_")

    private static func encode(_ bytes: [UInt8], with alphabet: Alphabet, padded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for position in 0...group.count { text.append(alphabet.characters[Int(bits >> UInt32(18 - 6 * position)) & 63]) }
            if padded { for _ in group.count..<3 { text.append(UInt8(ascii: "=")) } }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func decode(_ characters: ArraySlice<UInt8>, with alphabet: Alphabet) -> [UInt8]? {
        guard characters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for character in characters {
            let value = alphabet.values[Int(character)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(bits >> bitCount))
                bits &= (1 << bitCount) - 1
            }
        }
        return bits == 0 ? bytes : nil
    }
}
