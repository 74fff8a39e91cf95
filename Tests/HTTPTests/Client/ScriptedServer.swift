import HTTP
import Networking
import Security
import Synchronization
import TestSupport
import Testing

/// What a scripted server does with one request.
enum ScriptedAnswer: Sendable {
    case respond(HTTPResponse)
    /// RST_STREAM with that code.
    case reset(UInt32)
    /// GOAWAY: this request and all before it are known, later ones were not looked at. Then the answer, if there is one.
    case goAway(lastStreamID: Int32?, then: HTTPResponse?)
    /// Closes the socket without a word.
    case hangUp
    /// Never answers.
    case ignore
    /// Reads no more, and writes no more, without closing the socket.
    case freeze
}

/// A server over TLS and HTTP/2 that does to each request what a test says.
final class ScriptedServer: Sendable {
    typealias Script = @Sendable (_ connection: Int, _ request: HTTPRequest) -> ScriptedAnswer

    let loop: EventLoop
    let port: UInt16
    let authority: [UInt8]
    private let listener: Listener
    private let acceptor: ScriptedAcceptor

    /// - Parameter settings: what each connection begins with.
    init(settings: [HTTP2Setting] = [.maxConcurrentStreams(100)], script: @escaping Script) async throws {
        loop = try EventLoop.start(name: "scripted")
        listener = try Listener.bind(#require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        port = listener.address.port
        let authority = try CertificateAuthority.generate(commonName: "scripted")
        let issued = try authority.issue(hosts: ["localhost", "127.0.0.1"])
        self.authority = authority.certificatePEM
        let tls = try TLSContext.server(
            certificateChainPEM: issued.certificatePEM, privateKeyPEM: issued.keyPEM, applicationProtocols: ["h2"])
        acceptor = ScriptedAcceptor(loop: loop, listener: listener, tls: tls, settings: settings, script: script)
        try await acceptor.start()
    }

    /// Connections accepted so far.
    var connectionCount: Int { get async { await acceptor.acceptedCount } }

    func stop() async throws {
        await acceptor.stop()
        listener.close()
        try await onThread { self.loop.stop() }
    }
}

private actor ScriptedAcceptor {
    private let loop: EventLoop
    private let listener: Listener
    private let tls: TLSContext
    private let settings: [HTTP2Setting]
    private let script: ScriptedServer.Script
    private var connections: [Int: ScriptedConnection] = [:]
    private(set) var acceptedCount = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(loop: EventLoop, listener: Listener, tls: TLSContext, settings: [HTTP2Setting], script: @escaping ScriptedServer.Script)
    {
        self.loop = loop
        self.listener = listener
        self.tls = tls
        self.settings = settings
        self.script = script
    }

    func start() throws {
        try loop.watch(
            listener.rawDescriptor, for: .readable,
            handler: ScriptedReadiness { (_) in self.assumeIsolated { $0.accept() } })
    }

    func stop() {
        loop.unwatch(listener.rawDescriptor)
        for connection in connections.values { connection.close() }
        connections = [:]
    }

    private func accept() {
        do {
            guard let accepted = try listener.accept() else { return }
            acceptedCount += 1
            let number = acceptedCount
            let stream = SocketStream(
                accepted: accepted.takeDescriptor(), loop: loop, tls: try TLSSession(server: tls))
            let connection = ScriptedConnection(
                number: number, stream: stream, session: try HTTP2ServerSession(settings: settings), script: script)
            connections[number] = connection
            try stream.activate(
                handler: ScriptedReadiness { (readiness) in
                    self.assumeIsolated { $0.connections[number]?.ready(readiness) }
                })
        } catch { Issue.record("accept: \(error)") }
    }
}

private final class ScriptedReadiness: ReadinessHandler {
    private let action: @Sendable (Readiness) -> Void
    init(_ action: @escaping @Sendable (Readiness) -> Void) { self.action = action }
    func ready(_ readiness: Readiness) { action(readiness) }
}

private final class ScriptedConnection {
    private let number: Int
    private let stream: SocketStream
    private let session: HTTP2ServerSession
    private let script: ScriptedServer.Script
    private var isClosed = false
    private var isFrozen = false

    init(number: Int, stream: SocketStream, session: HTTP2ServerSession, script: @escaping ScriptedServer.Script) {
        self.number = number
        self.stream = stream
        self.session = session
        self.script = script
    }

    func ready(_ readiness: Readiness) {
        do {
            guard !isClosed, !isFrozen, try stream.process(readiness) else { return }
            var bytes: [UInt8] = []
            loop: while !isClosed, !isFrozen {
                bytes.removeAll()
                switch try stream.read(into: &bytes, limit: 65_536) {
                case .wouldBlock: break loop
                case .endOfStream: return close()
                case .bytes:
                    try session.receive(bytes.span)
                    while let event = session.nextEvent() {
                        if case .request(let streamID, let request) = event { try answer(streamID, request) }
                    }
                }
            }
            guard !isClosed, !isFrozen else { return }
            var output: [UInt8] = []
            while try session.takeOutput(into: &output, limit: 1 << 20), output.count < 8 << 20 {}
            if !output.isEmpty { try stream.write(output.span) }
        } catch { close() }
    }

    private func answer(_ streamID: Int32, _ request: HTTPRequest) throws {
        switch script(number, request) {
        case .respond(let response): try session.respond(streamID: streamID, response: response)
        case .reset(let code): try session.reset(streamID: streamID, errorCode: code)
        case .goAway(let lastStreamID, let response):
            try session.goAway(lastStreamID: lastStreamID ?? streamID, errorCode: HTTP2ErrorCode.noError)
            if let response { try session.respond(streamID: streamID, response: response) }
        case .hangUp: close()
        case .ignore: break
        case .freeze:
            isFrozen = true
            stream.pauseReading()
        }
    }

    func close() {
        isClosed = true
        stream.close()
    }
}

/// A client of one server, on a loop of its own, with what it reported.
final class ClientRig: Sendable {
    let loop: EventLoop
    let client: HTTPClient
    let events = Record<HTTPClientEvent>()

    init(
        port: UInt16, authority: [UInt8]?, host: String = "localhost",
        _ change: (inout HTTPClientConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = HTTPClientConfiguration()
        configuration.firstBackOff = .milliseconds(1)
        configuration.longestBackOff = .milliseconds(20)
        configuration.connectionSpacing = .zero
        configuration.tickInterval = .milliseconds(5)
        change(&configuration)
        loop = try EventLoop.start(name: "client")
        let tls = try TLSContext.client(extraRootsPEM: authority, applicationProtocols: ["h2"])
        client = HTTPClient(
            loop: loop, origin: HTTPOrigin(host: host, port: port), tls: tls, configuration: configuration,
            report: { [events] in events.append($0) })
    }

    func send(
        _ method: String = "GET", _ path: String = "/", body: [UInt8] = [], timeout: Duration = .seconds(20),
        mayLeave: (@Sendable () -> Bool)? = nil
    ) async -> HTTPClientResult {
        await client.send(HTTPClientRequest(method: method, path: path, body: body, mayLeave: mayLeave), timeout: timeout)
    }

    /// As `send`, without its repeats.
    func submit(
        _ method: String = "GET", _ path: String = "/", body: [UInt8] = [], timeout: Duration = .seconds(20)
    ) async -> HTTPClientResult {
        await withCheckedContinuation { continuation in
            Task {
                await client.submit(HTTPClientRequest(method: method, path: path, body: body), timeout: timeout) {
                    continuation.resume(returning: $0)
                }
            }
        }
    }

    func stop() async throws {
        await client.drain(timeout: .zero)
        try await onThread { self.loop.stop() }
    }
}

/// Runs a scripted server and a client of it for the length of a test.
func withClient(
    settings: [HTTP2Setting] = [.maxConcurrentStreams(100)], _ change: (inout HTTPClientConfiguration) -> Void = { _ in },
    script: @escaping ScriptedServer.Script, _ body: (ClientRig, ScriptedServer) async throws -> Void
) async throws {
    let server = try await ScriptedServer(settings: settings, script: script)
    let rig = try ClientRig(port: server.port, authority: server.authority, change)
    do { try await body(rig, server) } catch {
        try await rig.stop()
        try await server.stop()
        throw error
    }
    try await rig.stop()
    try await server.stop()
}

/// Counts across threads.
final class Counter: Sendable {
    private let value = Atomic(0)
    /// The number before.
    @discardableResult func next() -> Int { value.add(1, ordering: .sequentiallyConsistent).oldValue }
    var count: Int { value.load(ordering: .sequentiallyConsistent) }
}
