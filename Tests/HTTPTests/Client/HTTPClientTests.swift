import HTTP
import Networking
import Security
import TestSupport
import Testing

@Suite("HTTP client", .timeLimit(.minutes(2))) struct HTTPClientTests {
    @Test("sends any method with its fields and body, and gives the whole answer", arguments: ["GET", "POST", "DELETE"])
    func methods(method: String) async throws {
        try await withServer(secure: true) { server in
            let rig = try ClientRig(port: server.port, authority: server.authority)
            let body = method == "GET" ? [] : Array("{\"a\":1}".utf8)
            let result = await rig.send(method, "/echo?x=1", body: body)
            let response = try #require(result.response)
            #expect(response.status == 201 && response.body == body)
            #expect(response.headers["x-method"] == method && response.headers["x-target"] == "/echo?x=1")
            #expect(response.headers["x-version"] == "http2" && response.headers["x-authority"] == "localhost:\(server.port)")
            try await rig.stop()
        }
    }

    @Test("answers many requests at once over few connections")
    func manyRequests() async throws {
        try await withServer(secure: true, .with { $0.concurrentStreamCount = 7 }) { server in
            let rig = try ClientRig(port: server.port, authority: server.authority)
            let statuses = await withTaskGroup(of: HTTPClientResult.self) { group in
                for number in 0..<300 {
                    group.addTask { await rig.send("POST", "/echo?\(number)", body: [UInt8](repeating: 1, count: number * 50)) }
                }
                var statuses: [Int?] = []
                for await result in group { statuses.append(result.response?.status) }
                return statuses
            }
            #expect(statuses == [Int?](repeating: 201, count: 300))
            #expect(await rig.client.connectionCount <= 2)
            try await rig.stop()
        }
    }

    @Test("gives answers other than 200 with fields and body")
    func otherStatus() async throws {
        let answer = HTTPResponse(status: 429, headers: ["retry-after": "7"], body: Array("slow down".utf8))
        try await withClient(script: { _, _ in .respond(answer) }) { rig, _ in
            let response = try #require(await rig.send().response)
            #expect(response.status == 429 && response.headers["retry-after"] == "7" && response.body == Array("slow down".utf8))
        }
    }

    @Test("takes a body as large as its bound, and refuses a larger one without keeping a part of it")
    func bodyBound() async throws {
        try await withServer(secure: true) { server in
            let rig = try ClientRig(port: server.port, authority: server.authority) { $0.bodyByteCount = 200_000 }
            let whole = try #require(await rig.send("GET", "/large?bytes=200000").response)
            #expect(whole.body.count == 200_000)
            #expect(await rig.send("GET", "/large?bytes=200001") == .unanswered(.responseTooLarge(byteLimit: 200_000)))
            // The connection is as good as before.
            #expect(await rig.send("GET", "/hello").response?.status == 200)
            #expect(rig.events.all.count { if case .connectionOpened = $0 { true } else { false } } == 1)
            try await rig.stop()
        }
    }

    @Test("refuses fields beyond the bound, in the request before it leaves and in the answer")
    func headerBound() async throws {
        let large = String(repeating: "x", count: 3_000)
        let answer = HTTPResponse(status: 200, headers: ["x-large": large])
        try await withClient {
            $0.headerByteCount = 2_000
        } script: { _, _ in
            .respond(answer)
        } _: { rig, _ in
            #expect(await rig.send() == .unanswered(.responseTooLarge(byteLimit: 2_000)))
            let request = HTTPClientRequest(method: "GET", path: "/", fields: [HTTP2Field("x-large", large)])
            #expect(await rig.client.send(request, timeout: .seconds(5)) == .notSent(.headersTooLarge(byteLimit: 2_000)))
        }
    }

    @Test("sends a large body through small windows")
    func smallWindows() async throws {
        let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await withClient(
            settings: [.maxConcurrentStreams(10), .initialWindowSize(100)], { $0.bodyByteCount = 200_000 },
            script: { _, request in .respond(HTTPResponse(status: 200, body: request.body)) }
        ) { rig, _ in
            #expect(await rig.send("POST", body: body).response?.body == body)
        }
    }

    @Test("takes back a request that may not leave, before it is on the wire")
    func withdrawn() async throws {
        let seen = Counter()
        try await withClient(
            script: { _, _ in
                seen.next()
                return .respond(HTTPResponse(status: 200))
            }
        ) { rig, _ in
            #expect(await rig.send(mayLeave: { false }) == .notSent(.withdrawn))
            #expect(await rig.send(mayLeave: { true }).response?.status == 200)
            #expect(seen.count == 1)
        }
    }

    @Test("hands back what it cannot hold")
    func waitingBound() async throws {
        try await withClient {
            $0.waitingCount = 0
        } script: { _, _ in
            .ignore
        } _: { rig, _ in
            #expect(await rig.send() == .notSent(.tooManyWaiting(limit: 0)))
        }
    }

    @Test("closes a connection nobody needs, and opens another one when somebody does")
    func idle() async throws {
        try await withClient {
            $0.idleTimeout = .milliseconds(20)
        } script: { _, _ in
            .respond(HTTPResponse(status: 200))
        } _: { rig, server in
            #expect(await rig.send().response?.status == 200)
            await rig.events.first { if case .connectionClosed = $0 { true } else { false } }
            #expect(await rig.send().response?.status == 200)
            #expect(await server.connectionCount >= 2)
        }
    }

    @Test("uses other roots from the next connection on")
    func replacesTLS() async throws {
        try await withServer(secure: true) { server in
            let rig = try ClientRig(port: server.port, authority: nil)
            async let waiting = rig.send("GET", "/hello", timeout: .seconds(60))
            await rig.events.first { if case .connectionFailed = $0 { true } else { false } }
            let refused = await rig.send("GET", "/hello", timeout: .milliseconds(1))
            guard case .notSent(.certificateRejected) = refused else { throw TestHTTPClient.Failure("\(refused)") }
            await rig.client.replaceTLS(
                try TLSContext.client(extraRootsPEM: server.authority, applicationProtocols: ["h2"]))
            #expect(await waiting.response?.body == Array("hello".utf8))
            try await rig.stop()
        }
    }

    @Test("hands back waiting requests when it is drained, and lets those on the wire end")
    func drain() async throws {
        try await withServer(secure: true, .with { $0.concurrentStreamCount = 1 }) { server in
            let rig = try ClientRig(port: server.port, authority: server.authority) { $0.connectionCount = 1 }
            async let first = rig.send("GET", "/wait")
            await server.handler.started.first { _ in true }
            async let second = rig.send("GET", "/hello")
            while await rig.client.waitingCount == 0 { await Task.yield() }
            async let drained: Void = rig.client.drain(timeout: .seconds(30))
            #expect(await second == .notSent(.draining))
            server.handler.release()
            #expect(await first.response?.status == 200)
            await drained
            #expect(await rig.send() == .notSent(.draining))
            #expect(await rig.client.connectionCount == 0)
            try await rig.stop()
        }
    }
}

extension HTTPClientResult {
    /// The answer, if there is one.
    var response: HTTPClientResponse? { if case .response(let response) = self { response } else { nil } }
}
