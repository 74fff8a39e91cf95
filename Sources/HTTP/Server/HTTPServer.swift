package import Networking
package import Security
import Synchronization

/// Serves HTTP/1.1 and HTTP/2 on one event loop.
///
/// One server a loop: several servers share their listeners, and a connection stays on the loop it was given to. With TLS the version
/// is what ALPN agreed on; in clear a client that begins with the HTTP/2 preface gets HTTP/2.
package actor HTTPServer {
    /// Connections accepted for one event of a listener, so that a flood of them leaves the loop to the others.
    private static let acceptsPerTurn = 64
    /// How long accepting rests when the system lacks descriptors or memory.
    private static let acceptRest: Duration = .milliseconds(100)

    private enum State {
        case new
        case serving
        case draining
    }

    package nonisolated let loop: EventLoop
    private let listeners: [Listener]
    private var tls: TLSContext?
    private let handler: any HTTPHandler
    private let limits: HTTPServerLimits
    private let report: @Sendable (HTTPServerEvent) -> Void
    private let dates = HTTPDateCache()
    private let memory: RequestMemory
    private let group: HTTPServerGroup

    private var state = State.new
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var isAcceptingPaused = false
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - tls: a server context that offers "h2" and "http/1.1"; nil serves in clear.
    ///   - group: of all servers with these listeners.
    ///   - report: called on the loop for each event; must not block.
    package init(
        loop: EventLoop, listeners: [Listener], tls: TLSContext?, handler: any HTTPHandler,
        limits: HTTPServerLimits = HTTPServerLimits(), group: HTTPServerGroup = HTTPServerGroup(),
        report: @escaping @Sendable (HTTPServerEvent) -> Void = { _ in }
    ) {
        self.loop = loop
        self.listeners = listeners
        self.tls = tls
        self.handler = handler
        self.limits = limits
        memory = RequestMemory(byteCount: limits.requestMemoryByteCount)
        self.group = group
        self.report = report
    }

    /// Begins to accept. Throws when the loop cannot watch a listener.
    package func start() throws(SystemError) {
        precondition(state == .new, "a server is started once")
        state = .serving
        group.add(self)
        for listener in listeners {
            let acceptor = Acceptor(listener: listener, server: self)
            try loop.watch(listener.rawDescriptor, for: .readable, shared: true, handler: acceptor)
        }
    }

    /// Uses another certificate for the connections to come.
    package func replace(tls: TLSContext) { self.tls = tls }

    /// Connections that are open, or closed while a handler still works for them.
    package var connectionCount: Int { connections.count }

    /// Stops accepting, tells clients to go (`Connection: close`, GOAWAY), and waits for the requests in flight; what is not done
    /// after `timeout` is cut. The listeners stay open until their owner closes them. A second call waits as well.
    package func drain(timeout: Duration) async {
        beginDraining()
        guard !connections.isEmpty else { return }
        loop.schedule(after: timeout) { [weak self] in self?.assumeIsolated { $0.cut() } }
        await withCheckedContinuation { continuation in
            guard !connections.isEmpty else { return continuation.resume() }
            drainWaiters.append(continuation)
        }
    }

    /// Takes no further connections; those that are open stay as they are. The listeners may be closed when every server that shares
    /// them has stopped.
    package func stopAccepting() {
        guard state == .serving else { return }
        for listener in listeners { loop.unwatch(listener.rawDescriptor) }
        group.remove(self)
        state = .draining
    }

    private func beginDraining() {
        stopAccepting()
        state = .draining
        for connection in connections.values { connection.assumeIsolated { $0.drain() } }
    }

    private func cut() {
        for connection in connections.values { connection.assumeIsolated { $0.close(.stopped) } }
        // A handler that is still at work cannot be ended from here; nobody waits for its answer any more.
        resumeDrainWaiters()
    }

    private func resumeDrainWaiters() {
        for waiter in drainWaiters { waiter.resume() }
        drainWaiters = []
    }

    // MARK: Accepting

    fileprivate func accept(from listener: Listener) {
        guard state == .serving else { return }
        for _ in 0..<Self.acceptsPerTurn {
            guard connections.count < limits.connectionCount else {
                pauseAccepting()
                report(.acceptingPaused(connectionCount: connections.count))
                return
            }
            do {
                guard let accepted = try listener.accept() else { return }
                give(accepted.takeDescriptor())
            } catch {
                report(.acceptFailed(error))
                pauseAccepting()
                loop.schedule(after: Self.acceptRest) { [weak self] in self?.assumeIsolated { $0.resumeAccepting() } }
                return
            }
        }
    }

    private func give(_ descriptor: consuming FileDescriptor) {
        guard let server = group.place(), server !== self else { return open(descriptor) }
        let handover = Handover(descriptor)
        Task { await server.take(handover) }
    }

    /// Opens a connection that another server accepted. One that has begun to drain meanwhile closes it: its listeners close as well.
    private func take(_ handover: Handover) {
        guard state == .serving, let descriptor = handover.take() else { return }
        open(descriptor)
    }

    private func open(_ descriptor: consuming FileDescriptor) {
        let services = HTTPConnection.Services(
            handler: handler, limits: limits, report: report, dates: dates, memory: memory,
            ended: { [weak self] (identifier) in self?.assumeIsolated { $0.ended(identifier) } })
        do {
            let connection = try HTTPConnection(descriptor: descriptor, tls: tls, loop: loop, services: services)
            connections[ObjectIdentifier(connection)] = connection
            report(.connectionOpened)
            connection.assumeIsolated { $0.activate() }
        } catch {
            group.left(self)
            report(.connectionClosed(.failed(error.description)))
        }
    }

    private func ended(_ identifier: ObjectIdentifier) {
        connections[identifier] = nil
        group.left(self)
        if connections.isEmpty { resumeDrainWaiters() }
        if isAcceptingPaused { resumeAccepting() }
    }

    private func pauseAccepting() {
        isAcceptingPaused = true
        for listener in listeners { loop.change(listener.rawDescriptor, to: []) }
    }

    private func resumeAccepting() {
        guard state == .serving, isAcceptingPaused else { return }
        isAcceptingPaused = false
        for listener in listeners { loop.change(listener.rawDescriptor, to: .readable) }
    }
}

/// Brings the readiness of one listener to its server.
private final class Acceptor: ReadinessHandler {
    private let listener: Listener
    private let server: HTTPServer

    init(listener: Listener, server: HTTPServer) {
        self.listener = listener
        self.server = server
    }

    func ready(_ readiness: Readiness) {
        server.assumeIsolated { $0.accept(from: listener) }
    }
}

/// A connection on its way to another loop; closed where nobody takes it.
private final class Handover: Sendable {
    private let descriptor: Mutex<FileDescriptor?>

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = Mutex(descriptor) }

    func take() -> FileDescriptor? { descriptor.withLock { $0.take() } }
}
