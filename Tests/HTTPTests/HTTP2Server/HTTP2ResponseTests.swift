import Testing

@testable import HTTP

@Suite("HTTP/2 server session") struct HTTP2ResponseTests {
    /// The first byte of a response block whose status is in HPACK's static table.
    static let statusOK: UInt8 = 0x88
    static let statusNoContent: UInt8 = 0x89

    @Test("answers in any order, late, or not at all") func order() throws {
        let peer = try FramePeer()
        try peer.send(.get(1), .get(3), .get(5))
        #expect(peer.events().compactMap(\.request).count == 3)
        try peer.session.respond(streamID: 5, response: HTTPResponse(status: 200, body: Array("five".utf8)))
        try peer.session.respond(streamID: 1, response: HTTPResponse(status: 204))
        let frames = try peer.frames()
        #expect(frames.filter { $0.kind == .headers }.map(\.streamID) == [5, 1])
        #expect(frames.first { $0.kind == .headers && $0.streamID == 5 }?.payload.first == Self.statusOK)
        #expect(frames.first { $0.kind == .headers && $0.streamID == 1 }?.payload.first == Self.statusNoContent)
        #expect(frames.filter { $0.kind == .data } == [.data(5, "five")])
        #expect(Set(peer.events().compactMap { if case .finished(let id) = $0 { Int(id) } else { nil } }) == [1, 5])
        #expect(peer.session.openStreamCount == 1)
    }

    @Test("answers each stream once, and none that is gone") func once() throws {
        let peer = try FramePeer()
        try peer.send(.get(1), .get(3))
        _ = peer.events()
        #expect(try peer.session.respond(streamID: 1, response: HTTPResponse(status: 200)))
        #expect(try !peer.session.respond(streamID: 1, response: HTTPResponse(status: 200)))
        try peer.send(.resetStream(3))
        #expect(peer.events() == [.reset(streamID: 3, errorCode: HTTP2ErrorCode.cancel)])
        #expect(try !peer.session.respond(streamID: 3, response: HTTPResponse(status: 200)))
        #expect(try !peer.session.respond(streamID: 99, response: HTTPResponse(status: 200)))
    }

    @Test("sends no body to HEAD") func head() throws {
        let peer = try FramePeer()
        try peer.send(.headers(1, Frame.request("HEAD", "/")))
        _ = peer.events()
        try peer.session.respond(streamID: 1, response: HTTPResponse(status: 200, headers: ["content-length": "1"], body: [1]))
        let frames = try peer.frames()
        #expect(frames.first { $0.kind == .headers }?.flags == Frame.endStream | Frame.endHeaders)
        #expect(!frames.contains { $0.kind == .data })
    }

    @Test("sends no more than the peer's window, and expires a response that is stuck") func flowControl() throws {
        let peer = try FramePeer()
        try peer.send(.get(1))
        _ = peer.events()
        try peer.session.respond(streamID: 1, response: HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 100_000)))
        #expect(try peer.frames(.data).reduce(0) { $0 + $1.payload.count } == 65_535)
        try peer.send(.windowUpdate(0, 1000), .windowUpdate(1, 1000))
        #expect(try peer.frames(.data).reduce(0) { $0 + $1.payload.count } == 1000)
        let stuck = try #require(peer.session.oldestUnsentResponse)
        #expect(try peer.session.expireResponses(stalledSince: stuck - .seconds(1)) == 0)
        #expect(try peer.session.expireResponses(stalledSince: stuck) == 1)
        #expect(try peer.frames(.resetStream).map(\.errorCode) == [HTTP2ErrorCode.cancel])
        #expect(peer.events() == [.reset(streamID: 1, errorCode: HTTP2ErrorCode.cancel)])
        #expect(peer.session.oldestUnsentResponse == nil)
    }

    @Test("takes output in pieces") func pieces() throws {
        let peer = try FramePeer()
        try peer.send(.get(1))
        _ = peer.events()
        try peer.session.respond(streamID: 1, response: HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 60_000)))
        var output: [UInt8] = []
        #expect(try peer.session.takeOutput(into: &output, limit: 1))
        #expect(output.count < 20_000)
        while try peer.session.takeOutput(into: &output, limit: 1) {}
        #expect(output.count > 60_000)
        #expect(!peer.session.wantsToWrite)
    }

    @Test("resets with any code") func reset() throws {
        let peer = try FramePeer()
        try peer.send(.get(1), .get(3))
        _ = peer.events()
        try peer.session.reset(streamID: 1, errorCode: HTTP2ErrorCode.refusedStream)
        try peer.session.reset(streamID: 3, errorCode: 0xFF)
        try peer.session.reset(streamID: 5, errorCode: 1)
        #expect(try peer.frames(.resetStream).map(\.errorCode) == [HTTP2ErrorCode.refusedStream, 0xFF])
    }
}
