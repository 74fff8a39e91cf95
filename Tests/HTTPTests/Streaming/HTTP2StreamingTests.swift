import TestSupport
import Testing

@testable import HTTP

@Suite("Streaming over HTTP/2", .timeLimit(.minutes(1))) struct HTTP2StreamingTests {
    private let clients = HTTP2SlowClientTests()

    private func data(_ text: String, ends: Bool = false) -> Frame { .data(1, text, endsStream: ends) }

    /// A session that streams on stream 1, with the peer that reads it.
    private func session(prefix: Int = 0) throws -> (FramePeer, HTTPBodyStream) {
        let peer = try FramePeer()
        try peer.send(.get(1))
        _ = peer.events()
        let stream = HTTPBodyStream {}
        let body = [UInt8](repeating: 0x61, count: prefix)
        #expect(try peer.session.respond(streamID: 1, response: HTTPResponse(status: 200, body: body, stream: stream)))
        return (peer, stream)
    }

    @Test("sends each piece as it is offered, and the end") func pieces() throws {
        let (peer, stream) = try session()
        #expect(try peer.frames().last?.kind == .headers)
        stream.offer(Array("one".utf8))
        #expect(try peer.frames(.data) == [])
        try peer.session.resume(streamID: 1)
        #expect(try peer.frames(.data) == [data("one")])
        stream.finish(Array("end".utf8))
        try peer.session.resume(streamID: 1)
        #expect(try peer.frames(.data) == [data("end", ends: true)])
        #expect(peer.events() == [.finished(streamID: 1)])
    }

    @Test("ends without a piece") func empty() throws {
        let (peer, stream) = try session()
        _ = try peer.frames()
        stream.finish()
        try peer.session.resume(streamID: 1)
        #expect(try peer.frames(.data) == [data("", ends: true)])
    }

    @Test("takes a piece only when the peer's window has room: the latest one goes out") func window() throws {
        let (peer, stream) = try session(prefix: 65_535)
        #expect(try peer.frames(.data).reduce(0) { $0 + $1.payload.count } == 65_535)
        for text in ["one", "two", "six"] {
            stream.offer(Array(text.utf8))
            try peer.session.resume(streamID: 1)
            #expect(try peer.frames(.data) == [])
        }
        try peer.send(.windowUpdate(0, 1000), .windowUpdate(1, 1000))
        #expect(try peer.frames(.data) == [data("six")])
    }

    @Test("expires when the peer leaves a piece unread, never while there is none") func expires() throws {
        let (peer, stream) = try session(prefix: 65_535)
        _ = try peer.frames()
        #expect(peer.session.oldestUnsentResponse == nil)
        #expect(try peer.session.expireResponses(stalledSince: .now) == 0)
        stream.offer([1])
        try peer.session.resume(streamID: 1)
        _ = try peer.frames()
        let stuck = try #require(peer.session.oldestUnsentResponse)
        #expect(try peer.session.expireResponses(stalledSince: stuck - .seconds(1)) == 0)
        #expect(try peer.session.expireResponses(stalledSince: stuck) == 1)
        #expect(try peer.frames(.resetStream).map(\.errorCode) == [HTTP2ErrorCode.cancel])
    }

    @Test("answers other requests meanwhile, and is released when it is reset") func others() async throws {
        func data(_ socket: TestSocket) async throws -> Frame? {
            try await clients.frames(socket) { $0.kind == .data }.last { $0.kind == .data }
        }
        try await withServer { running in
            let socket = try clients.socket(running, .get(1, "/stream"), .get(3, "/hello"))
            #expect(try await data(socket) == .data(3, "hello"))
            let stream = await running.handler.streams.first { _ in true }
            stream.offer(Array("one".utf8))
            #expect(try await data(socket) == self.data("one"))
            try socket.send(Frame.resetStream(1).bytes)
            await running.handler.released.first { $0 == "/stream" }
            try socket.send(Frame.get(5, "/hello").bytes)
            #expect(try await data(socket) == .data(5, "hello"))
        }
    }

    @Test("loses the stream of a client that gives no window, and no other") func stalled() async throws {
        try await withServer(.with { $0.writeTimeout = .milliseconds(50) }) { running in
            let socket = try clients.socket(running, .get(1, "/stream?bytes=65535"))
            let stream = await running.handler.streams.first { _ in true }
            stream.offer([1])
            let received = try await clients.frames(socket) { $0.kind == .resetStream }
            #expect(received.last?.errorCode == HTTP2ErrorCode.cancel)
            await running.handler.released.first { _ in true }
            try socket.send(Frame.windowUpdate(0, 1000).bytes + Frame.get(3, "/hello").bytes)
            #expect(try await clients.frames(socket) { $0.kind == .data }.last == .data(3, "hello"))
        }
    }

    @Test("counts as an open request: no more of them than a connection may have") func bounded() async throws {
        try await withServer(.with { $0.concurrentStreamCount = 2 }) { running in
            let socket = try clients.socket(running, .get(1, "/stream?1"), .get(3, "/stream?3"))
            await running.handler.started.first { $0 == "/stream?3" }
            try socket.send(Frame.get(5, "/stream?5").bytes)
            let received = try await clients.frames(socket) { $0.kind == .resetStream }
            #expect(received.last?.streamID == 5 && received.last?.errorCode == HTTP2ErrorCode.refusedStream)
            #expect(running.handler.streams.all.count == 2)
        }
    }

    @Test("notices that the client is gone", arguments: [false, true]) func gone(byReset: Bool) async throws {
        try await withServer { running in
            do {
                let socket = try clients.socket(running, .get(1, "/stream"))
                await running.handler.streams.first { _ in true }
                if byReset { socket.resetOnClose() }
            }
            await running.handler.released.first { $0 == "/stream" }
            #expect(await running.end() == .closedByClient)
        }
    }

    @Test("ends whole when the server stops") func drains() async throws {
        try await withServer { running in
            let socket = try clients.socket(running, .get(1, "/stream"))
            _ = try await clients.frames(socket) { $0.kind == .headers }
            async let drained: Void = running.server.drain(timeout: .seconds(30))
            let received = try await clients.frames(socket) { _ in false }
            await drained
            #expect(received.contains { $0.kind == .goAway && $0.errorCode == HTTP2ErrorCode.noError })
            #expect(received.last { $0.kind == .data } == data("", ends: true))
            #expect(running.handler.released.all == ["/stream"])
        }
    }
}
