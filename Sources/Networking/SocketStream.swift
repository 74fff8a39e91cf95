import CLinux
import Glibc
package import Security

/// What a read gave.
package enum ReadResult: Equatable, Sendable {
    /// So many bytes were appended. Read again: more may be there.
    case bytes(Int)
    /// Nothing more for now; `ready` is called when there is.
    case wouldBlock
    /// The peer has sent all it will send. It may still read.
    case endOfStream
}

/// A TCP connection, plain or under TLS, for an actor pinned to `loop`.
///
/// The owner watches by `activate`, calls `process` from its `ready`, and while that says `true` reads until `.wouldBlock`. It is not
/// `Sendable` and its methods trap off the loop's thread. Any error is final: close.
///
/// Deadlines (connect, handshake, idle) and the pace of writing (`unsentByteCount`) are the owner's.
package final class SocketStream {
    /// Most bytes that may wait to be sent. A bound against a defect: owners stop producing long before.
    package static let unsentByteLimit = 64 << 20
    /// Most bytes received from the socket for one call of `process`, so that one busy peer leaves the loop to the others.
    package static let receivedBytesPerTurn = 256 << 10

    enum Phase {
        case connecting
        case handshaking
        case open
        case closed
    }

    enum WriteSide {
        case open
        /// What waits is sent, then the end.
        case ending
        case ended
    }

    package let loop: EventLoop
    let socket: Int32
    let tls: TLSSession?
    private var descriptor: FileDescriptor?
    var phase: Phase
    var writeSide = WriteSide.open
    /// Plain: bytes for the socket. TLS: plaintext written before the handshake was done; ciphertext waits inside the session.
    var unsent = ByteQueue()
    /// What the loop watches the socket for; nil before `activate`.
    private(set) var interest: Readiness?
    var isReadingPaused = false
    var hasReachedEnd = false
    /// Bytes that may still be received before `process` is called again.
    var receivableByteCount = SocketStream.receivedBytesPerTurn

    private init(_ descriptor: consuming FileDescriptor, phase: Phase, loop: EventLoop, tls: TLSSession?) {
        self.loop = loop
        self.tls = tls
        self.phase = phase
        socket = descriptor.rawValue
        self.descriptor = consume descriptor
    }

    /// A connection a listener has accepted. `tls`: a fresh server session, nil for a plain connection.
    package convenience init(accepted descriptor: consuming FileDescriptor, loop: EventLoop, tls: TLSSession?) {
        self.init(descriptor, phase: tls == nil ? .open : .handshaking, loop: loop, tls: tls)
    }

    /// Begins to connect. Throws what the system knows at once (no route, refused on this host); the rest comes from `process`.
    /// - Parameter tls: a fresh client session, nil for a plain connection.
    package static func connect(
        to address: SocketAddress, loop: EventLoop, tls: TLSSession?
    ) throws(SystemError) -> SocketStream {
        let descriptor = try Socket.open(family: address.family)
        try Socket.disableDelay(descriptor.rawValue)
        let number = descriptor.rawValue
        let result = unsafe address.withSystemAddress { unsafe Glibc.connect(number, $0, $1) }
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else { throw .last("connect") }
        return SocketStream(descriptor, phase: .connecting, loop: loop, tls: tls)
    }

    /// Begins to watch the socket for `handler`, which the loop holds until `close`.
    package func activate(handler: any ReadinessHandler) throws(SystemError) {
        precondition(interest == nil && phase != .closed, "a stream is activated once, while it is open")
        let wanted = wantedInterest
        try loop.watch(socket, for: wanted, handler: handler)
        interest = wanted
    }

    /// Whether the connection, and its TLS handshake, are done and it has not been closed.
    package var isOpen: Bool { phase == .open }

    /// What ALPN agreed on, such as "h2"; nil without TLS, without ALPN, or before the handshake is done.
    package var negotiatedProtocol: String? { tls?.negotiatedProtocol }

    /// Bytes written that the system has not taken yet (TLS: after encryption).
    package var unsentByteCount: Int { unsent.count + (tls?.pendingCiphertextByteCount ?? 0) }

    /// Stops reading, so that the peer is slowed down by TCP. A connection that fails meanwhile is still reported, by `process`.
    ///
    /// The loop goes on watching for input until some comes: a short pause, as while a request is answered, costs no system call.
    package func pauseReading() { isReadingPaused = true }

    /// Reads again. Bytes may wait where the loop cannot see them: call `read` until `.wouldBlock`.
    package func resumeReading() {
        isReadingPaused = false
        // Still watched, the socket has had nothing since: the loop will say when it has.
        guard interest?.contains(.readable) != true else { return }
        receivableByteCount = SocketStream.receivedBytesPerTurn
        updateInterest()
    }

    /// Lets a paused stream be read in this turn, without watching it again: for an owner that looks by a timer instead.
    package func allowReading() { receivableByteCount = SocketStream.receivedBytesPerTurn }

    /// Closes the connection at once; a second call does nothing.
    ///
    /// What was not sent is lost, and a peer that sent what was not read sees a reset. For an orderly end call `shutdownWrite`, read
    /// until `.endOfStream` within a deadline, then close.
    package func close() {
        guard phase != .closed else { return }
        sayGoodbye()
        if interest != nil { loop.unwatch(socket) }
        phase = .closed
        unsent.removeAll()
        descriptor = nil
    }

    /// Watches the socket for what can be used: an event nobody acts on would come again at once, for ever.
    func updateInterest() {
        guard let current = interest, phase != .closed else { return }
        let wanted = wantedInterest
        guard wanted != current else { return }
        loop.change(socket, to: wanted)
        interest = wanted
    }

    private var wantedInterest: Readiness {
        switch phase {
        case .connecting: return .writable
        case .handshaking, .open:
            var wanted: Readiness = wantsInput ? .readable : []
            if hasUnsentForSocket { wanted.insert(.writable) }
            return wanted
        case .closed: return []
        }
    }

    var wantsInput: Bool { !isReadingPaused && !hasReachedEnd || phase == .handshaking }

    private var hasUnsentForSocket: Bool {
        if let tls { tls.pendingCiphertextByteCount > 0 } else { !unsent.isEmpty }
    }
}
