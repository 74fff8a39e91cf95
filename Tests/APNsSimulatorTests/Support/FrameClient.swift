import HTTP
import Networking
import Security

/// An HTTP/2 client that shows every frame it got and sends exactly what a test says. It shares no code with the library's sessions.
actor FrameClient: ReadinessHandler {
    struct Frame: Equatable {
        let type: UInt8
        let flags: UInt8
        let streamID: Int32
        let payload: [UInt8]

        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let goAway: UInt8 = 7

        /// The settings of a SETTINGS frame by identifier.
        var settings: [UInt16: UInt32] {
            var settings: [UInt16: UInt32] = [:]
            for start in stride(from: 0, to: payload.count - 5, by: 6) {
                settings[UInt16(payload[start]) << 8 | UInt16(payload[start + 1])] = number(at: start + 2)
            }
            return settings
        }

        func number(at start: Int) -> UInt32 { payload[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    }
    struct Answer: Equatable {
        let status: Int
        let body: String
    }
    struct Closed: Error {}

    private let loop: EventLoop
    private let stream: SocketStream
    private var input: [UInt8] = []
    private var nextStreamID: Int32 = 1
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var frames: [Frame] = []
    private(set) var isClosed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// One thread serves all clients of the test process.
    private static let sharedLoop = Result { try EventLoop.start(name: "frame-client") }

    /// Connects; `roots` is what the client trusts.
    static func connect(to address: SocketAddress, trusting roots: [UInt8]) async throws -> FrameClient {
        let client = try FrameClient(loop: sharedLoop.get(), address: address, roots: roots)
        try await client.begin()
        return client
    }

    private init(loop: EventLoop, address: SocketAddress, roots: [UInt8]) throws {
        self.loop = loop
        let context = try TLSContext.client(extraRootsPEM: roots, applicationProtocols: ["h2"])
        stream = try SocketStream.connect(to: address, loop: loop, tls: try TLSSession(client: context, host: "127.0.0.1"))
    }

    private func begin() throws {
        try stream.activate(handler: self)
        let preface =
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
            + FrameClient.frame(type: Frame.settings, payload: FrameClient.noHeaderTable)
        try stream.write(preface.span)
    }

    nonisolated func ready(_ readiness: Readiness) { assumeIsolated { $0.process(readiness) } }

    private func process(_ readiness: Readiness) {
        do {
            guard try stream.process(readiness) else { return }
            reading: while true {
                switch try stream.read(into: &input, limit: 65_536) {
                case .bytes: try takeFrames()
                case .wouldBlock: break reading
                case .endOfStream:
                    close()
                    break reading
                }
            }
        } catch { close() }
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    private func takeFrames() throws {
        while input.count >= 9 {
            let count = Int(input[0]) << 16 | Int(input[1]) << 8 | Int(input[2])
            guard input.count >= 9 + count else { return }
            let streamID = input[5..<9].reduce(Int32(0)) { $0 << 8 | Int32($1) }
            let frame = Frame(type: input[3], flags: input[4], streamID: streamID, payload: Array(input[9..<9 + count]))
            input.removeFirst(9 + count)
            frames.append(frame)
            if frame.type == Frame.settings, frame.flags & 1 == 0 {
                try stream.write(FrameClient.frame(type: Frame.settings, flags: 1).span)
            }
        }
    }

    /// Ends the connection from this side.
    func close() {
        isClosed = true
        stream.close()
    }

    // MARK: Sending

    /// HEADER_TABLE_SIZE 0: every answer then spells its fields out.
    private static let noHeaderTable: [UInt8] = [0, 1, 0, 0, 0, 0]

    static func frame(type: UInt8, flags: UInt8 = 0, streamID: Int32 = 0, payload: [UInt8] = []) -> [UInt8] {
        let count = payload.count
        let length = [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        let stream = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: streamID >> $0) }
        return length + [type, flags] + stream + payload
    }

    /// Sends requests in one write and answers their streams.
    @discardableResult
    func send(_ pushes: [TestPush]) throws -> [Int32] {
        var bytes: [UInt8] = []
        var streamIDs: [Int32] = []
        for push in pushes {
            bytes += FrameClient.frame(
                type: Frame.headers, flags: push.body.isEmpty ? 5 : 4, streamID: nextStreamID,
                payload: FrameClient.block(push.fields))
            if !push.body.isEmpty {
                bytes += FrameClient.frame(type: Frame.data, flags: 1, streamID: nextStreamID, payload: push.body)
            }
            streamIDs.append(nextStreamID)
            nextStreamID += 2
        }
        try stream.write(bytes.span)
        return streamIDs
    }

    /// Sends RST_STREAM.
    func reset(_ streamID: Int32, code: UInt8) throws {
        try stream.write(FrameClient.frame(type: Frame.reset, streamID: streamID, payload: [0, 0, 0, code]).span)
    }

    /// HPACK literals without indexing, names and values plain.
    private static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in [UInt8(0)] + text(name) + text(value) }
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        if bytes.count < 127 { return [UInt8(bytes.count)] + bytes }
        var length: [UInt8] = [127]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return length + [UInt8(rest)] + bytes
    }

    // MARK: Waiting

    /// The first frame that fits, once it is there; throws when the connection ends without it.
    func first(where fits: (Frame) -> Bool) async throws -> Frame {
        while true {
            if let frame = frames.first(where: fits) { return frame }
            if isClosed { throw Closed() }
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    /// The answer on a stream; throws when it is reset or the connection ends.
    func answer(_ streamID: Int32) async throws -> Answer {
        let last = try await first { $0.streamID == streamID && ($0.type == Frame.reset || $0.type < 2 && $0.flags & 1 == 1) }
        guard last.type != Frame.reset else { throw Closed() }
        let head = try await first { $0.streamID == streamID && $0.type == Frame.headers }
        let body = frames.filter { $0.streamID == streamID && $0.type == Frame.data }.flatMap(\.payload)
        return Answer(status: FrameClient.status(head.payload), body: String(decoding: body, as: UTF8.self))
    }

    /// Sends one request and waits for its answer.
    func answer(to push: TestPush) async throws -> Answer { try await answer(send([push])[0]) }

    /// Waits for the end of the connection.
    func waitUntilClosed() async {
        while !isClosed { await withCheckedContinuation { waiting.append($0) } }
    }

    /// `:status`, which comes first: one of the static table, or a literal of three digits, Huffman-coded or not.
    static func status(_ block: [UInt8]) -> Int {
        let indexed: [UInt8: Int] = [0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500]
        let block = Array(block.drop { $0 & 0xE0 == 0x20 })
        if let status = indexed[block[0]] { return status }
        let bytes = block[2..<2 + Int(block[1] & 0x7F)]
        if block[1] & 0x80 == 0 { return Int(String(decoding: bytes, as: UTF8.self)) ?? 0 }
        var bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }[...]
        var status = 0
        for _ in 0..<3 {
            // 0, 1 and 2 have five bits; 3 to 9 have six, from 011001.
            var code = bits.prefix(5).reduce(0) { $0 << 1 | Int($1) }
            bits = bits.dropFirst(5)
            if code > 2 {
                code = (code << 1 | Int(bits.first ?? 0)) - 0b011001 + 3
                bits = bits.dropFirst()
            }
            status = status * 10 + code
        }
        return status
    }
}
