import Networking
import Synchronization

/// A listening socket of one environment. It can close and open again at the same address.
final class PushPort: Sendable {
    let address: SocketAddress
    private let kind: PortKind
    private let environment: PushEnvironment
    private let loops: [EventLoop]
    private let core: SimulatorCore
    private let listener: Mutex<Listener?>

    /// Binds, and takes connections on all loops.
    static func open(
        _ address: SocketAddress, kind: PortKind = .push, environment: PushEnvironment, loops: [EventLoop], core: SimulatorCore
    ) async throws -> PushPort {
        let port = PushPort(try Listener.bind(address), kind: kind, environment: environment, loops: loops, core: core)
        try await port.watch()
        return port
    }

    private init(
        _ listener: Listener, kind: PortKind, environment: PushEnvironment, loops: [EventLoop], core: SimulatorCore
    ) {
        address = listener.address
        self.kind = kind
        self.environment = environment
        self.loops = loops
        self.core = core
        self.listener = Mutex(listener)
    }

    /// Refuses connections from now on; those that are open stay.
    func close() async {
        guard
            let closing = listener.withLock({ listener -> Listener? in
                defer { listener = nil }
                return listener
            })
        else { return }
        for loop in loops {
            await loop.run { loop.unwatch(closing.rawDescriptor) }
        }
        closing.close()
    }

    /// Takes connections again; nothing when it already does.
    func reopen() async throws {
        let isOpen = listener.withLock { $0 != nil }
        if isOpen { return }
        let listener = try Listener.bind(address)
        self.listener.withLock { $0 = listener }
        try await watch()
    }

    private func watch() async throws {
        guard let listener = listener.withLock({ $0 }) else { return }
        for loop in loops {
            let acceptor = Acceptor(listener: listener, kind: kind, environment: environment, loop: loop, core: core)
            try await loop.run { Result { try acceptor.watch(shared: self.loops.count > 1) } }.get()
        }
    }
}

/// Takes connections of one listener on one loop.
private final class Acceptor: ReadinessHandler {
    /// How long a listener rests when the system has no descriptor or memory left.
    private static let pause: Duration = .milliseconds(100)

    private let listener: Listener
    private let kind: PortKind
    private let environment: PushEnvironment
    private let loop: EventLoop
    private let core: SimulatorCore

    init(listener: Listener, kind: PortKind, environment: PushEnvironment, loop: EventLoop, core: SimulatorCore) {
        self.listener = listener
        self.kind = kind
        self.environment = environment
        self.loop = loop
        self.core = core
    }

    func watch(shared: Bool) throws {
        try loop.watch(listener.rawDescriptor, for: .readable, shared: shared, handler: self)
    }

    func ready(_ readiness: Readiness) {
        do {
            // One connection for each report: the listener stays readable while there are more.
            guard let accepted = try listener.accept() else { return }
            take(accepted.takeDescriptor())
        } catch {
            loop.change(listener.rawDescriptor, to: [])
            loop.schedule(after: Acceptor.pause) { self.resume() }
        }
    }

    private func resume() {
        // Unwatched meanwhile: then the listener is closed, and there is nothing to resume.
        loop.unwatch(listener.rawDescriptor)
        try? watch(shared: true)
    }

    private func take(_ descriptor: consuming FileDescriptor) {
        if kind == .management, !core.settings.takesManagement {
            core.log.count { $0.failedConnectionCount += 1 }
            return
        }
        let effect = core.rules.effect(on: .connection, RuleBook.Circumstances(environment: environment))
        if effect?.refusesConnection == true {
            core.log.count { $0.failedConnectionCount += 1 }
            return
        }
        let connection = try? PushConnection(
            accepted: descriptor, number: core.nextConnectionNumber(), kind: kind, environment: environment, loop: loop,
            core: core,
            effect: effect)
        connection?.assumeIsolated { $0.activate() }
    }
}
