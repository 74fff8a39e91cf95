import Networking
import Security

/// A request on its way through a client, and who waits for what becomes of it.
final class HTTPClientCall {
    let request: HTTPClientRequest
    let deadline: ContinuousClock.Instant
    private let completion: @Sendable (HTTPClientResult) -> Void
    /// When it went on a stream; nil while it waits.
    var submittedAt: ContinuousClock.Instant?

    init(
        request: HTTPClientRequest, deadline: ContinuousClock.Instant, completion: @escaping @Sendable (HTTPClientResult) -> Void
    ) {
        self.request = request
        self.deadline = deadline
        self.completion = completion
    }

    func complete(_ result: HTTPClientResult) { completion(result) }
}

/// One connection of a client: bytes between the socket and the HTTP/2 session, and which call is on which stream.
///
/// It is not `Sendable` and belongs to the client that made it.
final class HTTPClientConnection {
    enum Phase {
        /// TCP, TLS or the first SETTINGS are outstanding.
        case connecting
        /// Takes requests.
        case open
        /// Takes no more requests; those on it are awaited.
        case draining
        case closed
    }

    /// What is to be done when time has passed.
    enum Due {
        case nothing
        /// The last answer is in, or nobody needs the connection.
        case close
        case giveUp(HTTPClientFailure)
    }

    /// Output is not produced while this many bytes wait for the socket.
    private static let unsentByteLimit = 256 * 1024
    /// Most bytes read, and taken from the session, at once.
    private static let pieceByteCount = 64 * 1024

    let number: Int
    let address: SocketAddress
    let session: HTTP2ExchangeSession
    private let stream: SocketStream
    private let authority: String
    private let configuration: HTTPClientConfiguration
    private(set) var phase = Phase.connecting
    private(set) var calls: [Int32: HTTPClientCall] = [:]
    /// Whether it answered any request; a connection without is of no use, and the next one waits longer.
    private(set) var hasAnswered = false
    private let startedAt: ContinuousClock.Instant
    private var heardAt: ContinuousClock.Instant
    /// When the last request ended, or the connection was opened.
    private var usedAt: ContinuousClock.Instant
    private var pingedAt: ContinuousClock.Instant?
    private var needsFlush = true

    init(
        number: Int, address: SocketAddress, stream: SocketStream, authority: String, configuration: HTTPClientConfiguration,
        now: ContinuousClock.Instant
    ) throws(HTTP2Error) {
        session = try HTTP2ExchangeSession(
            limits: HTTP2ExchangeLimits(
                streamCount: configuration.streamCount, headerByteCount: configuration.headerByteCount,
                bodyByteCount: configuration.bodyByteCount))
        self.number = number
        self.address = address
        self.stream = stream
        self.authority = authority
        self.configuration = configuration
        startedAt = now
        heardAt = now
        usedAt = now
    }

    /// Begins to be driven by the loop.
    func activate(handler: any ReadinessHandler) throws(SystemError) { try stream.activate(handler: handler) }

    /// Goes on with connecting, reading and sending what waits for the socket.
    func process(_ readiness: Readiness, now: ContinuousClock.Instant) throws(HTTPClientFailure) {
        let wasOpen = stream.isOpen
        do throws(StreamError) {
            guard try stream.process(readiness) else { return }
        } catch { throw HTTPClientFailure(error) }
        if !wasOpen {
            guard stream.negotiatedProtocol == "h2" else {
                throw .connectionLost("ALPN agreed on \(stream.negotiatedProtocol ?? "nothing"), not on h2")
            }
        }
        needsFlush = true
        try read(now: now)
    }

    /// Takes what the socket holds, as far as this turn allows.
    private func read(now: ContinuousClock.Instant) throws(HTTPClientFailure) {
        var bytes: [UInt8] = []
        while true {
            bytes.removeAll(keepingCapacity: true)
            let result: ReadResult
            do { result = try stream.read(into: &bytes, limit: Self.pieceByteCount) } catch { throw HTTPClientFailure(error) }
            switch result {
            case .wouldBlock: return
            case .endOfStream: throw .connectionLost("closed by the server")
            case .bytes:
                heardAt = now
                pingedAt = nil
                do { try session.receive(bytes.span) } catch { throw .connectionLost(error.description) }
                if session.hasPeerSettings, phase == .connecting {
                    phase = .open
                    usedAt = now
                }
                if session.goAway != nil { drain() }
            }
        }
    }

    /// Sends what the session has, in few large pieces.
    func flush() throws(HTTPClientFailure) {
        guard needsFlush, stream.isOpen else { return }
        while stream.unsentByteCount < Self.unsentByteLimit {
            var output: [UInt8] = []
            let hasMore: Bool
            do { hasMore = try session.takeOutput(into: &output, limit: Self.pieceByteCount) } catch {
                throw .connectionLost(error.description)
            }
            if !output.isEmpty {
                do { try stream.write(output.span) } catch { throw HTTPClientFailure(error) }
            }
            guard !output.isEmpty, hasMore else {
                needsFlush = false
                break
            }
        }
        guard session.isFinished else { return }
        guard session.goAway != nil, calls.isEmpty else { throw .connectionLost("HTTP/2 was violated") }
        drain()
    }

    /// Whether another request can go out now.
    var canSubmit: Bool { phase == .open && stream.unsentByteCount < Self.unsentByteLimit && session.canSubmit }

    /// Puts a call on a stream; false when none could be opened, and the connection takes no more.
    func submit(_ call: HTTPClientCall, now: ContinuousClock.Instant) -> Bool {
        guard let streamID = session.submit(call.request, authority: authority) else {
            drain()
            return false
        }
        call.submittedAt = now
        calls[streamID] = call
        needsFlush = true
        return true
    }

    /// Hands over the calls whose streams ended.
    func takeEnds(now: ContinuousClock.Instant) -> [(HTTPClientCall, HTTPClientResult)] {
        session.takeEnds().compactMap { end in
            guard let call = calls.removeValue(forKey: end.streamID) else { return nil }
            usedAt = now
            if case .response = end.result { hasAnswered = true }
            return (call, end.result)
        }
    }

    /// Gives up and hands over the calls whose time has passed.
    func takeOverdue(now: ContinuousClock.Instant) -> [(HTTPClientCall, HTTPClientResult)] {
        var overdue: [(HTTPClientCall, HTTPClientResult)] = []
        for (streamID, call) in calls where call.deadline <= now {
            overdue.append((call, session.mayHaveLeft(streamID) ? .unanswered(.timeout) : .notSent(.timeout)))
            session.cancel(streamID)
            calls[streamID] = nil
            usedAt = now
            needsFlush = true
            // Nothing at all since then: the path is likely dead, and new requests had better go elsewhere.
            if let submittedAt = call.submittedAt, heardAt <= submittedAt { drain() }
        }
        return overdue
    }

    /// Nothing new goes on it.
    func drain() { if phase == .connecting || phase == .open { phase = .draining } }

    func tick(now: ContinuousClock.Instant) -> Due {
        switch phase {
        case .closed: return .nothing
        case .connecting:
            let isLate = now - startedAt >= configuration.connectTimeout
            return isLate ? .giveUp(.connectionLost("no SETTINGS in time")) : .nothing
        case .draining where calls.isEmpty: return .close
        case .open where calls.isEmpty: return now - usedAt >= configuration.idleTimeout ? .close : .nothing
        case .open, .draining:
            if let pingedAt {
                let isLate = now - pingedAt >= configuration.pingTimeout
                return isLate ? .giveUp(.connectionLost("PING was not answered")) : .nothing
            }
            guard now - heardAt >= configuration.pingInterval else { return .nothing }
            pingedAt = now
            session.ping()
            needsFlush = true
            return .nothing
        }
    }

    /// Ends the connection and hands over the calls that have no answer.
    func close(_ failure: HTTPClientFailure) -> [(HTTPClientCall, HTTPClientResult)] {
        guard phase != .closed else { return [] }
        if stream.isOpen, calls.isEmpty {
            session.terminate()
            needsFlush = true
            // Only a courtesy: the connection ends either way.
            try? flush()
        }
        phase = .closed
        stream.close()
        defer { calls = [:] }
        return calls.map { streamID, call in
            (call, session.mayHaveLeft(streamID) ? .unanswered(failure) : .notSent(failure))
        }
    }
}

extension HTTPClientFailure {
    /// What a failure of the socket or of TLS means for the connection.
    init(_ error: StreamError) {
        if case .security(.certificateRejected(let reason)) = error {
            self = .certificateRejected(reason)
        } else {
            self = .connectionLost(error.description)
        }
    }
}
