/// Builds a JSON text; commas and colons are its own business, balance is the caller's.
///
/// Text goes out as raw UTF-8 and `/` is not escaped, so that a body is as short as it can be.
package struct JSONWriter: Sendable {
    /// What was written so far.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Nothing written yet.
    package init() {}

    /// Writes `{`.
    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Writes `}`.
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Writes `[`.
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Writes `]`.
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a member's name; its value comes next.
    package mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }
    /// Writes a string.
    package mutating func string(_ text: String) {
        separate()
        quote(text)
    }
    /// Writes an integer.
    package mutating func integer(_ value: some BinaryInteger) { raw(String(value).utf8) }
    /// Writes `true` or `false`.
    package mutating func bool(_ value: Bool) { raw((value ? "true" : "false").utf8) }
    /// Writes `null`.
    package mutating func null() { raw("null".utf8) }
    /// Writes a literal that is JSON already.
    package mutating func raw(_ literal: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: literal)
    }

    /// Writes a member that holds a string; null for nil.
    package mutating func member(_ name: String, _ text: String?) {
        key(name)
        if let text { string(text) } else { null() }
    }
    /// Writes a member that holds an integer; null for nil.
    package mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
        key(name)
        if let value { integer(value) } else { null() }
    }
    /// Writes a member that holds a Boolean.
    package mutating func member(_ name: String, _ value: Bool) {
        key(name)
        bool(value)
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }
    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }
    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0x08: bytes.append(contentsOf: #"\b"#.utf8)
            case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
            case 0x0A: bytes.append(contentsOf: #"\n"#.utf8)
            case 0x0C: bytes.append(contentsOf: #"\f"#.utf8)
            case 0x0D: bytes.append(contentsOf: #"\r"#.utf8)
            case 0..<0x20:
                bytes.append(contentsOf: #"\u00"#.utf8)
                bytes.append(UInt8(ascii: "0") + byte >> 4)
                bytes.append(byte & 0xF < 10 ? UInt8(ascii: "0") + byte & 0xF : UInt8(ascii: "a") + byte & 0xF - 10)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
