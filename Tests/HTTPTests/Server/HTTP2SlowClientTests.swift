import TestSupport
import Testing

@testable import HTTP

@Suite("Slow and broken HTTP/2 clients", .timeLimit(.minutes(1))) struct HTTP2SlowClientTests {
    /// A socket on which a client has begun HTTP/2 and sent these frames.
    func socket(_ running: RunningServer, _ frames: Frame...) throws -> TestSocket {
        let socket = try running.socket()
        try socket.send(HTTP2ServerSession.clientPreface + Frame(kind: .settings).bytes + frames.flatMap(\.bytes))
        return socket
    }

    /// The frames that come until one matches or the connection ends.
    func frames(_ socket: TestSocket, until matches: @escaping @Sendable (Frame) -> Bool) async throws -> [Frame] {
        try await onThread {
            var reader = FrameReader()
            while let bytes = try socket.receive(), !bytes.isEmpty {
                if reader.read(bytes).contains(where: matches) { break }
            }
            return reader.frames
        }
    }

    @Test("are answered 408 when a body does not come in time") func slowBody() async throws {
        try await withServer(.with { $0.bodyTimeout = .milliseconds(50) }) { running in
            let socket = try socket(running, .post(1), .data(1, "x", endsStream: false))
            let received = try await frames(socket) { $0.kind == .data }
            #expect(received.last?.payload == Array(#"{"errors":["Request Timeout"]}"#.utf8))
            #expect(running.events.all.contains { if case .refused(408, _) = $0 { true } else { false } })
        }
    }

    @Test("lose a stream whose response they give no window for, and no other") func stalledResponse() async throws {
        try await withServer(.with { $0.writeTimeout = .milliseconds(50) }) { running in
            let socket = try socket(running, .get(1, "/large?bytes=100000"))
            let received = try await frames(socket) { $0.kind == .resetStream }
            #expect(received.last?.errorCode == HTTP2ErrorCode.cancel)
            try socket.send(Frame.windowUpdate(0, 1000).bytes + Frame.get(3, "/hello").bytes)
            #expect(try await frames(socket) { $0.kind == .data }.last == .data(3, "hello"))
        }
    }

    @Test("are told to go when idle") func idle() async throws {
        let limits = HTTPServerLimits.with {
            $0.idleTimeout = .milliseconds(50)
            $0.goAwayTimeout = .milliseconds(50)
        }
        try await withServer(limits) { running in
            let socket = try socket(running, .get(1, "/hello"))
            let goAways = try await frames(socket) { _ in false }.filter { $0.kind == .goAway }
            #expect(goAways.map { Frame.number($0.payload[...]) } == [UInt32(Int32.max), 1])
            #expect(goAways.allSatisfy { $0.errorCode == HTTP2ErrorCode.noError })
            #expect(await running.end() == .idle)
        }
    }

    @Test("are answered what they sent before they heard that they must go, and only then told what was the last")
    func crossing() async throws {
        try await withServer(.with { $0.goAwayTimeout = .seconds(30) }) { running in
            let socket = try socket(running, .get(1, "/hello"))
            _ = try await frames(socket) { $0.kind == .data }
            async let drained: Void = running.server.drain(timeout: .seconds(30))
            let told = try await frames(socket) { $0.kind == .ping }
            #expect(told.filter { $0.kind == .goAway }.map { Frame.number($0.payload[...]) } == [UInt32(Int32.max)])
            let ping = try #require(told.last { $0.kind == .ping })
            // The client had not read the GOAWAY yet when it sent this.
            try socket.send(Frame.get(3, "/hello").bytes)
            #expect(try await frames(socket) { $0.kind == .data }.last == .data(3, "hello"))
            var heard = ping
            heard.flags = Frame.acknowledgement
            try socket.send(heard.bytes)
            let last = try await frames(socket) { _ in false }
            #expect(last.filter { $0.kind == .goAway }.map { Frame.number($0.payload[...]) } == [3])
            await drained
        }
    }

    @Test("cannot start more handlers by resetting their streams") func rapidReset() async throws {
        try await withServer(.with { $0.concurrentStreamCount = 3 }) { running in
            let socket = try socket(running, .get(1, "/wait?1"), .get(3, "/wait?3"), .get(5, "/wait?5"))
            await running.handler.started.first { $0 == "/wait?5" }
            try socket.send([1, 3, 5].flatMap { Frame.resetStream($0).bytes } + Frame.get(7, "/wait?7").bytes)
            let received = try await frames(socket) { $0.kind == .resetStream }
            #expect(received.last?.streamID == 7)
            #expect(received.last?.errorCode == HTTP2ErrorCode.refusedStream)
            #expect(running.handler.started.all.count == 3)
            running.handler.release()
        }
    }

    @Test("that leave while handlers work for them keep their place until those are done") func leaving() async throws {
        try await withServer { running in
            do {
                let socket = try socket(running, .get(1, "/wait?1"), .get(3, "/wait?3"))
                await running.handler.started.first { $0 == "/wait?3" }
                socket.resetOnClose()
            }
            #expect(await running.end() == .closedByClient)
            #expect(await running.server.connectionCount == 1)
            running.handler.release()
        }
    }

    @Test("that break the protocol are told so") func broken() async throws {
        try await withServer { running in
            let socket = try socket(running, Frame(kind: .data, streamID: 1, payload: [1]))
            let received = try await frames(socket) { _ in false }
            #expect(received.last { $0.kind == .goAway }?.errorCode == HTTP2ErrorCode.protocolError)
        }
    }

    @Test("that spoil the preface are answered by HTTP/1") func preface() async throws {
        try await withServer { running in
            let (received, isClosed) = try await running.client().exchange(raw: Array("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".utf8))
            #expect(isClosed)
            #expect(String(decoding: received, as: UTF8.self).hasPrefix("HTTP/1.1 505 "))
        }
    }
}
