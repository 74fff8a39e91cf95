import Glibc
import Synchronization
import Testing

@testable import Networking

@Suite("Listener", .timeLimit(.minutes(1))) struct ListenerTests {
    static let anyPort = SocketAddress(host: .ipv4(0x7F00_0001), port: 0)

    @Test("says which port it was given") func realPort() throws {
        let listener = try Listener.bind(Self.anyPort)
        #expect(listener.address.port != 0)
        #expect(listener.address.hostText == "127.0.0.1")
    }

    @Test("refuses an address in use, and says so") func addressInUse() throws {
        let listener = try Listener.bind(Self.anyPort)
        let error = #expect(throws: SystemError.self) { try Listener.bind(listener.address) }
        #expect(error?.description == "bind: Address already in use")
    }

    @Test("can be replaced at once on the same port, although connections linger") func replaced() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let listener = try Listener.bind(Self.anyPort)
        let client = TestPeer(loop: loop)
        let server = TestPeer(loop: loop)
        try await client.connect(to: listener.address)
        try listener.waitForConnection()
        try await server.accept(from: listener)
        // The side that closes first lingers in TIME_WAIT: here the one that holds the port.
        await server.close()
        await client.wait { $0.hasReachedEnd }
        await client.close()
        listener.close()
        #expect(try Listener.bind(listener.address).address == listener.address)
    }

    @Test("accepts over IPv6 and leaves IPv4 to another", .enabled(if: hasIPv6, "this system has no IPv6")) func ipv6() throws {
        let listener = try Listener.bind(try #require(SocketAddress(ipv6: "::1", port: 0)))
        let other = try Listener.bind(Self.anyPort.withPort(listener.address.port))
        #expect(other.address.port == listener.address.port)
        let socket = try Socket.open(family: AF_INET6)
        let number = socket.rawValue
        _ = unsafe listener.address.withSystemAddress { unsafe Glibc.connect(number, $0, $1) }
        try listener.waitForConnection()
        guard let connection = try listener.accept() else {
            Issue.record("nothing to accept")
            return
        }
        #expect(connection.peer == (try Socket.localAddress(number)))
    }

    @Test("has nothing to accept when nobody connects, and fails once closed") func nothing() throws {
        let listener = try Listener.bind(Self.anyPort)
        let isEmpty = try listener.accept() == nil
        #expect(isEmpty)
        listener.close()
        listener.close()
        #expect(throws: SystemError(operation: "accept", code: EBADF)) { _ = try listener.accept() }
    }

    @Test("survives running out of descriptors") func outOfDescriptors() async {
        await #expect(processExitsWith: .success) {
            let listener = try Listener.bind(ListenerTests.anyPort)
            let socket = try Socket.open(family: AF_INET)
            let number = socket.rawValue
            _ = unsafe listener.address.withSystemAddress { unsafe Glibc.connect(number, $0, $1) }
            try listener.waitForConnection()
            var hoard: [Int32] = []
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            try SystemError.check("setrlimit", unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit))
            while true {
                let descriptor = dup(number)
                guard descriptor != -1 else { break }
                hoard.append(descriptor)
            }
            do throws(SystemError) {
                _ = try listener.accept()
                fatalError("accepted without a descriptor")
            } catch {
                precondition(error == SystemError(operation: "accept", code: EMFILE))
            }
            for descriptor in hoard { close(descriptor) }
            guard try listener.accept() != nil else { fatalError("the connection was lost") }
        }
    }

    @Test("is watched by several loops, and every connection is accepted once") func shared() async throws {
        let loops = [try EventLoop.start(name: "one"), try EventLoop.start(name: "two")]
        let listener = try Listener.bind(Self.anyPort)
        let connectionCount = 200
        let acceptors = loops.map { Acceptor(listener: listener, loop: $0) }
        for (loop, acceptor) in zip(loops, acceptors) {
            loop.perform { try? loop.watch(listener.rawDescriptor, for: .readable, shared: true, handler: acceptor) }
        }
        for _ in 0..<connectionCount {
            let socket = try Socket.open(family: AF_INET)
            let number = socket.rawValue
            _ = unsafe listener.address.withSystemAddress { unsafe Glibc.connect(number, $0, $1) }
        }
        while acceptors.map(\.count).reduce(0, +) < connectionCount { await loops[0].sleep(for: .milliseconds(1)) }
        #expect(acceptors.map(\.count).reduce(0, +) == connectionCount)
        for loop in loops { loop.stop() }
    }

    private final class Acceptor: ReadinessHandler {
        let listener: Listener
        let loop: EventLoop
        private let accepted = Atomic(0)
        var count: Int { accepted.load(ordering: .relaxed) }

        init(listener: Listener, loop: EventLoop) {
            self.listener = listener
            self.loop = loop
        }

        func ready(_ readiness: Readiness) {
            do throws(SystemError) {
                while try listener.accept() != nil { accepted.add(1, ordering: .relaxed) }
            } catch {
                Issue.record(error)
            }
        }
    }
}

/// Whether "::1" can be bound.
private let hasIPv6: Bool = {
    guard let address = SocketAddress(ipv6: "::1", port: 0) else { return false }
    return (try? Listener.bind(address)) != nil
}()
