import Testing

@testable import HTTP

@Suite("HTTP/2 client session") struct ClientSessionTests {
    @Test("allows one stream before SETTINGS, then what they say, and no more than its own limit")
    func streamLimits() throws {
        var limits = HTTP2ClientLimits()
        limits.streamCount = 50
        let peer = try ClientFramePeer(limits: limits)
        #expect(!peer.session.hasPeerSettings)
        #expect(peer.session.streamLimit == 1)
        try peer.open(streams: 10)
        #expect(peer.session.hasPeerSettings)
        #expect(peer.session.streamLimit == 10)
        for _ in 0..<10 {
            #expect(peer.session.submittableCount(bodyByteCount: 5) > 0)
            #expect(try peer.submit() != nil)
        }
        #expect(peer.session.submittableCount(bodyByteCount: 5) == 0)
        try peer.send(ClientFrame(type: ClientFrame.settings, payload: [0, 3] + big(1_000)))
        #expect(peer.session.streamLimit == 50)
        try peer.send(ClientFrame(type: ClientFrame.settings, payload: [0, 3] + big(0)))
        #expect(peer.session.submittableCount(bodyByteCount: 5) == 0)
    }

    @Test("writes head and body of a request, and reports its end")
    func request() throws {
        var peer = try ClientFramePeer()
        try peer.open()
        let slot = try #require(try peer.submit())
        #expect(!peer.session.mayHaveLeft(slot: slot))
        let frames = try peer.output()
        #expect(peer.session.mayHaveLeft(slot: slot))
        let data = try #require(frames.last)
        #expect(data == ClientFrame(type: ClientFrame.data, flags: 1, streamID: 1, payload: Array("hello".utf8)))
        #expect(frames.contains { $0.type == ClientFrame.headers && $0.streamID == 1 })
        try peer.accept(1)
        let end = try #require(peer.ends().first)
        #expect(end.slot == slot && end.status == 200 && end.errorCode == 0 && end.answer == nil)
        #expect(peer.session.openCount == 0)
    }

    @Test("writes heads that depend on no earlier one, with authorization marked as never to be indexed")
    func heads() throws {
        var peer = try ClientFramePeer()
        try peer.open()
        _ = try (peer.submit(), peer.submit())
        let heads = try peer.output().filter { $0.type == ClientFrame.headers }
        #expect(heads.count == 2 && heads[0].payload == heads[1].payload)
        // Field 23 of the static table is authorization; 0x1_ begins a literal that is never indexed (RFC 7541, 6.2.3).
        let authorization: [UInt8] = [0x1F, 23 - 15]
        let block = try #require(heads.first?.payload)
        #expect(block.indices.dropLast().filter { Array(block[$0...$0 + 1]) == authorization }.count == 1)
        // No field enters a table (0x40 would begin such a literal), and no reference points beyond the static one.
        #expect(block.starts(with: [0x83, 0x87]), "method and scheme are indexes into the static table")
    }

    @Test(
        "writes paths of any length that a token can have, so that a server reads them back",
        arguments: [4, 126, 127, 254, 255, 412])
    func pathLengths(count: Int) throws {
        var peer = try ClientFramePeer()
        try peer.open()
        let path = "/" + String(repeating: "a", count: count - 1)
        _ = try peer.submit(path: path)
        let server = try HTTP2ServerSession(settings: [])
        var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        for frame in try peer.output() { bytes += frame.bytes }
        try server.receive(bytes.span)
        var requests: [HTTPRequest] = []
        while let event = server.nextEvent() { if let request = event.request { requests.append(request) } }
        let request = try #require(requests.first)
        #expect(request.target == path && request.authority == "example.org" && request.body == Array("hello".utf8))
        #expect(
            request.headers == [
                "authorization": "bearer x", "apns-priority": "10", "apns-id": "00000000-0000-8000-8000-000000000000",
            ])
    }

    @Test("announces a smaller header table as soon as the peer asks for it")
    func tableSize() throws {
        var peer = try ClientFramePeer()
        try peer.open()
        _ = try peer.submit()
        try peer.send(ClientFrame(type: ClientFrame.settings, payload: [0, 1] + big(0)))
        _ = try (peer.submit(), peer.submit())
        let heads = try peer.output().filter { $0.type == ClientFrame.headers }
        try #require(heads.count == 3)
        // 0x20 sets the size to 0 (RFC 7541, 6.3).
        #expect(heads[1].payload == [0x20] + heads[0].payload)
        #expect(heads[2].payload == heads[0].payload)
    }

    @Test("keeps body and retry-after of an answer other than 200, up to a bound")
    func errorAnswer() throws {
        var peer = try ClientFramePeer()
        try peer.open()
        let slot = try #require(try peer.submit())
        _ = try peer.output()
        // ":status 503" as a literal, then "retry-after: 3".
        let head: [UInt8] = [0x08, 3] + Array("503".utf8) + [0x00, 11] + Array("retry-after".utf8) + [1] + Array("3".utf8)
        try peer.send(ClientFrame(type: ClientFrame.headers, flags: 4, streamID: 1, payload: head))
        try peer.send(ClientFrame(type: ClientFrame.data, flags: 0, streamID: 1, payload: Array("{\"reason\":".utf8)))
        try peer.send(ClientFrame(type: ClientFrame.data, flags: 1, streamID: 1, payload: [UInt8](repeating: 0x20, count: 5_000)))
        let end = peer.session.closed(0)
        #expect(end.slot == slot && end.status == 503)
        let answer = peer.session.answer(try #require(end.answer))
        #expect(answer.retryAfter == Array("3".utf8))
        #expect(answer.body.starts(with: Array("{\"reason\":".utf8)))
        #expect(answer.body.count == HTTP2ErrorAnswer.bodyByteLimit)
    }

    @Test("refuses streams above a GOAWAY's last one, keeps those below, and takes no new ones")
    func goAway() throws {
        var peer = try ClientFramePeer()
        try peer.open()
        let slots = try (0..<3).compactMap { _ in try peer.submit() }
        _ = try peer.output()
        try peer.send(ClientFrame(type: ClientFrame.goAway, payload: big(1) + big(0) + Array("{}".utf8)))
        #expect(peer.session.goAway == HTTP2GoAway(lastStreamID: 1, errorCode: 0, debugData: Array("{}".utf8)))
        #expect(Set(peer.ends().filter(\.isRefused).map(\.slot)) == Set(slots.dropFirst()))
        #expect(peer.session.submittableCount(bodyByteCount: 1) == 0)
        try peer.send(ClientFrame(type: ClientFrame.goAway, payload: big(1) + big(0)))
        try peer.accept(1)
        let end = try #require(peer.ends().first)
        #expect(end.slot == slots[0] && end.status == 200)
        _ = try peer.output()
        #expect(peer.session.isFinished)
    }

    @Test("tells a refused stream from another reset")
    func resets() throws {
        var peer = try ClientFramePeer()
        try peer.open()
        _ = try (peer.submit(), peer.submit())
        _ = try peer.output()
        try peer.send(ClientFrame(type: ClientFrame.reset, streamID: 1, payload: big(HTTP2ErrorCode.refusedStream)))
        try peer.send(ClientFrame(type: ClientFrame.reset, streamID: 3, payload: big(HTTP2ErrorCode.internalError)))
        let ends = peer.ends()
        #expect(ends.map(\.isRefused) == [true, false])
        #expect(ends.map(\.mayHaveLeft) == [true, true])
    }

    @Test("obeys both windows and opens no stream whose body cannot leave")
    func windows() throws {
        let body = [UInt8](repeating: 7, count: 40_000)
        var peer = try ClientFramePeer(bodies: [body])
        try peer.open(window: 50_000)
        #expect(peer.session.submittableCount(bodyByteCount: body.count) > 0)
        _ = try peer.submit()
        var sent = try peer.output().filter { $0.type == ClientFrame.data }.reduce(0) { $0 + $1.payload.count }
        #expect(sent == 40_000, "65,535 bytes of connection window hold one body")
        #expect(peer.session.submittableCount(bodyByteCount: body.count) == 1, "nothing waits: one more body may begin")
        _ = try peer.submit()
        sent = try peer.output().filter { $0.type == ClientFrame.data }.reduce(0) { $0 + $1.payload.count }
        #expect(sent == 25_535)
        #expect(peer.session.submittableCount(bodyByteCount: 1) == 0)
        try peer.send(ClientFrame(type: ClientFrame.windowUpdate, payload: big(100_000)))
        sent = try peer.output().filter { $0.type == ClientFrame.data }.reduce(0) { $0 + $1.payload.count }
        #expect(sent == 14_465)
    }

    @Test("cancels a stream with RST_STREAM and answers a PING")
    func cancelAndPing() throws {
        var peer = try ClientFramePeer()
        try peer.open()
        let slot = try #require(try peer.submit())
        _ = try peer.output()
        peer.session.cancel(slot: slot)
        peer.session.ping()
        try peer.send(ClientFrame(type: ClientFrame.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]))
        let frames = try peer.output()
        #expect(frames.contains(ClientFrame(type: ClientFrame.reset, streamID: 1, payload: big(HTTP2ErrorCode.cancel))))
        #expect(frames.contains(ClientFrame(type: ClientFrame.ping, flags: 1, payload: [1, 2, 3, 4, 5, 6, 7, 8])))
        #expect(frames.contains(ClientFrame(type: ClientFrame.ping, payload: [UInt8](repeating: 0, count: 8))))
        #expect(peer.ends().map(\.slot) == [slot])
        try peer.send(ClientFrame(type: ClientFrame.ping, flags: 1, payload: [UInt8](repeating: 0, count: 8)))
        #expect(peer.session.pingAnswerCount == 1)
    }

    @Test("wants to be replaced after so many requests")
    func wornOut() throws {
        var limits = HTTP2ClientLimits()
        limits.requestCount = 2
        let peer = try ClientFramePeer(limits: limits)
        try peer.open()
        _ = try peer.submit()
        #expect(!peer.session.isWornOut)
        _ = try peer.submit()
        #expect(peer.session.isWornOut)
        #expect(peer.session.submittableCount(bodyByteCount: 1) == 0)
    }

    @Test("says goodbye to a peer that does not speak HTTP/2")
    func garbage() throws {
        var peer = try ClientFramePeer()
        _ = try peer.output()
        try peer.session.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).span)
        #expect(peer.session.submittableCount(bodyByteCount: 1) == 0)
        #expect(try peer.output().contains { $0.type == ClientFrame.goAway })
        #expect(peer.session.isFinished)
    }
}
