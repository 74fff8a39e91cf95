import HTTP
import TestSupport
import Testing

@Suite("HTTP/2 server", .timeLimit(.minutes(1)), .enabled(if: TestHTTPClient.isInstalled("curl"))) struct HTTP2ServerTests {
    @Test("answers curl, by prior knowledge and by ALPN", arguments: [false, true])
    func answers(secure: Bool) async throws {
        try await withServer(secure: secure) { running in
            let client = running.client(.http2)
            let response = try await client.send("GET", "/hello")
            #expect(response.status == 200)
            #expect(response.text == "hello")
            #expect(response.headers["content-length"] == "5")
            #expect(response.headers["date"]?.hasSuffix(" GMT") == true)
            let body = [UInt8](repeating: 0x7A, count: 300_000)
            let echo = try await client.send("POST", "/echo?x", headers: ["x-a": "b"], body: body)
            #expect(echo.status == 201)
            #expect(echo.body == body)
            #expect(echo.headers["x-version"] == "http2")
            #expect(echo.headers["x-target"] == "/echo?x")
            #expect(echo.headers["x-authority"] == "127.0.0.1:\(running.port)")
            #expect(try await client.send("HEAD", "/hello").headers["content-length"] == "5")
            #expect(try await client.send("GET", "/nothing").status == 204)
            #expect(try await client.send("GET", "/large?bytes=3000000").body.count == 3_000_000)
        }
    }

    @Test("offers HTTP/1.1 to clients that prefer it") func alpn() async throws {
        try await withServer(secure: true) { running in
            let response = try await running.client(.http1).send("GET", "/hello")
            #expect(response.status == 200)
        }
    }

    @Test("answers 413 while a body streams in, and 431 to too many headers") func limits() async throws {
        try await withServer(.with { ($0.bodyByteCount, $0.headerByteCount) = (100_000, 2000) }) { running in
            let client = running.client(.http2)
            let tooLarge = try await client.send("POST", "/echo", body: [UInt8](repeating: 1, count: 1_000_000))
            #expect(tooLarge.status == 413)
            let tooManyHeaders = try await client.send("GET", "/hello", headers: ["x": String(repeating: "a", count: 3000)])
            #expect(tooManyHeaders.status == 431)
            #expect(running.handler.started.all == [])
        }
    }

    @Test("answers twenty clients at once", arguments: [false, true])
    func parallel(secure: Bool) async throws {
        try await withServer(secure: secure) { running in
            try await withThrowingTaskGroup(of: String.self) { group in
                for index in 0..<20 {
                    group.addTask { try await running.client(.http2).send("POST", "/echo", body: "\(index)").text }
                }
                var texts: Set<String> = []
                for try await text in group { texts.insert(text) }
                #expect(texts.count == 20)
            }
        }
    }

    @Test("holds under h2load", .enabled(if: TestHTTPClient.isInstalled("h2load")), arguments: [false, true])
    func load(secure: Bool) async throws {
        try await withServer(secure: secure) { running in
            let url = "\(secure ? "https" : "http")://127.0.0.1:\(running.port)/hello"
            let result = try await onThread { try TestHTTPClient.run("h2load", ["-n", "2000", "-c", "4", "-m", "100", url]) }
            #expect(result.status == 0)
            #expect(String(decoding: result.output, as: UTF8.self).contains("2000 succeeded, 0 failed, 0 errored, 0 timeout"))
        }
    }

    @Test("is left by a GOAWAY when it drains") func drains() async throws {
        try await withServer { running in
            async let response = running.client(.http2).send("GET", "/wait")
            await running.handler.started.first { $0 == "/wait" }
            async let drained: Void = running.server.drain(timeout: .seconds(30))
            running.handler.release()
            let status = try await response.status
            #expect(status == 200)
            await drained
        }
    }
}
