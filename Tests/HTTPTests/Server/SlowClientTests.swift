import HTTP
import TestSupport
import Testing

@Suite("Slow and broken clients", .timeLimit(.minutes(1))) struct SlowClientTests {
    @Test(
        "are answered 408 when a request does not come in time",
        arguments: [
            "G", "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell", "PRI * HTT",
        ])
    func slowRequest(start: String) async throws {
        let limits = HTTPServerLimits.with { ($0.headerTimeout, $0.bodyTimeout) = (.milliseconds(50), .milliseconds(50)) }
        try await withServer(limits) { running in
            let (received, isClosed) = try await running.client().exchange(raw: Array(start.utf8))
            #expect(isClosed)
            #expect(String(decoding: received, as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
            #expect(await running.end() == .requestTimeout)
        }
    }

    @Test(
        "are closed without a word when idle, before and after a request",
        arguments: ["", "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"])
    func idle(start: String) async throws {
        try await withServer(.with { $0.idleTimeout = .milliseconds(50) }) { running in
            let (received, isClosed) = try await running.client().exchange(raw: Array(start.utf8))
            #expect(isClosed)
            #expect(String(decoding: received, as: UTF8.self).split(separator: "HTTP/1.1").count == (start.isEmpty ? 0 : 1))
            #expect(await running.end() == .idle)
        }
    }

    @Test("are cut in the middle of a TLS handshake") func handshake() async throws {
        try await withServer(secure: true, .with { $0.handshakeTimeout = .milliseconds(50) }) { running in
            let socket = try TestSocket(port: running.port)
            try socket.send([0x16, 0x03, 0x01])
            #expect(await running.end() == .handshakeTimeout)
        }
    }

    @Test("are cut when they do not read", arguments: [false, true])
    func slowReader(pipelined: Bool) async throws {
        try await withServer(.with { $0.writeTimeout = .milliseconds(100) }) { running in
            let socket = try TestSocket(port: running.port, receiveBufferByteCount: 4096)
            let requests = pipelined ? 64 : 1
            let request = TestHTTPClient.http1Request("GET", "/large?bytes=\(16_000_000 / requests)")
            try socket.send(Array(repeatElement(request, count: requests).joined()))
            #expect(await running.end() == .writeTimeout)
            // Output was bounded: answers were not made for a client that does not read.
            if pipelined { #expect(running.handler.started.all.count < 64) }
        }
    }

    @Test("that leave during a request end one connection") func leaving() async throws {
        try await withServer { running in
            do {
                let socket = try running.socket()
                try socket.send(TestHTTPClient.http1Request("GET", "/wait"))
                await running.handler.started.first { $0 == "/wait" }
                socket.resetOnClose()
            }
            #expect(try await running.client().send("GET", "/hello").status == 200)
            running.handler.release()
            await running.events.first { if case .responded(200, _) = $0 { true } else { false } }
        }
    }

    @Test("leave nothing behind when they cut a request short") func cutShort() async throws {
        try await withServer { running in
            let request = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell"
            let (received, isClosed) = try await running.client().exchange(raw: Array(request.utf8), ending: true)
            #expect(isClosed)
            #expect(received == [])
            #expect(running.handler.started.all == [])
        }
    }

    @Test("beyond the connection limit wait for a place") func connectionLimit() async throws {
        try await withServer(.with { $0.connectionCount = 2 }) { running in
            var occupants = [try running.socket(), try running.socket()]
            for socket in occupants { try socket.send(TestHTTPClient.http1Request("GET", "/wait")) }
            await running.handler.started.first { $0 == "/wait" }
            async let response = running.client().send("GET", "/hello")
            await running.events.first { $0 == .acceptingPaused(connectionCount: 2) }
            #expect(running.handler.started.all.contains("/hello") == false)
            running.handler.release()
            occupants = []
            #expect(try await response.status == 200)
        }
    }

    @Test("cannot fill the memory: a body beyond what all may hold is refused, and nothing stays counted") func memory()
        async throws
    {
        try await withServer(.with { $0.requestMemoryByteCount = 100_000 }) { running in
            let holder = try running.socket()
            try holder.send(TestHTTPClient.http1Request("POST", "/wait", body: [UInt8](repeating: 1, count: 80_000)))
            await running.handler.started.first { $0 == "/wait" }
            let refused = try await running.client().send("POST", "/echo", body: [UInt8](repeating: 1, count: 30_000))
            #expect(refused.status == 503)
            #expect(refused.headers["retry-after"] == "1")
            running.handler.release()
            await running.events.first { if case .responded(200, _) = $0 { true } else { false } }
            let accepted = try await running.client().send("POST", "/echo", body: [UInt8](repeating: 1, count: 90_000))
            #expect(accepted.status == 201)
        }
    }
}
