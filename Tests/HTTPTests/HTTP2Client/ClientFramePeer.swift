@testable import HTTP

/// One frame, as the peer of a client session sees it.
struct ClientFrame: Equatable {
    var type: UInt8
    var flags: UInt8 = 0
    var streamID: Int32 = 0
    var payload: [UInt8] = []

    static let data: UInt8 = 0, headers: UInt8 = 1, reset: UInt8 = 3, settings: UInt8 = 4, ping: UInt8 = 6, goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8

    var bytes: [UInt8] {
        let count = UInt32(payload.count)
        return [UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags] + big(UInt32(streamID)) + payload
    }
}

func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }

/// The server's side of a connection, frame by frame, so that a test can send what no library would.
struct ClientFramePeer {
    let session: HTTP2ClientSession
    let template: HTTP2RequestTemplate
    private var isPrefaceGone = false

    init(limits: HTTP2ClientLimits = HTTP2ClientLimits(), bodies: [[UInt8]] = [Array("hello".utf8)]) throws {
        session = try HTTP2ClientSession(limits: limits)
        template = HTTP2RequestTemplate(
            method: "POST", authority: "example.org", identifierName: "apns-id",
            fields: [HTTP2Field("authorization", "bearer x"), HTTP2Field("apns-priority", "10")], bodies: bodies)
    }

    /// Sends the first SETTINGS.
    func open(streams: UInt32 = 100, window: UInt32 = 65_535) throws {
        try send(ClientFrame(type: ClientFrame.settings, payload: [0, 3] + big(streams) + [0, 4] + big(window)))
    }

    func send(_ frame: ClientFrame) throws { try session.receive(frame.bytes.span) }

    /// Answers with status 200, which is one indexed field, and the end of the stream.
    func accept(_ streamID: Int32) throws {
        try send(ClientFrame(type: ClientFrame.headers, flags: 5, streamID: streamID, payload: [0x88]))
    }

    func submit(path text: String = "/3/device/ab", body: Int = 0) throws -> Int? {
        let path = Array(text.utf8)
        let identifier = Array("00000000-0000-8000-8000-000000000000".utf8)
        return try session.submit(template, path: path.span, identifier: identifier.span, body: body)
    }

    /// Everything the session wants to send, as frames.
    mutating func output() throws -> [ClientFrame] {
        var bytes: [UInt8] = []
        while try session.withOutput({ span in for index in span.indices { bytes.append(span[index]) } }) {}
        if !isPrefaceGone {
            isPrefaceGone = true
            bytes.removeFirst(24)
        }
        var frames: [ClientFrame] = []
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let streamID = head[5...].reduce(Int32(0)) { $0 << 8 | Int32($1) }
            frames.append(
                ClientFrame(type: head[3], flags: head[4], streamID: streamID, payload: Array(rest.dropFirst(9).prefix(count))))
            rest = rest.dropFirst(9 + count)
        }
        return frames
    }

    /// The ends since the last call.
    func ends() -> [HTTP2ClosedStream] {
        defer { session.clearEvents() }
        return (0..<session.closedCount).map { session.closed($0) }
    }
}
