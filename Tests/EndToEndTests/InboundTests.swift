import Foundation
import HTTP
import Security
import TestSupport
import Testing

@Suite("The listener", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct InboundTests {
    @Test("speaks HTTP/2 and HTTP/1.1 under TLS, by what the client offers")
    func negotiates() async throws {
        let authority = try CertificateAuthority.generate(commonName: "Test authority")
        let issued = try authority.issue(hosts: ["127.0.0.1"])
        let settings = [
            "OPENPUSH_TLS_CERTIFICATE": String(decoding: issued.certificatePEM, as: UTF8.self),
            "OPENPUSH_TLS_KEY": String(decoding: issued.keyPEM, as: UTF8.self),
        ]
        try await Deployment.run(settings: settings) { gateway in
            let port = try gateway.port()
            #expect(gateway.daemon.readyLine.contains("https://127.0.0.1:\(port)"))
            for version in [TestHTTPClient.Version.http1, .http2] {
                let client = TestHTTPClient(port: port, tls: authority.certificatePEM, version: version)
                #expect(try await client.send("GET", "/livez").status == 200)
            }
            for (offer, expected) in [(["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1")] {
                let negotiated = try await onThread {
                    try TestSocket(port: port, tls: ("127.0.0.1", authority.certificatePEM), applicationProtocols: offer)
                        .negotiatedProtocol
                }
                #expect(negotiated == expected)
            }
            // Somebody who speaks in clear to it costs one connection.
            #expect(try await TestHTTPClient(port: port).exchange(raw: Array("GET / HTTP/1.1\r\n\r\n".utf8)).isClosed)
            #expect(
                try await TestHTTPClient(port: port, tls: authority.certificatePEM).send("GET", "/livez").status == 200)
        }
    }

    @Test(
        "answers what is not HTTP/1.1 with 400 and closes that connection, and no other")
    func refusesMalformed() async throws {
        try await Deployment.run { gateway in
            let client = try gateway.client()
            let other = try TestSocket(port: gateway.port())
            var reader = TestHTTPResponseReader()
            let post = "POST /v1/devices HTTP/1.1\r\nHost: a\r\n"
            for malformed in [
                "nonsense\r\n\r\n", "GET /livez HTTP/1.1\r\n\r\n", "GET /livez HTTP/1.1\nHost: a\n\n",
                "GET /livez HTTP/1.1\r\nHost : a\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                "GET /livez HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", "GET  /livez HTTP/1.1\r\nHost: a\r\n\r\n",
                "\(post)Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "\(post)Content-Length: +1\r\n\r\na",
                "\(post)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "\(post)Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", "\(post)Content-Length: 99999999999999999999\r\n\r\n",
            ] {
                let (received, isClosed) = try await client.exchange(raw: Array(malformed.utf8))
                #expect(String(decoding: received, as: UTF8.self).hasPrefix("HTTP/1.1 400 "), "\(malformed)")
                #expect(isClosed, "\(malformed)")
                try other.send(TestHTTPClient.http1Request("GET", "/livez"))
                #expect(try reader.next(from: other).status == 200)
            }
        }
    }

    @Test("serves others while slow clients send a byte now and then")
    func isNotBlockedBySlowClients() async throws {
        try await Deployment.run { gateway in
            let request = TestHTTPClient.http1Request("POST", "/v1/devices", body: Array(#"{"push_token":"ab"}"#.utf8))
            let slow = try (0..<50).map { number in
                let socket = try TestSocket(port: gateway.port())
                try socket.send(Array(request.prefix(number + 1)))
                return socket
            }
            let begin = ContinuousClock.now
            try await gateway.registerDevices(1...10)
            #expect(begin.duration(to: .now) < .seconds(5))
            for (number, socket) in slow.enumerated() {
                try socket.send(Array(request.dropFirst(number + 1)))
                var reader = TestHTTPResponseReader()
                #expect(try reader.next(from: socket).status == 401)
            }
        }
    }

    @Test("keeps nothing of clients that shake hands and leave")
    func forgetsHandshakes() async throws {
        let authority = try CertificateAuthority.generate(commonName: "Test authority")
        let issued = try authority.issue(hosts: ["127.0.0.1"])
        let settings = [
            "OPENPUSH_TLS_CERTIFICATE": String(decoding: issued.certificatePEM, as: UTF8.self),
            "OPENPUSH_TLS_KEY": String(decoding: issued.keyPEM, as: UTF8.self), "MALLOC_ARENA_MAX": "2",
        ]
        try await Deployment.run(settings: settings) { gateway in
            let port = try gateway.port()
            let client = TestHTTPClient(port: port, tls: authority.certificatePEM)
            let shakeHands = { @Sendable (count: Int) in
                for _ in 0..<count {
                    _ = try TestSocket(port: port, tls: ("127.0.0.1", authority.certificatePEM), applicationProtocols: ["h2"])
                }
            }
            /// Once no connection but the one that asks is left.
            func settled() async throws -> (descriptorCount: Int, residentByteCount: Int) {
                let deadline = ContinuousClock.now + .seconds(10)
                while ContinuousClock.now < deadline {
                    let metrics = try await client.send("GET", "/metrics").text
                    if metrics.contains("openpush_http_connections 1\n") { break }
                }
                return try gateway.daemon.resources()
            }
            try await onThread { try shakeHands(100) }
            let before = try await settled()
            try await onThread { try shakeHands(200) }
            let after = try await settled()
            #expect(after.descriptorCount <= before.descriptorCount + 1 + Sanitizer.descriptorCount)
            // One TLS session takes more than 10 kB: 200 that stay would be seen.
            let growth = after.residentByteCount - before.residentByteCount
            #expect(growth < 2_000_000 || Sanitizer.isActive, "\(before) \(after)")
        }
    }

    @Test("survives clients that vanish in the middle of a request", arguments: [false, true])
    func survivesVanishingClients(usesTLS: Bool) async throws {
        let authority = try CertificateAuthority.generate(commonName: "Test authority")
        let issued = try authority.issue(hosts: ["127.0.0.1"])
        let settings =
            usesTLS
            ? [
                "OPENPUSH_TLS_CERTIFICATE": String(decoding: issued.certificatePEM, as: UTF8.self),
                "OPENPUSH_TLS_KEY": String(decoding: issued.keyPEM, as: UTF8.self),
            ] : [:]
        try await Deployment.run(settings: settings) { gateway in
            let port = try gateway.port()
            let tls = usesTLS ? authority.certificatePEM : nil
            let process = gateway.daemon.processID
            let request = TestHTTPClient.http1Request(
                "GET", "/v1/notifications", headers: ["authorization": "Key \(gateway.app.readKey)"])
            try await onThread {
                for number in 0..<100 {
                    let socket = try TestSocket(port: port, tls: tls.map { ("127.0.0.1", $0) })
                    // Every other one is complete: the answer meets a closed connection.
                    try socket.send(number % 2 == 0 ? request : Array(request.prefix(number)))
                    socket.resetOnClose()
                }
            }
            let client = TestHTTPClient(port: port, tls: tls)
            #expect(try await client.send("GET", "/readyz").status == 200)
            #expect(gateway.daemon.processID == process)
            #expect(kill(process, 0) == 0)
            // None of them is kept: only the one that asks is open.
            let deadline = ContinuousClock.now + .seconds(5)
            var isAlone = false
            while !isAlone, ContinuousClock.now < deadline {
                isAlone = try await client.send("GET", "/metrics").text.contains("openpush_http_connections 1\n")
            }
            #expect(isAlone)
        }
    }
}
