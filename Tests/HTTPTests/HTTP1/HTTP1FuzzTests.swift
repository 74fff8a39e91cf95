import Testing

@testable import HTTP

/// A small generator with a fixed seed, so that a failure can be repeated (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        // Wrapping is what the algorithm is defined by.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("HTTP/1 parser") struct HTTP1FuzzTests {
    static let fragments = [
        "GET / HTTP/1.1\r\n", "POST /a HTTP/1.1\r\n", "GET / HTTP/1.0\r\n", "Host: a\r\n", "Content-Length: 3\r\n",
        "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Expect: 100-continue\r\n",
        "Connection: close\r\n", "X: y\r\n", "\r\n", "\r\n", "abc", "3\r\nabc\r\n", "1;x=y\r\na\r\n", "0\r\n\r\n",
        "0\r\nT: v\r\n\r\n", "\n", "\r",
        ":", " ", "\t", "\u{0}", "é",
    ]

    @Test("reads the same from the same bytes, however they are cut", arguments: 0..<40)
    func cuts(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        for _ in 0..<50 {
            let count = Int.random(in: 1...14, using: &generator)
            let text = (0..<count).map { _ in Self.fragments.randomElement(using: &generator) ?? "" }.joined()
            let bytes = Array(text.utf8)
            let whole = ParsedMessages([bytes[...]])
            var pieces: [ArraySlice<UInt8>] = []
            var start = 0
            while start < bytes.count {
                let end = Int.random(in: (start + 1)...bytes.count, using: &generator)
                pieces.append(bytes[start..<end])
                start = end
            }
            #expect(ParsedMessages(pieces) == whole, "\(text.debugDescription)")
            #expect(ParsedMessages(bytes.indices.map { bytes[$0...$0] }) == whole, "\(text.debugDescription)")
        }
    }
}
