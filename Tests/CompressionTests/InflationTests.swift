import Testing

@testable import Compression

@Suite("Inflation") struct InflationTests {
    private static let plain = Array(#"{"batch":[]}"#.utf8)
    private static let gzip = bytes("1f8b0800000000000203ab564a4a2c49ce50b28a8ead0500645bcb7d0c000000")
    /// The same with the name of a file in its header.
    private static let named = bytes("1f8b08080000000002ff6e616d652e6a736f6e00ab564a4a2c49ce50b28a8ead0500645bcb7d0c000000")
    private static let zlib = bytes("78daab564a4a2c49ce50b28a8ead05001b220431")
    private static let empty = bytes("1f8b080000000000020303000000000000000000")
    /// 65,536 zeros.
    private static let zeros = bytes(
        "1f8b0800000000000203edc101010000008090feafee080a" + String(repeating: "0", count: 126) + "6aeb8e97d700000100")

    private static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    private func failure(_ bytes: [UInt8], byteLimit: Int = Inflation.byteLimit) -> InflationError? {
        do throws(InflationError) {
            _ = try Inflation.inflate(bytes, byteLimit: byteLimit)
            return nil
        } catch { return error }
    }

    @Test("gives back what gzip and zlib hold", arguments: [gzip, named, zlib])
    func inflates(compressed: [UInt8]) throws {
        #expect(try Inflation.inflate(compressed) == Self.plain)
    }

    @Test("gives back nothing for nothing") func inflatesNothing() throws { #expect(try Inflation.inflate(Self.empty) == []) }

    @Test("puts the members of gzip together, empty ones too")
    func joinsMembers() throws {
        #expect(try Inflation.inflate(Self.gzip + Self.empty + Self.named) == Self.plain + Self.plain)
    }

    @Test("calls every beginning of it truncated", arguments: [gzip, zlib])
    func truncated(compressed: [UInt8]) {
        for count in compressed.indices { #expect(failure(Array(compressed.prefix(count))) == .truncated, "\(count) bytes") }
    }

    @Test("calls a second member that is cut truncated")
    func truncatedMember() {
        for count in 1..<Self.gzip.count {
            #expect(failure(Self.gzip + Self.gzip.prefix(count)) == .truncated, "\(count) bytes")
        }
    }

    @Test(
        "refuses garbage, before and behind",
        arguments: [
            Array("no gzip at all".utf8), Array(#"{"batch":[]}"#.utf8), [0, 0, 0, 0], gzip + [0, 0, 0],
            gzip + Array("behind".utf8), gzip + zlib, zlib + [0], zlib + gzip, zlib + zlib,
        ])
    func refusesGarbage(bytes: [UInt8]) { #expect(failure(bytes) == .malformed) }

    @Test("refuses what is damaged: no bit of data, checksum or length can be turned over unseen")
    func verifies() {
        for index in 10..<Self.gzip.count {
            var damaged = Self.gzip
            damaged[index] ^= 1
            #expect(failure(damaged) != nil, "byte \(index)")
        }
        for index in Self.zlib.indices {
            var damaged = Self.zlib
            damaged[index] ^= 1
            #expect(failure(damaged) != nil, "byte \(index)")
        }
    }

    @Test("gives back as much as is allowed, and not a byte more")
    func bound() throws {
        #expect(try Inflation.inflate(Self.gzip, byteLimit: 12) == Self.plain)
        #expect(failure(Self.gzip, byteLimit: 11) == .tooLarge(byteLimit: 11))
        #expect(failure(Self.gzip, byteLimit: 0) == .tooLarge(byteLimit: 0))
        #expect(try Inflation.inflate(Self.empty, byteLimit: 0) == [])
        #expect(failure(Self.gzip + Self.gzip, byteLimit: 23) == .tooLarge(byteLimit: 23))
    }

    @Test("stops a bomb at the bound, which is 1 MiB")
    func bomb() throws {
        #expect(try Inflation.inflate(Self.zeros) == [UInt8](repeating: 0, count: 65_536))
        let sixteen = Array(repeating: Self.zeros, count: 16).flatMap { $0 }
        #expect(try Inflation.inflate(sixteen).count == 1_048_576)
        #expect(failure(sixteen + Self.zeros) == .tooLarge(byteLimit: 1_048_576))
        #expect(failure(Array(repeating: Self.zeros, count: 10_000).flatMap { $0 }) == .tooLarge(byteLimit: 1_048_576))
    }
}
