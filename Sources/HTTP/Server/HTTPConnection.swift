import Networking
import Security

/// One client: a socket, the protocol it speaks, and its deadline. It lives on the loop that accepted it.
///
/// Input is read only while it can be used: not beyond a request that is being answered over HTTP/1, and not while the client
/// leaves its output unread. Every wait has a time limit, checked by one timer a connection.
actor HTTPConnection {
    /// What a connection has from its server.
    struct Services: Sendable {
        let handler: any HTTPHandler
        let limits: HTTPServerLimits
        let report: @Sendable (HTTPServerEvent) -> Void
        let dates: HTTPDateCache
        let memory: RequestMemory
        /// Called once, on the loop, when the connection is closed and no handler works for it.
        let ended: @Sendable (ObjectIdentifier) -> Void
    }

    enum Mode {
        case handshaking
        /// In clear: the bytes so far, which may become the HTTP/2 preface.
        case undecided([UInt8])
        case http1
        case http2(HTTP2ServerSession)
        /// The last answer is going out; input is dropped.
        case lingering
        case closed
    }

    /// How far a HTTP/2 client has been told to go, and why.
    enum Farewell {
        case none
        /// It may not have heard yet: its requests are still taken.
        case announced(at: ContinuousClock.Instant, HTTPConnectionEnd)
        case final(HTTPConnectionEnd)
    }

    /// Bytes read at once.
    private static let readByteCount = 64 * 1024

    nonisolated let loop: EventLoop
    let stream: SocketStream
    let services: Services
    var limits: HTTPServerLimits { services.limits }

    var mode: Mode
    var parser: HTTP1RequestParser
    /// Handlers at work and bodies that are streamed. Over HTTP/1 at most one.
    var runningCount = 0
    /// Bodies that are streamed, by their HTTP/2 stream.
    var bodyStreams: [Int32: HTTPBodyStream] = [:]
    var http1BodyFraming = HTTP1BodyFraming()
    /// Bytes of the request bodies those handlers have.
    private var runningBodyByteCount = 0
    /// What this connection has counted in the memory of its server.
    private var countedByteCount = 0
    var isInputEnded = false
    var isReadingPaused = false
    var isDraining = false
    var farewell = Farewell.none
    var isFlushScheduled = false
    var deadline = ConnectionDeadline()
    /// What `close` reports once the last answer is out.
    var endReason = HTTPConnectionEnd.finished

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(descriptor: consuming FileDescriptor, tls: TLSContext?, loop: EventLoop, services: Services) throws(SecurityError) {
        var session: TLSSession?
        if let tls { session = try TLSSession(server: tls) }
        stream = SocketStream(accepted: descriptor, loop: loop, tls: session)
        mode = tls == nil ? .undecided([]) : .handshaking
        parser = HTTP1RequestParser(limits: services.limits)
        self.loop = loop
        self.services = services
    }

    func activate() {
        do {
            try stream.activate(handler: self)
            updateDeadline()
        } catch { close(.failed(error.description)) }
    }

    /// Goes on after anything that happened; every path ends here.
    func advance(_ body: () throws -> Void) {
        if case .closed = mode { return }
        do {
            try body()
            if case .closed = mode { return }
            if !countMemory() { try refuseForMemory() }
            try finishIfDone()
            updateDeadline()
        } catch let error as StreamError {
            if case .lingering = mode { return close(endReason) }
            close(error.isDisconnection ? .closedByClient : .failed(error.description))
        } catch let error as HTTP2Error {
            close(.failed(error.description))
        } catch { close(.failed("connection failed")) }
    }

    private func handle(_ readiness: Readiness) throws {
        guard try stream.process(readiness) else { return }
        if case .handshaking = mode {
            try stream.negotiatedProtocol == "h2" ? startHTTP2() : startHTTP1()
        }
        try continueOutput()
        try readInput()
    }

    // MARK: Input

    func readInput() throws {
        while !isReadingPaused, !isInputEnded {
            if case .closed = mode { return }
            var input: [UInt8] = []
            switch try stream.read(into: &input, limit: Self.readByteCount) {
            case .bytes: try take(input)
            case .wouldBlock: return
            case .endOfStream: isInputEnded = true
            }
        }
    }

    private func take(_ input: [UInt8]) throws {
        switch mode {
        case .handshaking, .closed: break
        case .undecided(let earlier): try decide(earlier + input)
        case .http1: try receiveHTTP1(input)
        case .http2(let session): try receiveHTTP2(input, session)
        case .lingering:
            deadline.drop(input.count, now: .now)
            if deadline.lingeredByteCount > ConnectionDeadline.lingerByteCount { close(endReason) }
        }
    }

    private func decide(_ bytes: [UInt8]) throws {
        if bytes.starts(with: HTTP2ServerSession.clientPreface) {
            try startHTTP2()
        } else if HTTP2ServerSession.clientPreface.starts(with: bytes) {
            mode = .undecided(bytes)
            return
        } else {
            startHTTP1()
        }
        try take(bytes)
    }

    func pauseReading() {
        guard !isReadingPaused else { return }
        isReadingPaused = true
        stream.pauseReading()
    }

    func resumeReading() throws {
        guard isReadingPaused else { return }
        isReadingPaused = false
        stream.resumeReading()
        try readInput()
    }

    // MARK: Output and end

    func continueOutput() throws {
        switch mode {
        case .http1:
            try sendHTTP1Body()
            try serveHTTP1()
        case .http2(let session): try flushHTTP2(session)
        case .handshaking, .undecided, .lingering, .closed: break
        }
    }

    /// Whether more output may be made now.
    var hasRoomForOutput: Bool { stream.unsentByteCount < limits.unsentByteCount }

    /// Sends what is queued, then the end, and drops what still comes in: closing at once would reset the connection, and the
    /// client might never see its last answer.
    func linger(_ reason: HTTPConnectionEnd) throws {
        endReason = reason
        mode = .lingering
        parser = HTTP1RequestParser(limits: limits)
        try stream.shutdownWrite()
        isReadingPaused = false
        stream.resumeReading()
        try readInput()
    }

    private func finishIfDone() throws {
        switch mode {
        case .handshaking, .closed: break
        case .undecided(let bytes):
            if isInputEnded { close(.closedByClient) } else if isDraining, bytes.isEmpty { try linger(.finished) }
        case .http1: try finishHTTP1IfDone()
        case .http2(let session): try finishHTTP2IfDone(session)
        case .lingering: break
        }
        if case .lingering = mode, isInputEnded, stream.unsentByteCount == 0 { close(endReason) }
    }

    /// Ends the connection at once. A handler at work goes on; its answer is dropped.
    func close(_ reason: HTTPConnectionEnd) {
        if case .closed = mode { return }
        mode = .closed
        parser = HTTP1RequestParser(limits: limits)
        stream.close()
        releaseBodies()
        deadline.cancel(on: loop)
        _ = countMemory()
        services.report(.connectionClosed(reason))
        if runningCount == 0 { services.ended(ObjectIdentifier(self)) }
    }

    func drain() {
        isDraining = true
        finishBodies()
        advance {
            if case .http2(let session) = mode { try announceEnd(session, .finished) }
        }
    }

    // MARK: Memory

    /// Tells the server's memory what this connection holds now; false when all connections together hold too much, and this one
    /// has just taken more.
    ///
    /// - Parameter next: bytes of a request whose handler is about to begin.
    func countMemory(next: Int = 0) -> Bool {
        var held = runningBodyByteCount + next
        switch mode {
        case .http1: held += parser.heldByteCount
        case .http2(let session): held += session.bufferedBodyByteCount
        case .handshaking, .undecided, .lingering, .closed: break
        }
        let change = held - countedByteCount
        guard change != 0 else { return true }
        countedByteCount = held
        return services.memory.add(change) || change < 0
    }

    func refuseForMemory() throws {
        services.report(.refused(status: 503, reason: "request memory exhausted"))
        if case .http2(let session) = mode {
            try session.goAway(errorCode: HTTP2ErrorCode.enhanceYourCalm)
            try flushHTTP2(session)
            close(.failed("request memory exhausted"))
        } else if runningCount == 0 {
            try sendLast(.refusal(503), method: "", reason: .finished)
        }
    }

    // MARK: Requests

    /// Runs the handler for one request in a task of its own, isolated to this connection.
    ///
    /// The task prefers the loop. Otherwise whatever it waits for would resume it on a thread of the global pool first, which only hands it
    /// to the loop: two switches of threads each time.
    func start(_ request: HTTPRequest, completion: @escaping @Sendable (isolated HTTPConnection, HTTPResponse) -> Void) {
        runningCount += 1
        let bodyByteCount = request.body.count
        runningBodyByteCount += bodyByteCount
        let startedAt = ContinuousClock.now
        Task(executorPreference: loop) {
            await self.run(request, bodyByteCount: bodyByteCount, startedAt: startedAt, completion: completion)
        }
    }

    private func run(
        _ request: HTTPRequest, bodyByteCount: Int, startedAt: ContinuousClock.Instant,
        completion: @Sendable (isolated HTTPConnection, HTTPResponse) -> Void
    ) async {
        let response = await services.handler.respond(to: request)
        runningCount -= 1
        runningBodyByteCount -= bodyByteCount
        services.report(.responded(status: response.status, duration: startedAt.duration(to: .now)))
        if case .closed = mode {
            response.stream?.release()
            _ = countMemory()
            if runningCount == 0 { services.ended(ObjectIdentifier(self)) }
        } else {
            completion(self, response)
        }
    }
}

extension HTTPConnection: ReadinessHandler {
    nonisolated func ready(_ readiness: Readiness) {
        assumeIsolated { (connection) in connection.advance { try connection.handle(readiness) } }
    }
}
