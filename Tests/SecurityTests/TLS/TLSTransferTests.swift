import Testing

@testable import Security

@Suite("TLS transfer") struct TLSTransferTests {
    @Test("carries a megabyte each way") func carriesMegabyte() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        let up = RandomBytes.generate(count: 1 << 20)
        let down = RandomBytes.generate(count: 1 << 20)
        try pair.client.write(up.span)
        try pair.server.write(down.span)
        pair.exchange()
        #expect(try TLSPair.readAll(pair.server) == (up, .needsInput))
        #expect(try TLSPair.readAll(pair.client) == (down, .needsInput))
    }

    @Test("fills records of 16 KiB") func fillsRecords() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        pair.exchange()
        try pair.client.write([UInt8](repeating: 7, count: 64 << 10).span)
        // TLS 1.3 adds a head of 5 bytes, a content type and a tag of 16 to each record.
        #expect(pair.client.pendingCiphertextByteCount == 4 * ((16 << 10) + 22))
    }

    @Test("lends everything that waits at once, and keeps what the socket did not take") func lendsPartially() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        let sent = RandomBytes.generate(count: 100_000)
        try pair.client.write(sent.span)
        var lends = 0
        while pair.client.pendingCiphertextByteCount > 0 {
            pair.client.withPendingCiphertext { bytes in
                let taken = min(bytes.count, 7_001)
                pair.server.receive(bytes.extracting(0..<taken))
                return taken
            }
            lends += 1
        }
        #expect(lends == 15)
        #expect(try TLSPair.readAll(pair.server) == (sent, .needsInput))
    }

    @Test("reads no more than the limit, and the rest afterwards", arguments: [1, 1_000, 16_384, 16_385, 100_000])
    func obeysLimit(limit: Int) throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        let sent = RandomBytes.generate(count: 40_000)
        try pair.client.write(sent.span)
        pair.exchange()
        var received: [UInt8] = []
        #expect(try pair.server.read(into: &received, limit: limit) == .bytes(min(limit, 40_000)))
        let rest = try TLSPair.readAll(pair.server, limit: limit)
        #expect(received + rest.bytes == sent)
        #expect(rest.end == .needsInput)
    }

    @Test("gives what came before the end, then says that the peer closed") func closesMidway() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        try pair.client.write(Array("half an ans".utf8).span)
        pair.client.shutdown()
        pair.exchange()
        #expect(try TLSPair.readAll(pair.server) == (Array("half an ans".utf8), .closed))
        #expect(try TLSPair.readAll(pair.server) == ([], .closed))
    }

    @Test("does not take a truncated stream for an ended one") func tellsTruncation() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        try pair.client.write([UInt8](repeating: 1, count: 20_000).span)
        pair.client.withPendingCiphertext { bytes in
            pair.server.receive(bytes.extracting(0..<bytes.count - 1))
            return bytes.count
        }
        let received = try TLSPair.readAll(pair.server)
        #expect(received.bytes.count == 16_384)
        #expect(received.end == .needsInput)
    }

    @Test("refuses a record that was changed, after giving the good ones before it") func refusesTampering() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        try pair.client.write([UInt8](repeating: 1, count: 20_000).span)
        var changed = TLSPair.takeCiphertext(of: pair.client)
        changed[changed.count - 1] ^= 1
        pair.server.receive(changed.span)
        var received: [UInt8] = []
        #expect(try pair.server.read(into: &received, limit: 1 << 20) == .bytes(16_384))
        for _ in 0..<2 {
            let error = #expect(throws: SecurityError.self) { try pair.server.read(into: &received, limit: 1 << 20) }
            #expect(error == .failed(operation: "TLS read", reason: "decryption failed or bad record mac"))
        }
        #expect(throws: SecurityError.self) { try pair.server.write([1].span) }
    }

    @Test("writes nothing before the handshake is done") func refusesEarlyWrite() throws {
        let pair = try TLSPair()
        #expect(throws: SecurityError.self) { try pair.client.write([1].span) }
        #expect(pair.client.pendingCiphertextByteCount == 0)
    }
}
