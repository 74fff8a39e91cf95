import Testing

@testable import Security

@Suite("Application protocols") struct ApplicationProtocolsTests {
    private let protocols = ApplicationProtocols(["h2", "http/1.1"])

    @Test("are written with their lengths") func writes() {
        #expect(protocols.wireFormat == [2] + Array("h2".utf8) + [8] + Array("http/1.1".utf8))
    }

    @Test(
        "choose from malformed offers without reading past their end",
        arguments: [
            ([], nil), ([2], nil), ([2, 0x68], nil), ([0], nil), ([0, 2, 0x68, 0x32], 2..<4), ([255, 1], nil),
            ([2, 0x68, 0x32, 9], 1..<3),
        ] as [([UInt8], Range<Int>?)])
    func chooses(offer: [UInt8], range: Range<Int>?) { #expect(protocols.choose(from: offer.span) == range) }
}
