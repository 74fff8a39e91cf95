import Testing

@testable import Security

@Suite("TLS handshake") struct TLSHandshakeTests {
    @Test(
        "succeeds for a name or an address the certificate carries",
        arguments: ["push.example", "a.wild.example", "127.0.0.1", "::1"])
    func accepts(host: String) throws {
        let pair = try TLSPair(host: host, certified: ["push.example", "*.wild.example", "127.0.0.1", "::1"])
        try pair.shakeHands()
        #expect(try pair.client.handshake())
        #expect(try pair.server.handshake())
    }

    @Test(
        "refuses a certificate of another host",
        arguments: ["other.example", "a.push.example", "127.0.0.2", "a.b.wild.example"])
    func refusesOtherHost(host: String) throws {
        let pair = try TLSPair(host: host, certified: ["push.example", "*.wild.example", "127.0.0.1"])
        let error = #expect(throws: SecurityError.self) { try pair.shakeHands() }
        guard case .certificateRejected(let reason) = error else {
            Issue.record("unexpected: \(String(describing: error))")
            return
        }
        #expect(reason.contains("mismatch"))
    }

    @Test("refuses an unknown authority, and the alert says so to the server") func refusesUnknownAuthority() throws {
        let stranger = try CertificateAuthority.generate(commonName: "Stranger")
        let pair = try TLSPair(trusting: stranger.certificatePEM)
        let error = #expect(throws: SecurityError.self) { try pair.shakeHands() }
        guard case .certificateRejected = error else {
            Issue.record("unexpected: \(String(describing: error))")
            return
        }
        #expect(pair.client.pendingCiphertextByteCount > 0)
        TLSPair.carry(from: pair.client, to: pair.server)
        let serverError = #expect(throws: SecurityError.self) { try pair.server.handshake() }
        #expect(serverError == .failed(operation: "TLS handshake", reason: "tlsv1 alert unknown ca"))
    }

    @Test("refuses a private authority when no extra root is given") func verifiesAgainstSystemRoots() throws {
        let authority = try TLSPair.authority.get()
        let issued = try authority.issue(hosts: ["push.example"])
        let server = try TLSSession(
            server: .server(certificateChainPEM: issued.certificatePEM, privateKeyPEM: issued.keyPEM, applicationProtocols: []))
        let client = try TLSSession(client: .client(extraRootsPEM: nil, applicationProtocols: []), host: "push.example")
        #expect(try !client.handshake())
        TLSPair.carry(from: client, to: server)
        #expect(try !server.handshake())
        TLSPair.carry(from: server, to: client)
        #expect(throws: SecurityError.self) { try client.handshake() }
    }

    @Test(
        "chooses the server's favourite of what both speak",
        arguments: [
            (["h2", "http/1.1"], ["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], ["h2", "http/1.1"], "h2"),
            (["http/1.1"], ["h2", "http/1.1"], "http/1.1"), ([], ["h2"], nil), (["h2"], [], nil),
        ] as [([String], [String], String?)])
    func negotiates(clientProtocols: [String], serverProtocols: [String], expected: String?) throws {
        let pair = try TLSPair(clientProtocols: clientProtocols, serverProtocols: serverProtocols)
        #expect(pair.client.negotiatedProtocol == nil)
        try pair.shakeHands()
        #expect(pair.client.negotiatedProtocol == expected)
        #expect(pair.server.negotiatedProtocol == expected)
    }

    @Test("refuses a client with which it has no protocol in common") func refusesForeignProtocol() throws {
        let pair = try TLSPair(clientProtocols: ["spdy/3"], serverProtocols: ["h2"])
        #expect(throws: SecurityError.self) { try pair.shakeHands() }
    }

    @Test("refuses what is not TLS") func refusesNonsense() throws {
        let pair = try TLSPair()
        pair.server.receive(Array("GET / HTTP/1.1\r\n\r\n".utf8).span)
        let error = #expect(throws: SecurityError.self) { try pair.server.handshake() }
        #expect(error == .failed(operation: "TLS handshake", reason: "http request"))
    }

    @Test("refuses TLS 1.1") func refusesOldVersion() throws {
        let pair = try TLSPair()
        // A ClientHello of version 3.2 with one cipher (ECDHE-RSA-AES128-SHA), no compression and no extensions.
        let hello = [0x03, 0x02] + RandomBytes.generate(count: 32) + [0, 0, 2, 0xC0, 0x13, 1, 0]
        let message = [1, 0, 0, UInt8(hello.count)] + hello
        pair.server.receive(([22, 3, 1, 0, UInt8(message.count)] + message).span)
        let error = #expect(throws: SecurityError.self) { try pair.server.handshake() }
        #expect(error == .failed(operation: "TLS handshake", reason: "unsupported protocol"))
    }

    @Test("refuses a server's greeting that was changed anywhere", arguments: Array(stride(from: 0, to: 90, by: 6)))
    func refusesChangedGreeting(offset: Int) throws {
        let pair = try TLSPair()
        _ = try pair.client.handshake()
        pair.exchange()
        _ = try pair.server.handshake()
        var flight = TLSPair.takeCiphertext(of: pair.server)
        // Behind the record's head of 5 bytes: all of the greeting is in the transcript both sides authenticate.
        flight[5 + offset] ^= 0x55
        pair.client.receive(flight.span)
        // A changed length leaves the client waiting; everything else is noticed.
        let isDone = try? pair.client.handshake()
        #expect(isDone != true)
    }

    @Test("survives ciphertext that comes a byte at a time") func acceptsSingleBytes() throws {
        let pair = try TLSPair()
        for _ in 0..<3 {
            for (sender, receiver) in [(pair.client, pair.server), (pair.server, pair.client)] {
                _ = try sender.handshake()
                let flight = TLSPair.takeCiphertext(of: sender)
                for byte in flight {
                    receiver.receive([byte].span)
                    _ = try receiver.handshake()
                }
            }
        }
        #expect(try pair.client.handshake())
        #expect(try pair.server.handshake())
    }

    @Test("leaves no memory behind in many sessions that stop anywhere", arguments: 0..<4) func stopsAnywhere(turns: Int) throws {
        for _ in 0..<5 {
            let pair = try TLSPair()
            for _ in 0..<turns {
                _ = try pair.client.handshake()
                pair.exchange()
                _ = try pair.server.handshake()
                pair.exchange()
            }
            pair.client.shutdown()
        }
    }

    @Test("refuses host names that cannot be one", arguments: ["", "a\u{0}b", String(repeating: "a", count: 256)])
    func refusesBadHost(host: String) throws {
        #expect(throws: SecurityError.self) { try TLSPair(host: host) }
    }
}
