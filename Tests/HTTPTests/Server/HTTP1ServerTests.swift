import HTTP
import TestSupport
import Testing

@Suite("HTTP/1.1 server", .timeLimit(.minutes(1))) struct HTTP1ServerTests {
    @Test("answers with length and date, and keeps the connection", arguments: [false, true])
    func answers(secure: Bool) async throws {
        try await withServer(secure: secure) { running in
            let client = running.client()
            let response = try await client.send("GET", "/hello")
            #expect(response.status == 200)
            #expect(response.text == "hello")
            #expect(response.headers["content-length"] == "5")
            #expect(response.headers["x-test"] == "1")
            #expect(response.headers["date"]?.hasSuffix(" GMT") == true)
            #expect(response.headers["connection"] == nil)
            let echo = try await client.send("POST", "/echo?a=b", body: "content")
            #expect(echo.status == 201)
            #expect(echo.text == "content")
            #expect(echo.headers["x-method"] == "POST")
            #expect(echo.headers["x-target"] == "/echo?a=b")
            #expect(echo.headers["x-version"] == "http11")
        }
    }

    @Test("serves many requests on one connection, HEAD and 204 without bodies") func keepAlive() async throws {
        try await withServer { running in
            try await onThread {
                let socket = try running.socket()
                var reader = TestHTTPResponseReader()
                for (method, path, status, text) in [
                    ("HEAD", "/hello", 200, ""), ("GET", "/nothing", 204, ""), ("POST", "/echo", 201, "body"),
                    ("GET", "/hello", 200, "hello"),
                ] {
                    try socket.send(TestHTTPClient.http1Request(method, path, body: method == "POST" ? Array("body".utf8) : []))
                    let response = try reader.next(from: socket, method: method)
                    #expect(response.status == status)
                    #expect(response.text == text)
                    if method == "HEAD" { #expect(response.headers["content-length"] == "5") }
                }
            }
            #expect(running.events.all.count { $0 == .connectionOpened } == 1)
        }
    }

    @Test("answers pipelined requests in order, even when the first is slow") func pipelining() async throws {
        try await withServer { running in
            try await onThread {
                let socket = try running.socket()
                let targets = ["/wait?1", "/hello", "/wait?3", "/echo"]
                try socket.send(targets.flatMap { TestHTTPClient.http1Request("GET", $0) })
                running.handler.release()
                var reader = TestHTTPResponseReader()
                let texts = try targets.map { _ in try reader.next(from: socket).text }
                #expect(texts == ["/wait?1", "hello", "/wait?3", ""])
            }
            #expect(running.handler.started.all == ["/wait?1", "/hello", "/wait?3", "/echo"])
        }
    }

    @Test("begins no pipelined request before the one in front is answered") func oneAtATime() async throws {
        try await withServer { running in
            let socket = try running.socket()
            try socket.send(TestHTTPClient.http1Request("GET", "/wait") + TestHTTPClient.http1Request("GET", "/hello"))
            await running.handler.started.first { $0 == "/wait" }
            // A second connection is served meanwhile, so the first one had its chance.
            #expect(try await running.client().send("GET", "/nothing").status == 204)
            #expect(running.handler.started.all == ["/wait", "/nothing"])
        }
    }

    @Test(
        "closes when asked to",
        arguments: ["GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /hello HTTP/1.0\r\n\r\n"])
    func closes(request: String) async throws {
        try await withServer { running in
            let (received, isClosed) = try await running.client().exchange(raw: Array(request.utf8))
            let text = String(decoding: received, as: UTF8.self)
            #expect(isClosed)
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(text.contains("\r\nconnection: close\r\n"))
            #expect(text.hasSuffix("\r\n\r\nhello"))
        }
    }

    @Test("answers a client that ends its direction first") func halfClosed() async throws {
        try await withServer { running in
            let request = TestHTTPClient.http1Request("GET", "/hello")
            let (received, isClosed) = try await running.client().exchange(raw: request + request, ending: true)
            #expect(isClosed)
            #expect(String(decoding: received, as: UTF8.self).split(separator: "HTTP/1.1 200").count == 2)
        }
    }

    @Test(
        "refuses with the promised status and closes",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: a\n\n", 400), ("\u{16}\u{3}\u{1}", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501), ("GET / HTTP/3.0\r\n\r\n", 505),
            ("POST / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n", 417), ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 501),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4194305\r\n\r\n", 413),
            ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\n\r\n", 414),
            ("GET / HTTP/1.1\r\nA: \(String(repeating: "a", count: 17000))\r\n\r\n", 431),
        ])
    func refuses(message: String, status: Int) async throws {
        try await withServer { running in
            let smuggled = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
            let (received, isClosed) = try await running.client().exchange(raw: Array((message + smuggled).utf8))
            let text = String(decoding: received, as: UTF8.self)
            #expect(isClosed)
            #expect(text.hasPrefix("HTTP/1.1 \(status) "))
            #expect(text.contains("\r\nconnection: close\r\n"))
            #expect(text.split(separator: "HTTP/1.1 ").count == 1)
            #expect(text.contains("\r\ncontent-type: application/json\r\n"))
            let body = text.split(separator: "\r\n").last ?? ""
            #expect(body.hasPrefix(#"{"errors":["\#(HTTPStatus.reason(status)): "#) && body.hasSuffix(#""]}"#), "\(body)")
            #expect(running.handler.started.all == [])
            #expect(running.events.all.contains { if case .refused(status, _) = $0 { true } else { false } })
        }
    }

    @Test("lets a client that is still sending see why it is refused", arguments: [300_000, 12_000_000])
    func refusedUpload(byteCount: Int) async throws {
        try await withServer(.with { $0.bodyByteCount = 1000 }) { running in
            let body = [UInt8](repeating: 0x61, count: byteCount)
            let response = try await running.client().send("POST", "/echo", body: body)
            #expect(response.status == 413)
        }
    }

    @Test("asks for a body that is held back") func expectation() async throws {
        try await withServer { running in
            try await onThread {
                let socket = try running.socket()
                try socket.send("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
                var reader = TestHTTPResponseReader()
                #expect(try reader.readHead(from: socket).status == 100)
                try socket.send("body")
                #expect(try reader.next(from: socket).text == "body")
            }
        }
    }

    @Test("answers fifty clients at once", arguments: [false, true])
    func parallel(secure: Bool) async throws {
        try await withServer(secure: secure) { running in
            try await withThrowingTaskGroup(of: String.self) { group in
                for index in 0..<50 {
                    group.addTask { try await running.client().send("POST", "/echo", body: "\(index)").text }
                }
                var texts: Set<String> = []
                for try await text in group { texts.insert(text) }
                #expect(texts.count == 50)
            }
        }
    }
}
