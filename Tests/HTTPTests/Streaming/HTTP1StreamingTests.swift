import HTTP
import TestSupport
import Testing

@Suite("Streaming over HTTP/1", .timeLimit(.minutes(1))) struct HTTP1StreamingTests {
    /// Reads until the text so far ends as told; the socket's own time limit bounds the wait.
    private func read(_ socket: TestSocket, to end: String) async throws -> String {
        try await onThread {
            var text: [UInt8] = []
            while !text.suffix(end.utf8.count).elementsEqual(end.utf8), let bytes = try socket.receive(), !bytes.isEmpty {
                text += bytes
            }
            return String(decoding: text, as: UTF8.self)
        }
    }

    private func begin(_ running: RunningServer, _ request: String, receiveBuffer: Int32? = nil) async throws
        -> (TestSocket, HTTPBodyStream)
    {
        let socket = try TestSocket(port: running.port, receiveBufferByteCount: receiveBuffer)
        try socket.send(request)
        return (socket, await running.handler.streams.first { _ in true })
    }

    private static let request = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("sends each piece as a chunk when it is offered, and serves the next request behind the end")
    func chunks() async throws {
        try await withServer { running in
            let (socket, stream) = try await begin(running, Self.request)
            let head = try await read(socket, to: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(head.contains("\r\ntransfer-encoding: chunked\r\n"))
            #expect(!head.contains("content-length") && !head.contains("connection:"))
            stream.offer(Array("one".utf8))
            #expect(try await read(socket, to: "one\r\n") == "3\r\none\r\n")
            stream.offer(Array("eleven char".utf8))
            #expect(try await read(socket, to: "char\r\n") == "b\r\neleven char\r\n")
            // Sent ahead, it waits until the stream is over.
            try socket.send(TestHTTPClient.http1Request("GET", "/hello"))
            stream.finish(Array("end".utf8))
            let rest = try await read(socket, to: "hello")
            #expect(rest.hasPrefix("3\r\nend\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"))
            #expect(running.handler.released.all == ["/stream"])
        }
    }

    @Test("sends what is there already in front of the stream") func prefix() async throws {
        try await withServer { running in
            let (socket, stream) = try await begin(running, "GET /stream?bytes=4 HTTP/1.1\r\nHost: a\r\n\r\n")
            stream.finish()
            #expect(try await read(socket, to: "0\r\n\r\n").hasSuffix("\r\n\r\n4\r\naaaa\r\n0\r\n\r\n"))
        }
    }

    @Test("ends the connection where the client knows no chunks") func http10() async throws {
        try await withServer { running in
            let (socket, stream) = try await begin(running, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            stream.finish(Array("end".utf8))
            let (received, isClosed) = try await onThread { socket.receiveToEnd() }
            let text = String(decoding: received, as: UTF8.self)
            #expect(isClosed && text.hasSuffix("\r\n\r\nend"))
            #expect(!text.contains("transfer-encoding"))
            let (head, _) = try await begin(running, "HEAD /stream HTTP/1.0\r\n\r\n")
            let (answer, _) = try await onThread { head.receiveToEnd() }
            #expect(!String(decoding: answer, as: UTF8.self).contains("transfer-encoding"))
        }
    }

    @Test("answers HEAD with the head, and lets go of the stream") func head() async throws {
        try await withServer { running in
            let (socket, _) = try await begin(running, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await read(socket, to: "\r\n\r\n").contains("\r\ntransfer-encoding: chunked\r\n"))
            await running.handler.released.first { $0 == "/stream" }
            try socket.send(TestHTTPClient.http1Request("GET", "/hello"))
            #expect(try await read(socket, to: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test("gives a slow reader the latest piece only") func latest() async throws {
        try await withServer { running in
            let (socket, stream) = try await begin(
                running, "GET /stream?bytes=16000000 HTTP/1.1\r\nHost: a\r\n\r\n", receiveBuffer: 4096)
            for number in 1...1000 { stream.offer(Array("piece \(number).".utf8)) }
            stream.finish()
            let text = try await read(socket, to: "0\r\n\r\n")
            #expect(text.hasSuffix("aa\r\nb\r\npiece 1000.\r\n0\r\n\r\n"))
            #expect(text.utf8.count { $0 == UInt8(ascii: "p") } == text.prefix(1000).utf8.count { $0 == UInt8(ascii: "p") } + 1)
        }
    }

    @Test("cuts a client that does not read at all") func stalled() async throws {
        try await withServer(.with { $0.writeTimeout = .milliseconds(100) }) { running in
            let (socket, stream) = try await begin(
                running, "GET /stream?bytes=16000000 HTTP/1.1\r\nHost: a\r\n\r\n", receiveBuffer: 4096)
            stream.offer([1])
            #expect(await running.end() == .writeTimeout)
            #expect(running.handler.released.all.count == 1)
            _ = socket
        }
    }

    @Test("notices that the client is gone, though nothing is sent", arguments: [false, true])
    func gone(byReset: Bool) async throws {
        try await withServer { running in
            do {
                let (socket, _) = try await begin(running, Self.request)
                _ = try await read(socket, to: "\r\n\r\n")
                if byReset { socket.resetOnClose() }
            }
            await running.handler.released.first { $0 == "/stream" }
            #expect(await running.end() == .closedByClient)
        }
    }

    @Test("is not cut as idle") func lasts() async throws {
        try await withServer(.with { $0.idleTimeout = .milliseconds(30) }) { running in
            var socket = try running.socket()
            try socket.send(Self.request)
            // On a busy machine the time may be up before the request is there: then it is made again.
            while try await read(socket, to: "\r\n\r\n").isEmpty {
                socket = try running.socket()
                try socket.send(Self.request)
            }
            // Another connection is cut as idle meanwhile, so that the time was up for this one too.
            let (_, isClosed) = try await running.client().exchange(raw: [])
            #expect(isClosed)
            running.handler.streams.all.last?.offer(Array("one".utf8))
            #expect(try await read(socket, to: "one\r\n") == "3\r\none\r\n")
        }
    }

    @Test("ends whole when the server stops", arguments: [false, true]) func drains(isHeld: Bool) async throws {
        try await withServer { running in
            let (socket, stream) = try await begin(running, Self.request)
            _ = try await read(socket, to: "\r\n\r\n")
            if isHeld { stream.offer(Array("one".utf8)) }
            await running.server.drain(timeout: .seconds(30))
            let (received, isClosed) = try await onThread { socket.receiveToEnd() }
            #expect(isClosed)
            #expect(String(decoding: received, as: UTF8.self) == (isHeld ? "3\r\none\r\n" : "") + "0\r\n\r\n")
            #expect(running.handler.released.all == ["/stream"])
        }
    }
}
