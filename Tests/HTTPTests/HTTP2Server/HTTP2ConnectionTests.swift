import Testing

@testable import HTTP

@Suite("HTTP/2 server session") struct HTTP2ConnectionTests {
    @Test("announces one stream first and a thousand later") func settings() throws {
        let peer = try FramePeer(settings: [.maxConcurrentStreams(1)])
        let first = try peer.frames(.settings).filter { $0.flags == 0 }
        #expect(first.map(\.payload) == [[0, 3, 0, 0, 0, 1]])
        // Until the client knows the limit, what exceeds it is refused.
        try peer.send(.get(1), .get(3))
        #expect(peer.events().compactMap(\.request).count == 1)
        let refused = try peer.frames(.resetStream)
        #expect(refused.map(\.streamID) == [3])
        #expect(refused.map(\.errorCode) == [HTTP2ErrorCode.refusedStream])
        try peer.send(Frame(kind: .settings, flags: Frame.acknowledgement))
        #expect(peer.events() == [.settingsAcknowledged])
        try peer.session.submit(settings: [.maxConcurrentStreams(1000)])
        #expect(try peer.frames(.settings).map(\.payload) == [[0, 3, 0, 0, 3, 232]])
        try peer.send(Frame(kind: .settings, flags: Frame.acknowledgement))
        for index in 0..<999 { try peer.send(.get(Int32(5 + index * 2))) }
        #expect(peer.events().compactMap(\.request).count == 999)
        // From then on it is an error of the client.
        try peer.send(.get(2003))
        #expect(try peer.frames(.goAway).map(\.errorCode) == [HTTP2ErrorCode.protocolError])
    }

    @Test("sends no SETTINGS when told so") func withoutSettings() throws {
        let peer = try FramePeer(settings: nil)
        #expect(try peer.frames(.settings).map(\.flags) == [Frame.acknowledgement])
    }

    @Test("goes away twice, with any last stream, code and debug data") func goAway() throws {
        let peer = try FramePeer()
        try peer.send(.get(1), .get(3), .get(5))
        _ = peer.events()
        try peer.session.goAway(lastStreamID: 3, errorCode: HTTP2ErrorCode.noError, debugData: Array("{\"reason\":1}".utf8))
        let first = try peer.frames(.goAway)
        #expect(first.map(\.payload) == [[0, 0, 0, 3, 0, 0, 0, 0] + Array("{\"reason\":1}".utf8)])
        #expect(peer.events() == [.reset(streamID: 5, errorCode: HTTP2ErrorCode.refusedStream)])
        try peer.session.goAway(lastStreamID: 1, errorCode: HTTP2ErrorCode.enhanceYourCalm)
        #expect(try peer.frames(.goAway).map(\.payload) == [[0, 0, 0, 1, 0, 0, 0, 11]])
        #expect(try peer.session.respond(streamID: 1, response: HTTPResponse(status: 200)))
        #expect(try peer.frames(.headers).map(\.streamID) == [1])
    }

    @Test("tells when the peer goes away") func peerGoesAway() throws {
        let peer = try FramePeer()
        try peer.send(Frame(kind: .goAway, payload: [0, 0, 0, 0, 0, 0, 0, 2]))
        #expect(peer.events() == [.goAway(lastStreamID: 0, errorCode: 2)])
    }

    @Test("does not take anything else for HTTP/2") func preface() throws {
        let session = try HTTP2ServerSession(settings: [])
        let text = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        #expect(throws: HTTP2Error.self) { try session.receive(text.span) }
    }

    @Test("ends the connection on a broken frame") func brokenFrame() throws {
        let peer = try FramePeer()
        try peer.send(Frame(kind: .data, flags: 0, streamID: 1, payload: [1]))
        #expect(try peer.frames(.goAway).map(\.errorCode) == [HTTP2ErrorCode.protocolError])
        #expect(peer.session.isFinished)
    }

    @Test("hands out no request that was reset before anybody saw it") func resetAtOnce() throws {
        let peer = try FramePeer()
        try peer.send(.get(1), .resetStream(1), .get(3))
        #expect(peer.events().compactMap(\.request).count == 1)
        #expect(peer.session.openStreamCount == 1)
    }

    @Test("ends a connection that resets too often") func rapidReset() throws {
        var limits = HTTP2ServerLimits()
        limits.streamResets = .limited(burst: 10, perSecond: 1)
        let peer = try FramePeer(limits: limits)
        for index in 0..<20 { try peer.send(.get(Int32(index * 2 + 1)), .resetStream(Int32(index * 2 + 1))) }
        #expect(try peer.frames(.goAway).count == 1)
        #expect(peer.session.isFinished)
    }

    @Test("tolerates any number of resets when told so") func unlimitedResets() throws {
        var limits = HTTP2ServerLimits()
        limits.streamResets = .unlimited
        let peer = try FramePeer(limits: limits)
        for index in 0..<3000 { try peer.send(.get(Int32(index * 2 + 1)), .resetStream(Int32(index * 2 + 1))) }
        #expect(try peer.frames(.goAway) == [])
        #expect(peer.session.openStreamCount == 0)
    }

    @Test(
        "fails when answers to PING or SETTINGS pile up",
        arguments: [Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 8)), Frame(kind: .settings)])
    func floods(frame: Frame) throws {
        var limits = HTTP2ServerLimits()
        limits.waitingAcknowledgementCount = 10
        let peer = try FramePeer(limits: limits)
        #expect(throws: HTTP2Error.self) {
            for _ in 0..<20 { try peer.send(frame) }
        }
    }

    @Test("ends a connection that sends header blocks in endless pieces") func continuationFlood() throws {
        let peer = try FramePeer()
        try peer.send(.headers(1, Frame.request("GET", "/"), endsHeaders: false))
        #expect(throws: HTTP2Error.self) {
            for _ in 0..<20 { try peer.send(Frame(kind: .continuation, streamID: 1, payload: [])) }
        }
    }
}
