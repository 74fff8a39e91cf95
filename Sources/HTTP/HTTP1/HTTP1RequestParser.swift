/// Reads HTTP/1 requests from bytes that arrive in pieces of any size.
///
/// A pure value: it has no socket and no clock, and how the bytes were cut does not change what comes out.
struct HTTP1RequestParser {
    enum Event: Equatable {
        /// Everything given so far was read.
        case needsInput
        /// The client waits for "100 Continue" before it sends the body. Comes at most once a request, before `needsInput`.
        case continueExpected
        /// A whole request, and whether the connection may carry another one.
        case request(HTTPRequest, isPersistent: Bool)
        /// The message is refused. Every later call answers the same.
        case refused(HTTP1Violation)
    }

    /// What the parser waits for: each has its own time limit.
    enum Phase: Equatable {
        case idle
        case headers
        case body
    }

    private enum State {
        case requestLine
        case headers
        case body(remaining: Int)
        case chunkSize
        case chunkData(remaining: Int)
        case chunkEnd
        case trailers
        case refused(HTTP1Violation)
    }

    private let limits: HTTPServerLimits
    private var state = State.requestLine
    /// What was received; bytes before `position` are consumed, bytes before `scanned` hold no line feed.
    private var buffer: [UInt8] = []
    private var position = 0
    private var scanned = 0

    private var request = HTTPRequest(method: "", target: "")
    private var headerByteCount = 0
    private var chunkOverheadByteCount = 0
    private var skippedEmptyLine = false
    private var isPersistent = false
    private var owesContinue = false

    init(limits: HTTPServerLimits) { self.limits = limits }

    var phase: Phase {
        switch state {
        case .requestLine: position == buffer.count ? .idle : .headers
        case .headers: .headers
        case .body, .chunkSize, .chunkData, .chunkEnd, .trailers, .refused: .body
        }
    }

    /// Bytes that were received and not read yet; the caller bounds them by not reading from the socket.
    var unreadByteCount: Int { buffer.count - position }

    /// Bytes of an incomplete body, and what was not read yet.
    var heldByteCount: Int { request.body.count + unreadByteCount }

    /// Takes bytes; `next` reads them.
    mutating func receive(_ bytes: ArraySlice<UInt8>) {
        if position > 0 {
            buffer.removeSubrange(..<position)
            scanned -= position
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Reads on. Call it again until it answers `needsInput` or `refused`.
    mutating func next() -> Event {
        do throws(HTTP1Violation) {
            return try advance()
        } catch {
            state = .refused(error)
            buffer = []
            (position, scanned) = (0, 0)
            return .refused(error)
        }
    }

    private mutating func advance() throws(HTTP1Violation) -> Event {
        while true {
            switch state {
            case .requestLine: guard try readRequestLine() else { return .needsInput }
            case .headers: guard try readHeaderLine() else { return .needsInput }
            case .body(let remaining):
                let rest = remaining - moveToBody(atMost: remaining)
                state = .body(remaining: rest)
                if rest == 0 { return finish() }
                return waitForBody()
            case .chunkSize: guard try readChunkSize() else { return waitForBody() }
            case .chunkData(let remaining):
                let rest = remaining - moveToBody(atMost: remaining)
                state = rest == 0 ? .chunkEnd : .chunkData(remaining: rest)
                if rest > 0 { return .needsInput }
            case .chunkEnd:
                guard let line = try takeLine(limit: 0, otherwise: .invalidChunk) else { return .needsInput }
                guard line.isEmpty else { throw .invalidChunk }
                state = .chunkSize
            case .trailers:
                guard let line = try takeLine(limit: limits.chunkOverheadByteCount, otherwise: .chunkOverheadTooLarge) else {
                    return .needsInput
                }
                if line.isEmpty { return finish() }
                try countChunkOverhead(line.count)
                _ = try HTTP1FieldLine.parse(buffer[line])
            case .refused(let violation): throw violation
            }
        }
    }

    // MARK: Head

    private mutating func readRequestLine() throws(HTTP1Violation) -> Bool {
        // Something that is not HTTP, such as a TLS handshake, need not be waited for.
        if position < buffer.count, buffer[position] != UInt8(ascii: "\r"), buffer[position] != UInt8(ascii: "\n"),
            !HTTPCharacters.isToken(buffer[position])
        {
            throw .invalidMethod
        }
        guard let line = try takeLine(limit: limits.requestLineByteCount, otherwise: .requestLineTooLong) else { return false }
        if line.isEmpty {
            // RFC 9112, 2.2: one empty line before a request is forgiven.
            guard !skippedEmptyLine else { throw .malformedRequestLine }
            skippedEmptyLine = true
            return true
        }
        let parsed = try HTTP1RequestLine(parsing: buffer[line])
        request = HTTPRequest(
            method: parsed.method, target: parsed.target, version: parsed.version, authority: parsed.authority)
        state = .headers
        return true
    }

    private mutating func readHeaderLine() throws(HTTP1Violation) -> Bool {
        guard let line = try takeLine(limit: limits.headerByteCount - headerByteCount, otherwise: .headersTooLarge) else {
            return false
        }
        if line.isEmpty {
            try beginBody()
            return true
        }
        headerByteCount += line.count + 2
        guard request.headers.count < limits.headerCount else { throw .tooManyHeaders }
        let (name, value) = try HTTP1FieldLine.parse(buffer[line])
        request.headers.append(checkedName: name, checkedValue: value)
        return true
    }

    private mutating func beginBody() throws(HTTP1Violation) {
        let framing = try HTTP1Framing(request.headers, version: request.version, bodyByteCount: limits.bodyByteCount)
        if request.authority == nil { request.authority = request.headers["host"] }
        isPersistent = framing.isPersistent
        owesContinue = framing.expectsContinue
        switch framing.body {
        case .none: state = .body(remaining: 0)
        case .length(let count): state = .body(remaining: count)
        case .chunked: state = .chunkSize
        }
    }

    // MARK: Body

    private mutating func waitForBody() -> Event {
        guard owesContinue, position == buffer.count else { return .needsInput }
        owesContinue = false
        return .continueExpected
    }

    private mutating func moveToBody(atMost count: Int) -> Int {
        let available = min(count, buffer.count - position)
        guard available > 0 else { return 0 }
        owesContinue = false
        request.body.append(contentsOf: buffer[position..<(position + available)])
        position += available
        scanned = position
        return available
    }

    private mutating func readChunkSize() throws(HTTP1Violation) -> Bool {
        guard let line = try takeLine(limit: limits.chunkLineByteCount, otherwise: .invalidChunk) else { return false }
        let digits = buffer[line].prefix { HTTPCharacters.hexadecimalValue($0) != nil }
        let rest = buffer[line].dropFirst(digits.count)
        guard (1...16).contains(digits.count), rest.isEmpty || rest.first == UInt8(ascii: ";"),
            rest.allSatisfy({ HTTPCharacters.isFieldValue($0) })
        else { throw .invalidChunk }
        try countChunkOverhead(rest.count)
        // Sixteen hexadecimal digits fit in 64 bits.
        let size = digits.reduce(UInt64(0)) { $0 << 4 | UInt64(HTTPCharacters.hexadecimalValue($1) ?? 0) }
        guard size <= UInt64(limits.bodyByteCount - request.body.count) else { throw .bodyTooLarge }
        state = size == 0 ? .trailers : .chunkData(remaining: Int(size))
        return true
    }

    private mutating func countChunkOverhead(_ count: Int) throws(HTTP1Violation) {
        chunkOverheadByteCount += count
        guard chunkOverheadByteCount <= limits.chunkOverheadByteCount else { throw .chunkOverheadTooLarge }
    }

    private mutating func finish() -> Event {
        let event = Event.request(request, isPersistent: isPersistent)
        request = HTTPRequest(method: "", target: "")
        state = .requestLine
        (headerByteCount, chunkOverheadByteCount, skippedEmptyLine, owesContinue) = (0, 0, false, false)
        return event
    }

    // MARK: Lines

    /// Consumes one line that ends in CRLF.
    ///
    /// - Returns: where the line lies in the buffer, without its end; nil when it is not complete.
    private mutating func takeLine(limit: Int, otherwise violation: HTTP1Violation) throws(HTTP1Violation) -> Range<Int>? {
        while scanned < buffer.count, buffer[scanned] != UInt8(ascii: "\n") { scanned += 1 }
        let isComplete = scanned < buffer.count
        let endsInReturn = scanned > position && buffer[scanned - 1] == UInt8(ascii: "\r")
        let count = scanned - position - (endsInReturn ? 1 : 0)
        guard count <= limit else { throw violation }
        guard isComplete else { return nil }
        guard endsInReturn else { throw .bareLineFeed }
        let line = position..<(scanned - 1)
        scanned += 1
        position = scanned
        return line
    }
}
