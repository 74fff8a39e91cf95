import Testing

@testable import HTTP

extension HTTP2ServerEvent {
    var request: HTTPRequest? {
        if case .request(_, let request) = self { request } else { nil }
    }
}

@Suite("HTTP/2 server session") struct HTTP2RequestTests {
    @Test("hands out requests with their fields in order and duplicates kept, however the bytes are cut") func whole() throws {
        let fields = Frame.request("POST", "/a?b") + [("x-b", "1"), ("x-a", "2"), ("x-b", "3")]
        let bytes =
            Frame.headers(1, fields, endsStream: false).bytes + Frame.data(1, "he", endsStream: false).bytes
            + Frame.data(1, "llo").bytes
        for cut in bytes.indices {
            let peer = try FramePeer()
            try peer.send(Array(bytes[..<cut]))
            try peer.send(Array(bytes[cut...]))
            let request = try #require(peer.events().first?.request)
            #expect(request.method == "POST")
            #expect(request.target == "/a?b")
            #expect(request.authority == "a")
            #expect(request.scheme == "http")
            #expect(request.headers == ["x-b": "1", "x-a": "2", "x-b": "3"])
            #expect(request.body == Array("hello".utf8))
            #expect(request.version == .http2)
        }
    }

    @Test("drops trailers, and takes the authority from Host") func trailers() throws {
        let peer = try FramePeer()
        let head = [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("host", "h")]
        try peer.send(.headers(1, head, endsStream: false), .data(1, "x", endsStream: false), .headers(1, [("trailer", "y")]))
        let request = try #require(peer.events().first?.request)
        #expect(request.headers == ["host": "h"])
        #expect(request.authority == "h")
    }

    @Test(
        "resets streams with malformed requests and never hands them out",
        arguments: [
            [(":method", "GET"), (":scheme", "http"), (":authority", "a")],
            [(":method", "GET"), (":path", "/"), (":authority", "a")],
            [(":scheme", "http"), (":path", "/"), (":authority", "a")],
            Frame.request("GET", ""), Frame.request("GET", "a"), Frame.request("GET", "*"),
            Frame.request("GET", "/") + [(":path", "/b")],
            Frame.request("GET", "/") + [("x", "1"), (":method", "POST")], Frame.request("GET", "/") + [(":unknown", "1")],
            Frame.request("GET", "/") + [("Upper", "1")], Frame.request("GET", "/") + [("connection", "close")],
            Frame.request("GET", "/") + [("transfer-encoding", "chunked")], Frame.request("GET", "/") + [("te", "gzip")],
            Frame.request("GET", "/") + [("content-length", "1")], Frame.request("GET", "/") + [("content-length", "x")],
            Frame.request("GET", "/") + [("content-length", "0"), ("content-length", "0")],
            Frame.request("CONNECT", "/") + [(":protocol", "websocket")],
        ] as [[(String, String)]])
    func malformed(fields: [(String, String)]) throws {
        let peer = try FramePeer()
        try peer.send(.headers(1, fields))
        #expect(peer.events().compactMap(\.request) == [])
        #expect(try peer.frames(.resetStream).map(\.errorCode) == [HTTP2ErrorCode.protocolError])
    }

    @Test(
        "answers requests it refuses by itself",
        arguments: [
            (Frame.request("GET", "/a#b"), 400),
            (Frame.request("GET", "/") + [("host", "b")], 400),
            ([(":method", "CONNECT"), (":authority", "a:1")], 501), (Frame.request(String(repeating: "M", count: 33), "/"), 501),
            (Frame.request("GET", "/") + [("x", String(repeating: "a", count: 1000))], 431),
            (Frame.request("GET", "/") + Array(repeating: ("x", "y"), count: 20), 431),
        ] as [([(String, String)], Int)])
    func refused(fields: [(String, String)], status: Int) throws {
        var limits = HTTP2ServerLimits()
        (limits.headerByteCount, limits.headerCount) = (1000, 16)
        let peer = try FramePeer(limits: limits)
        try peer.send(.headers(1, fields))
        #expect(peer.events().contains(.rejected(streamID: 1, status: status)))
        #expect(peer.session.openStreamCount == 1)
        let data = try peer.frames(.data)
        #expect(data.map(\.flags) == [Frame.endStream])
        let text = String(decoding: try #require(data.first).payload, as: UTF8.self)
        #expect(text == #"{"errors":["\#(HTTPStatus.reason(status))"]}"#)
        #expect(peer.session.openStreamCount == 0)
    }

    @Test("refuses a body whose length is not what was said") func lengthMismatch() throws {
        let peer = try FramePeer()
        try peer.send(.post(1, [("content-length", "3")]), .data(1, "hello"))
        #expect(peer.events().compactMap(\.request) == [])
        #expect(try peer.frames(.resetStream).map(\.errorCode) == [HTTP2ErrorCode.protocolError])
    }

    @Test("answers 413 while the body streams in, and resets a stream that goes on") func bodyLimit() throws {
        var limits = HTTP2ServerLimits()
        (limits.bodyByteCount, limits.droppedBodyByteCount) = (10, 20)
        let peer = try FramePeer(limits: limits)
        try peer.send(.post(1), .data(1, "0123456789", endsStream: false), .data(1, "x", endsStream: false))
        #expect(peer.events().contains(.rejected(streamID: 1, status: 413)))
        #expect(try peer.frames(.data).map(\.flags) == [Frame.endStream])
        #expect(peer.session.openStreamCount == 0)
        try peer.send(.data(1, "01234567890123456789", endsStream: false))
        #expect(try peer.frames(.resetStream) == [])
        try peer.send(.data(1, "x", endsStream: false))
        #expect(try peer.frames(.resetStream).map(\.errorCode) == [HTTP2ErrorCode.noError])
        #expect(peer.session.bufferedBodyByteCount == 0)
    }

    @Test("refuses the stream that would exceed what all bodies together may hold") func bufferedLimit() throws {
        var limits = HTTP2ServerLimits()
        limits.bufferedBodyByteCount = 10
        let peer = try FramePeer(limits: limits)
        try peer.send(.post(1), .data(1, "012345", endsStream: false), .post(3), .data(3, "012345", endsStream: false))
        #expect(try peer.frames(.resetStream).map(\.streamID) == [3])
        try peer.send(.data(1, "6789"))
        #expect(peer.events().compactMap(\.request).map(\.body.count) == [10])
        #expect(peer.session.bufferedBodyByteCount == 0)
    }

    @Test("asks for a body that is held back") func expectation() throws {
        let peer = try FramePeer()
        try peer.send(.post(1, [("expect", "100-continue")]))
        let heads = try peer.frames(.headers)
        #expect(heads.map(\.flags) == [Frame.endHeaders])
        try peer.send(.data(1, "x"))
        #expect(peer.events().compactMap(\.request).count == 1)
    }

    @Test("expires requests that do not get complete") func slowRequests() throws {
        let peer = try FramePeer()
        try peer.send(.post(1), .get(3))
        let oldest = try #require(peer.session.oldestIncompleteRequest)
        #expect(try peer.session.expireRequests(startedBy: oldest - .seconds(1)) == 0)
        #expect(try peer.session.expireRequests(startedBy: oldest) == 1)
        #expect(peer.events().contains(.rejected(streamID: 1, status: 408)))
        #expect(peer.session.oldestIncompleteRequest == nil)
    }

    @Test("expires a header block that is never finished") func slowHeaders() throws {
        let peer = try FramePeer()
        try peer.send(.headers(1, Frame.request("GET", "/"), endsHeaders: false))
        #expect(try peer.session.expireRequests(startedBy: .now) == 1)
        let frames = try peer.frames()
        #expect(frames.contains { $0.kind == .goAway && $0.errorCode == HTTP2ErrorCode.enhanceYourCalm })
        #expect(peer.session.openStreamCount == 0)
    }
}
