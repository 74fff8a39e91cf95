import Gateway
import HTTP
import Networking
import Security

/// Why a connection ended.
enum ConnectionFailure: Error, CustomStringConvertible {
    case stream(StreamError)
    case session(HTTP2Error)
    case endOfStream
    case sessionEnded
    case protocolNotAgreed(String?)
    case silent(StaticString)

    var description: String {
        switch self {
        case .stream(let error): error.description
        case .session(let error): error.description
        case .endOfStream: "APNs closed the connection"
        case .sessionEnded: "APNs violated HTTP/2"
        case .protocolNotAgreed(let other): "ALPN agreed on \(other ?? "nothing"), not on h2"
        case .silent(let reason): "\(reason)"
        }
    }
}

/// One connection to APNs: bytes between the socket and the HTTP/2 session, and who waits for which stream.
///
/// It is not `Sendable` and belongs to the pool that made it. What an answer means is the pool's business.
final class APNsConnection {
    /// Output is not produced while this many bytes wait for the socket.
    static let unsentByteLimit = 256 * 1024
    /// Most bytes read at once; what remains is reported by the loop again.
    static let readByteCount = 64 * 1024
    /// Requests refused in a row, without an answer, after which another connection is tried.
    static let refusedInARowLimit = 100

    let number: Int
    let address: SocketAddress
    var life: ConnectionLife
    let session: HTTP2ClientSession
    private let stream: SocketStream
    private var inFlight: PushesInFlight
    private var readBuffer: [UInt8] = []
    private var request = DeviceRequest()
    private(set) var isPaused = false
    /// Whether something was submitted, cancelled or asked since the last flush.
    var needsFlush = true
    var refusedInARow = 0
    var tokens = ProviderTokenUse()
    /// Whether the pool's growth knows that it takes no more pushes.
    var isEndNoted = false
    /// After a refusal without a GOAWAY nothing is submitted before this moment.
    var resumesAt: ContinuousClock.Instant?

    init(
        number: Int, address: SocketAddress, stream: SocketStream, configuration: APNsConfiguration, now: ContinuousClock.Instant
    ) throws(HTTP2Error) {
        var limits = HTTP2ClientLimits()
        limits.streamCount = configuration.streamCount
        limits.requestCount = configuration.requestCount
        session = try HTTP2ClientSession(limits: limits)
        self.number = number
        self.address = address
        self.stream = stream
        life = ConnectionLife(configuration: configuration, now: now)
        inFlight = PushesInFlight(slotCount: configuration.streamCount, now: now)
    }

    /// Pushes on the wire.
    var inFlightCount: Int { inFlight.count }

    /// Begins to be driven by the loop.
    func activate(handler: any ReadinessHandler) throws(SystemError) { try stream.activate(handler: handler) }

    /// Goes on with connecting, reading and sending what waits for the socket. `now` is when the loop woke up.
    func process(_ readiness: Readiness, now: ContinuousClock.Instant) throws(ConnectionFailure) {
        // The last answers may still wait in the socket; they are read before the end is believed.
        if isPaused, readiness.contains(.closed) { resume() }
        let wasOpen = stream.isOpen
        do {
            guard try stream.process(readiness) else { return }
        } catch {
            throw .stream(error)
        }
        if !wasOpen {
            let agreed = stream.negotiatedProtocol
            // APNs answered without ALPN in the past; another protocol than h2 is a mistake in the address.
            guard agreed == nil || agreed == "h2" else { throw .protocolNotAgreed(agreed) }
        }
        if !isPaused { _ = try read(now: now) }
    }

    /// Takes what gathered while the connection is paused; watches it again when nothing did.
    func readPaused(now: ContinuousClock.Instant) throws(ConnectionFailure) {
        stream.allowReading()
        if !(try read(now: now)) { resume() }
    }

    /// Takes what the socket holds, as far as this turn allows. Returns whether there was anything.
    private func read(now: ContinuousClock.Instant) throws(ConnectionFailure) -> Bool {
        var hasRead = false
        // Taken out while it is lent, so that the loan is of a local variable.
        var bytes: [UInt8] = []
        swap(&bytes, &readBuffer)
        defer { swap(&bytes, &readBuffer) }
        while true {
            bytes.removeAll(keepingCapacity: true)
            let result: ReadResult
            do { result = try stream.read(into: &bytes, limit: Self.readByteCount) } catch { throw .stream(error) }
            switch result {
            case .wouldBlock: return hasRead
            case .endOfStream: throw .endOfStream
            case .bytes:
                hasRead = true
                life.heard(at: now)
                do { try session.receive(bytes.span) } catch { throw .session(error) }
                needsFlush = true
                if session.hasPeerSettings { life.settingsArrived() }
                if session.goAway != nil || session.isWornOut { life.drain() }
            }
        }
    }

    /// Sends what the session has, in few large pieces.
    func flush() throws(ConnectionFailure) {
        guard needsFlush, stream.isOpen else { return }
        while stream.unsentByteCount < Self.unsentByteLimit {
            let hadOutput: Bool
            do {
                hadOutput = try session.withOutput { (bytes) throws(StreamError) in
                    try stream.write(bytes)
                }
            } catch {
                switch error {
                case .session(let error): throw .session(error)
                case .writing(let error): throw .stream(error)
                }
            }
            guard hadOutput else {
                needsFlush = false
                return try checkSession()
            }
        }
    }

    /// A session that ended without the peer's GOAWAY has met a violation of the protocol.
    private func checkSession() throws(ConnectionFailure) {
        guard session.isFinished else { return }
        guard session.goAway != nil, inFlightCount == 0 else { throw .sessionEnded }
        life.drain()
    }

    /// How many streams APNs allows.
    var streamLimit: Int { session.streamLimit }

    /// Whether so many streams are free that filling them makes full TLS records.
    var hasManyFreeStreams: Bool { (streamLimit - inFlightCount) * 4 >= streamLimit }

    /// Stops watching until `resume`, so that answers gather and are handled together.
    func pause() {
        guard !isPaused else { return }
        isPaused = true
        stream.pauseReading()
    }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        stream.resumeReading()
    }

    /// How many pushes with a body of that size can go out now.
    func submittableCount(bodyByteCount: Int, now: ContinuousClock.Instant) -> Int {
        guard life.phase == .open, (resumesAt ?? now) <= now, stream.unsentByteCount < Self.unsentByteLimit else { return 0 }
        return session.submittableCount(bodyByteCount: bodyByteCount)
    }

    /// Whether output must be flushed before more is submitted.
    var isOutputFull: Bool { session.isOutputFull }

    /// Puts one push of a lane on the wire; false when no stream could be opened.
    func submit(
        _ index: Int, of lane: BatchLane, template: HTTP2RequestTemplate, tokenGeneration: Int, now: ContinuousClock.Instant
    ) throws(ConnectionFailure) -> Bool {
        let tokenBytes = lane.tokenBytes
        let token = tokenBytes.span.extracting(lane.tokenRange(index))
        let slot: Int?
        do {
            slot = try request.submit(
                on: session, template, token: token, notification: lane.notification, device: lane.devices[index],
                body: Int(lane.bodyIndexes[index]))
        } catch {
            throw .session(error)
        }
        guard let slot else { return false }
        inFlight.put(
            PushInFlight(lane: lane.number, index: Int32(index), tokenGeneration: tokenGeneration, submittedAt: now), in: slot)
        return true
    }

    /// The push of a slot that ended; nil when it was given up before.
    func take(slot: Int) -> PushInFlight? { inFlight.take(slot: slot) }

    /// Cancels the streams that were opened before that moment, and hands each push over.
    func giveUp(submittedBefore moment: ContinuousClock.Instant, _ body: (PushInFlight) -> Void) {
        guard inFlight.count > 0 else { return }
        for slot in inFlight.slots {
            guard let push = inFlight.take(slot: slot, submittedBefore: moment) else { continue }
            session.cancel(slot: slot)
            needsFlush = true
            body(push)
        }
    }

    func ping() {
        session.ping()
        needsFlush = true
    }

    /// Ends the connection and hands over the pushes that have no answer; `mayHaveLeft` tells whether APNs may have seen one.
    func close(_ body: (PushInFlight, _ mayHaveLeft: Bool) -> Void) {
        guard life.phase != .closed else { return }
        if stream.isOpen, inFlightCount == 0 {
            session.terminate()
            needsFlush = true
            // Only a courtesy: the connection ends either way.
            try? flush()
        }
        life.closed()
        stream.close()
        for slot in inFlight.slots {
            guard let push = inFlight.take(slot: slot) else { continue }
            body(push, session.mayHaveLeft(slot: slot))
        }
    }
}
