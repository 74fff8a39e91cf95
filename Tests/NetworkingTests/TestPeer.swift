import Glibc
import Security
import Testing

@testable import Networking

/// One end of a connection under test: an actor pinned to a loop that collects what it reads.
actor TestPeer: ReadinessHandler {
    let loop: EventLoop
    private(set) var received: [UInt8] = []
    private(set) var error: StreamError?
    private(set) var hasReachedEnd = false
    private(set) var readyCount = 0
    private var ignoresEvents = false
    private(set) var stream: SocketStream?
    private var waiters: [(condition: @Sendable (isolated TestPeer) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

    init(loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    nonisolated func ready(_ readiness: Readiness) {
        assumeIsolated { $0.handle(readiness) }
    }

    private func handle(_ readiness: Readiness) {
        guard !ignoresEvents else { return }
        readyCount += 1
        do throws(StreamError) {
            try progress(readiness)
        } catch {
            self.error = error
            stream?.close()
        }
        let done = waiters.filter { $0.condition(self) }
        waiters.removeAll { $0.condition(self) }
        for waiter in done { waiter.continuation.resume() }
    }

    private func progress(_ readiness: Readiness) throws(StreamError) {
        guard let stream, try stream.process(readiness), !stream.isReadingPaused else { return }
        while true {
            switch try stream.read(into: &received, limit: 50_000) {
            case .bytes: continue
            case .wouldBlock: return
            case .endOfStream:
                hasReachedEnd = true
                return
            }
        }
    }

    func connect(to address: SocketAddress, tls: TLSContext? = nil, host: String = "localhost", bufferByteCount: Int32? = nil)
        throws
    {
        let session = try tls.map { try TLSSession(client: $0, host: host) }
        try start(try SocketStream.connect(to: address, loop: loop, tls: session), bufferByteCount)
    }

    func accept(from listener: Listener, tls: TLSContext? = nil, bufferByteCount: Int32? = nil) throws {
        guard let connection = try listener.accept() else { throw SystemError(operation: "accept", code: EAGAIN) }
        let session = try tls.map { try TLSSession(server: $0) }
        try start(SocketStream(accepted: connection.takeDescriptor(), loop: loop, tls: session), bufferByteCount)
    }

    private func start(_ stream: SocketStream, _ bufferByteCount: Int32?) throws {
        if let bufferByteCount {
            try Socket.set(SO_SNDBUF, level: SOL_SOCKET, to: bufferByteCount, on: stream.socket)
            try Socket.set(SO_RCVBUF, level: SOL_SOCKET, to: bufferByteCount, on: stream.socket)
        }
        self.stream = stream
        try stream.activate(handler: self)
    }

    func write(_ bytes: [UInt8], flushing: Bool = true) throws {
        try stream?.write(bytes.span, flushing: flushing)
    }

    func flush() throws { try stream?.flush() }
    func shutdownWrite() throws { try stream?.shutdownWrite() }
    func pauseReading() { stream?.pauseReading() }
    func resumeReading() { stream?.resumeReading() }
    func close() { stream?.close() }
    var isOpen: Bool { stream?.isOpen ?? false }
    var unsentByteCount: Int { stream?.unsentByteCount ?? 0 }
    var negotiatedProtocol: String? { stream?.negotiatedProtocol }

    /// Ends the connection by a reset, without a goodbye.
    func reset() throws {
        guard let stream else { return }
        var option = linger(l_onoff: 1, l_linger: 0)
        let result = unsafe setsockopt(stream.socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        try SystemError.check("setsockopt", result)
        stream.writeSide = .ended
        stream.close()
    }

    /// Takes no notice of the peer any more, as a busy owner would.
    func ignoreEvents() { ignoresEvents = true }

    /// Writes so many times and returns what failed.
    func writeBlindly(count: Int) -> [StreamError] {
        guard let stream else { return [] }
        return (0..<count).compactMap { _ in
            do throws(StreamError) {
                try stream.write([1, 2, 3].span)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Waits until a condition holds; it is looked at after each event.
    func wait(until condition: @escaping @Sendable (isolated TestPeer) -> Bool) async {
        guard !condition(self) else { return }
        await withCheckedContinuation { waiters.append((condition, $0)) }
    }
}

/// A listener, a client loop and a server loop, and the two ends of a connection between them.
struct TestConnection {
    let clientLoop: EventLoop
    let serverLoop: EventLoop
    let listener: Listener
    let client: TestPeer
    let server: TestPeer

    /// Connects over loopback; `tls` holds the client's and the server's context.
    init(tls: TestTLS? = nil, host: String = "localhost", bufferByteCount: Int32? = nil) async throws {
        clientLoop = try EventLoop.start(name: "client")
        serverLoop = try EventLoop.start(name: "server")
        listener = try Listener.bind(try #require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        client = TestPeer(loop: clientLoop)
        server = TestPeer(loop: serverLoop)
        try await client.connect(to: listener.address, tls: tls?.client, host: host, bufferByteCount: bufferByteCount)
        try listener.waitForConnection()
        try await server.accept(from: listener, tls: tls?.server, bufferByteCount: bufferByteCount)
    }

    /// Closes both ends and ends the loops.
    func finish() async {
        await client.close()
        await server.close()
        clientLoop.stop()
        serverLoop.stop()
    }
}

/// The contexts of a client and of a server it trusts.
struct TestTLS: Sendable {
    let client: TLSContext
    let server: TLSContext

    init(applicationProtocols: [String] = []) throws {
        let authority = try CertificateAuthority.generate(commonName: "test")
        let certificate = try authority.issue(hosts: ["localhost", "127.0.0.1"])
        client = try TLSContext.client(extraRootsPEM: authority.certificatePEM, applicationProtocols: applicationProtocols)
        server = try TLSContext.server(
            certificateChainPEM: certificate.certificatePEM, privateKeyPEM: certificate.keyPEM,
            applicationProtocols: applicationProtocols)
    }
}

extension Listener {
    /// Waits, at most 10 s, until there is a connection to accept.
    func waitForConnection() throws {
        var descriptor = pollfd(fd: rawDescriptor, events: Int16(POLLIN), revents: 0)
        let count = unsafe poll(&descriptor, 1, 10_000)
        try #require(count == 1, "nobody connected")
    }
}
