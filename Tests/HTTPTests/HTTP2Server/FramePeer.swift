@testable import HTTP

/// One frame, as RFC 9113, 4.1 lays it out.
struct Frame: Equatable {
    enum Kind: UInt8 {
        case data = 0, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    static let endStream: UInt8 = 0x1
    static let acknowledgement: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4

    var kind: Kind
    var flags: UInt8 = 0
    var streamID: Int32 = 0
    var payload: [UInt8] = []

    var bytes: [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), kind.rawValue, flags]
            + Self.bigEndian(UInt32(streamID)) + payload
    }

    static func bigEndian(_ value: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(value >> UInt32($0) & 0xFF) }
    }

    static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    /// The last four bytes of GOAWAY's fixed part, or the payload of RST_STREAM.
    var errorCode: UInt32 { Self.number(payload[(kind == .goAway ? 4 : 0)...]) }

    // MARK: What a client sends

    static func headers(
        _ streamID: Int32, _ fields: [(String, String)], endsStream: Bool = true, endsHeaders: Bool = true
    ) -> Frame {
        // HPACK: literal fields that are neither indexed nor compressed (RFC 7541, 6.2.2).
        var block: [UInt8] = []
        for (name, value) in fields {
            block += [0] + integer(name.utf8.count) + Array(name.utf8) + integer(value.utf8.count) + Array(value.utf8)
        }
        let flags = (endsStream ? endStream : 0) | (endsHeaders ? endHeaders : 0)
        return Frame(kind: .headers, flags: flags, streamID: streamID, payload: block)
    }

    static func get(_ streamID: Int32, _ path: String = "/", _ more: [(String, String)] = [], endsStream: Bool = true) -> Frame {
        headers(streamID, request("GET", path) + more, endsStream: endsStream)
    }

    static func post(_ streamID: Int32, _ more: [(String, String)] = []) -> Frame {
        headers(streamID, request("POST", "/") + more, endsStream: false)
    }

    static func request(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "http"), (":path", path), (":authority", "a")]
    }

    static func data(_ streamID: Int32, _ text: String, endsStream: Bool = true) -> Frame {
        Frame(kind: .data, flags: endsStream ? endStream : 0, streamID: streamID, payload: Array(text.utf8))
    }

    static func resetStream(_ streamID: Int32) -> Frame {
        Frame(kind: .resetStream, streamID: streamID, payload: bigEndian(HTTP2ErrorCode.cancel))
    }

    static func windowUpdate(_ streamID: Int32, _ increment: UInt32) -> Frame {
        Frame(kind: .windowUpdate, streamID: streamID, payload: bigEndian(increment))
    }

    /// An integer with a prefix of seven bits (RFC 7541, 5.1).
    private static func integer(_ value: Int) -> [UInt8] {
        if value < 127 { return [UInt8(value)] }
        var (bytes, rest) = ([UInt8(127)], value - 127)
        while rest >= 128 {
            bytes.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }
}

/// Makes frames of bytes that arrive in pieces.
struct FrameReader {
    private var unread: [UInt8] = []
    /// All frames so far.
    private(set) var frames: [Frame] = []

    /// - Returns: the frames these bytes complete.
    mutating func read(_ bytes: [UInt8]) -> [Frame] {
        unread += bytes
        var new: [Frame] = []
        while unread.count >= 9 {
            let count = Int(unread[0]) << 16 | Int(unread[1]) << 8 | Int(unread[2])
            guard unread.count >= 9 + count, let kind = Frame.Kind(rawValue: unread[3]) else { break }
            let streamID = Int32(Frame.number(unread[5...]))
            new.append(Frame(kind: kind, flags: unread[4], streamID: streamID, payload: Array(unread[9..<(9 + count)])))
            unread.removeFirst(9 + count)
        }
        frames += new
        return new
    }
}

/// A client that speaks in frames to a session: what it sends is what the test writes down.
final class FramePeer {
    let session: HTTP2ServerSession
    private var reader = FrameReader()

    init(settings: [HTTP2Setting]? = [], limits: HTTP2ServerLimits = HTTP2ServerLimits()) throws {
        session = try HTTP2ServerSession(settings: settings, limits: limits)
        try send(HTTP2ServerSession.clientPreface)
        try send(Frame(kind: .settings))
    }

    func send(_ frames: Frame...) throws { try send(frames.flatMap(\.bytes)) }

    func send(_ bytes: [UInt8]) throws { try session.receive(bytes.span) }

    /// Everything that happened since the last call.
    func events() -> [HTTP2ServerEvent] {
        var events: [HTTP2ServerEvent] = []
        while let event = session.nextEvent() { events.append(event) }
        return events
    }

    /// The frames the session sends now.
    func frames() throws -> [Frame] {
        var output: [UInt8] = []
        while try session.takeOutput(into: &output, limit: 16_384) {}
        return reader.read(output)
    }

    /// The frames of one kind among those the session sends now.
    func frames(_ kind: Frame.Kind) throws -> [Frame] { try frames().filter { $0.kind == kind } }
}
