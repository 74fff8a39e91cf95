import Testing

@testable import HTTP

/// The server's side of an exchange session, frame by frame, so that a test can send what no library would.
private struct ExchangePeer {
    let session: HTTP2ExchangeSession

    init(streams: UInt32 = 10, window: UInt32 = 65_535, _ change: (inout HTTP2ExchangeLimits) -> Void = { _ in }) throws {
        var limits = HTTP2ExchangeLimits()
        change(&limits)
        session = try HTTP2ExchangeSession(limits: limits)
        try send(ClientFrame(type: ClientFrame.settings, payload: [0, 3] + big(streams) + [0, 4] + big(window)))
    }

    func send(_ frame: ClientFrame) throws { try session.receive(frame.bytes.span) }

    /// A head with that status, as a literal without an index.
    func head(_ status: String, _ fields: [UInt8] = [], flags: UInt8 = 4, streamID: Int32 = 1) throws {
        let block = [0x08, UInt8(status.utf8.count)] + Array(status.utf8) + fields
        try send(ClientFrame(type: ClientFrame.headers, flags: flags, streamID: streamID, payload: block))
    }

    func data(_ text: String, flags: UInt8 = 0, streamID: Int32 = 1) throws {
        try send(ClientFrame(type: ClientFrame.data, flags: flags, streamID: streamID, payload: Array(text.utf8)))
    }

    func submit(_ body: String = "") -> Int32? {
        session.submit(HTTPClientRequest(method: "POST", path: "/", body: Array(body.utf8)), authority: "example.org")
    }

    /// What the session wants to send.
    @discardableResult func output() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while try session.takeOutput(into: &bytes, limit: 65_536) {}
        return bytes
    }

    func results() -> [HTTPClientResult] { session.takeEnds().map(\.result) }
}

@Suite("HTTP/2 exchange session") struct ExchangeSessionTests {
    private static let field = [0x00, 1] + Array("a".utf8) + [1] + Array("b".utf8)

    @Test("submits nothing before SETTINGS, and no more than the peer and its own limit allow")
    func limits() throws {
        let silent = try HTTP2ExchangeSession(limits: HTTP2ExchangeLimits())
        #expect(!silent.canSubmit)
        let peer = try ExchangePeer(streams: 2)
        for _ in 0..<2 {
            #expect(peer.session.canSubmit)
            #expect(peer.submit() != nil)
        }
        #expect(!peer.session.canSubmit)
        let own = try ExchangePeer { $0.streamCount = 1 }
        _ = own.submit()
        #expect(!own.session.canSubmit)
    }

    @Test("passes over interim heads and trailers, and keeps the final head's fields")
    func interim() throws {
        let peer = try ExchangePeer()
        _ = peer.submit()
        try peer.output()
        try peer.head("103", [0x00, 1] + Array("x".utf8) + [1] + Array("y".utf8))
        try peer.head("200", Self.field)
        try peer.data("body")
        try peer.send(
            ClientFrame(type: ClientFrame.headers, flags: 5, streamID: 1, payload: [0x00, 1] + Array("t".utf8) + [1, 0x31]))
        #expect(peer.results() == [.response(HTTPClientResponse(status: 200, headers: ["a": "b"], body: Array("body".utf8)))])
    }

    @Test("takes an answer that comes before the whole body is sent")
    func earlyAnswer() throws {
        let peer = try ExchangePeer(window: 10)
        _ = peer.submit(String(repeating: "x", count: 100))
        try peer.output()
        try peer.head("413", flags: 5)
        try peer.output()
        #expect(peer.results() == [.response(HTTPClientResponse(status: 413))])
    }

    @Test("tells a request whose head has left from one whose head has not")
    func mayHaveLeft() throws {
        let peer = try ExchangePeer()
        let stream = try #require(peer.submit())
        #expect(!peer.session.mayHaveLeft(stream))
        try peer.output()
        #expect(peer.session.mayHaveLeft(stream))
    }

    @Test("refuses a body and a head beyond the bounds, and resets the stream")
    func bounds() throws {
        let peer = try ExchangePeer {
            $0.bodyByteCount = 4
            $0.headerByteCount = 100
        }
        _ = (peer.submit(), peer.submit())
        try peer.output()
        try peer.head("200")
        try peer.data("12345")
        try peer.head("200", Self.field + Self.field + Self.field, streamID: 3)
        let output = try peer.output()
        #expect(
            peer.results() == [
                .unanswered(.responseTooLarge(byteLimit: 4)), .unanswered(.responseTooLarge(byteLimit: 100)),
            ])
        let cancel = ClientFrame(type: ClientFrame.reset, streamID: 1, payload: big(HTTP2ErrorCode.cancel)).bytes
        #expect(output.firstRange(of: cancel) != nil)
    }

    @Test("calls an answer that was cut short unanswered, and a stream above a GOAWAY refused")
    func cutShort() throws {
        let peer = try ExchangePeer()
        _ = (peer.submit(), peer.submit())
        try peer.output()
        try peer.head("200")
        try peer.send(ClientFrame(type: ClientFrame.goAway, payload: big(1) + big(0)))
        #expect(peer.results() == [.notSent(.refused)])
        #expect(peer.session.goAway?.lastStreamID == 1 && !peer.session.canSubmit)
        try peer.send(ClientFrame(type: ClientFrame.reset, streamID: 1, payload: big(HTTP2ErrorCode.internalError)))
        #expect(peer.results() == [.unanswered(.reset(errorCode: HTTP2ErrorCode.internalError))])
    }

    @Test("reports no end of a request that was given up")
    func cancelled() throws {
        let peer = try ExchangePeer()
        let stream = try #require(peer.submit())
        try peer.output()
        peer.session.cancel(stream)
        try peer.output()
        #expect(peer.results().isEmpty && peer.session.exchanges.isEmpty)
    }
}
