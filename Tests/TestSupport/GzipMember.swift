/// Makes gzip without compressing: one member of RFC 1952, its content in stored blocks of RFC 1951.
package enum GzipMember {
    /// A member that holds these bytes.
    package static func holding(_ bytes: [UInt8]) -> [UInt8] {
        var member: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(Int(UInt16.max))
            rest = rest.dropFirst(block.count)
            let count = UInt16(block.count)
            member.append(rest.isEmpty ? 1 : 0)
            member += littleEndian(UInt32(count) | UInt32(~count) << 16)
            member += block
        } while !rest.isEmpty
        return member + littleEndian(checksum(bytes)) + littleEndian(UInt32(truncatingIfNeeded: bytes.count))
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

    /// CRC-32 as gzip has it.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var remainder = UInt32.max
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
        }
        return ~remainder
    }
}
