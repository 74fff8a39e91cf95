import Glibc
import Security
import Testing

@testable import Networking

@Suite("Socket stream", .timeLimit(.minutes(1))) struct SocketStreamTests {
    /// So many bytes that no socket buffer holds them, of a pattern that shows what is missing or out of order.
    static func pattern(byteCount: Int, seed: Int) -> [UInt8] {
        let block = (0..<65_521).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8) &+ seed) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        while bytes.count < byteCount { bytes.append(contentsOf: block.prefix(byteCount - bytes.count)) }
        return bytes
    }

    @Test("carries 8 MB in both directions at once through tiny socket buffers", arguments: [false, true])
    func carriesBothDirections(usesTLS: Bool) async throws {
        // Smaller than one segment of loopback, and TCP itself would wait for its timers.
        let connection = try await TestConnection(tls: usesTLS ? try TestTLS() : nil, bufferByteCount: 32 << 10)
        let byteCount = 8 << 20
        let request = Self.pattern(byteCount: byteCount, seed: 1)
        let response = Self.pattern(byteCount: byteCount, seed: 2)
        try await connection.client.write(request)
        try await connection.server.write(response)
        await connection.server.wait { $0.received.count >= byteCount || $0.error != nil }
        await connection.client.wait { $0.received.count >= byteCount || $0.error != nil }
        #expect(SHA256.digest(await connection.server.received) == SHA256.digest(request))
        #expect(SHA256.digest(await connection.client.received) == SHA256.digest(response))
        #expect(await connection.client.unsentByteCount == 0)
        await connection.finish()
    }

    @Test("sends what was written before it was open, in order", arguments: [false, true])
    func writesEarly(usesTLS: Bool) async throws {
        let connection = try await TestConnection(tls: usesTLS ? try TestTLS() : nil)
        try await connection.client.write(Array("first ".utf8))
        try await connection.client.write(Array("second".utf8))
        await connection.server.wait { $0.received.count >= 12 || $0.error != nil }
        #expect(await connection.server.received == Array("first second".utf8))
        await connection.finish()
    }

    @Test("holds back what is written without flushing", arguments: [false, true])
    func gathers(usesTLS: Bool) async throws {
        let connection = try await TestConnection(tls: usesTLS ? try TestTLS() : nil)
        await connection.client.wait { $0.isOpen || $0.error != nil }
        try await connection.client.write([1, 2], flushing: false)
        #expect(await connection.client.unsentByteCount >= 2)
        try await connection.client.write([3], flushing: false)
        try await connection.client.flush()
        #expect(await connection.client.unsentByteCount == 0)
        await connection.server.wait { $0.received.count >= 3 || $0.error != nil }
        #expect(await connection.server.received == [1, 2, 3])
        await connection.finish()
    }

    @Test("says which protocol was agreed on") func negotiates() async throws {
        let connection = try await TestConnection(tls: try TestTLS(applicationProtocols: ["h2"]))
        await connection.client.wait { $0.isOpen || $0.error != nil }
        #expect(await connection.client.negotiatedProtocol == "h2")
        await connection.finish()
    }

    @Test("goes on reading after the other direction has ended", arguments: [false, true])
    func halfCloses(usesTLS: Bool) async throws {
        let connection = try await TestConnection(tls: usesTLS ? try TestTLS() : nil)
        await connection.client.wait { $0.isOpen || $0.error != nil }
        let question = Self.pattern(byteCount: 1 << 20, seed: 3)
        try await connection.client.write(question)
        try await connection.client.shutdownWrite()
        await connection.server.wait { $0.hasReachedEnd || $0.error != nil }
        #expect(await connection.server.received == question)
        try await connection.server.write(Array("answer".utf8))
        try await connection.server.shutdownWrite()
        await connection.client.wait { $0.hasReachedEnd || $0.error != nil }
        #expect(await connection.client.received == Array("answer".utf8))
        await #expect(throws: StreamError.closed) { try await connection.client.write([1]) }
        await connection.finish()
    }

    @Test("lets no event come twice once the peer has ended its direction") func rests() async throws {
        let connection = try await TestConnection()
        try await connection.client.shutdownWrite()
        await connection.server.wait { $0.hasReachedEnd }
        let before = await connection.server.readyCount
        // Each sleep needs turns of the loop, and a turn would bring the event again.
        for _ in 0..<5 { await connection.serverLoop.sleep(for: .milliseconds(1)) }
        #expect(await connection.server.readyCount == before)
        await connection.finish()
    }
}

@Suite("Socket stream that fails", .timeLimit(.minutes(1))) struct SocketStreamFailureTests {
    @Test("says that the connection was refused") func refused() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let listener = try Listener.bind(try #require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        listener.close()
        let client = TestPeer(loop: loop)
        do {
            try await client.connect(to: listener.address)
            await client.wait { $0.error != nil }
            #expect(await client.error == .system(SystemError(operation: "connect", code: ECONNREFUSED)))
        } catch {
            #expect(error as? SystemError == SystemError(operation: "connect", code: ECONNREFUSED))
        }
    }

    @Test("says that the connection was reset", arguments: [false, true]) func reset(usesTLS: Bool) async throws {
        let connection = try await TestConnection(tls: usesTLS ? try TestTLS() : nil)
        await connection.server.wait { $0.isOpen || $0.error != nil }
        try await connection.client.reset()
        await connection.server.wait { $0.error != nil || $0.hasReachedEnd }
        #expect(await connection.server.error == .system(SystemError(operation: "recv", code: ECONNRESET)))
        await connection.finish()
    }

    @Test("reports a reset to an owner that has paused reading") func resetWhilePaused() async throws {
        let connection = try await TestConnection()
        await connection.server.pauseReading()
        try await connection.client.write([1])
        try await connection.client.reset()
        await connection.server.wait { $0.error != nil }
        #expect(await connection.server.error == .system(SystemError(operation: "connection", code: ECONNRESET)))
        #expect(await connection.server.received.isEmpty)
        await connection.finish()
    }

    @Test("reads what came while reading was paused") func resumes() async throws {
        let connection = try await TestConnection()
        await connection.server.pauseReading()
        try await connection.client.write([1, 2, 3])
        await connection.server.resumeReading()
        await connection.server.wait { $0.received.count == 3 }
        await connection.finish()
    }

    @Test("closes while bytes wait to be sent, and says so to later calls", arguments: [false, true])
    func closesWhilePending(usesTLS: Bool) async throws {
        let connection = try await TestConnection(tls: usesTLS ? try TestTLS() : nil, bufferByteCount: 4_096)
        await connection.client.wait { $0.isOpen || $0.error != nil }
        await connection.server.pauseReading()
        try await connection.client.write([UInt8](repeating: 7, count: 8 << 20))
        #expect(await connection.client.unsentByteCount > 0)
        await connection.client.close()
        await connection.client.close()
        await #expect(throws: StreamError.closed) { try await connection.client.write([1]) }
        await connection.server.resumeReading()
        await connection.server.wait { $0.error != nil || $0.hasReachedEnd }
        #expect(await connection.server.received.count < 8 << 20)
        await connection.finish()
    }

    @Test("refuses more than the bound of unsent bytes") func boundsUnsent() async throws {
        let connection = try await TestConnection()
        await connection.server.pauseReading()
        let half = [UInt8](repeating: 7, count: SocketStream.unsentByteLimit / 2)
        let failure = StreamError.unsentLimitExceeded(byteCount: SocketStream.unsentByteLimit)
        await #expect(throws: failure) {
            for _ in 0..<4 { try await connection.client.write(half, flushing: false) }
        }
        await connection.finish()
    }

    @Test("refuses a server whose certificate is for another host, and tells it") func wrongHost() async throws {
        let connection = try await TestConnection(tls: try TestTLS(), host: "example.org")
        await connection.client.wait { $0.error != nil || $0.isOpen }
        await connection.server.wait { $0.error != nil || $0.isOpen }
        guard case .security(.certificateRejected) = await connection.client.error else {
            Issue.record("unexpected: \(String(describing: await connection.client.error))")
            return await connection.finish()
        }
        guard case .security = await connection.server.error else {
            Issue.record("unexpected: \(String(describing: await connection.server.error))")
            return await connection.finish()
        }
        await connection.finish()
    }

    @Test("says that the peer left during the handshake") func leavesHandshake() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let listener = try Listener.bind(try #require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        let client = TestPeer(loop: loop)
        let server = TestPeer(loop: loop)
        try await client.connect(to: listener.address)
        try listener.waitForConnection()
        try await server.accept(from: listener, tls: try TestTLS().server)
        await client.close()
        await server.wait { $0.error != nil }
        #expect(await server.error == .closedDuringHandshake)
    }
}

@Suite("Process with many connections", .timeLimit(.minutes(2))) struct SocketStreamProcessTests {
    static var openDescriptorCount: Int {
        (0..<Int32(4_096)).count { fcntl($0, F_GETFD) != -1 }
    }

    @Test("has as many descriptors after 1,000 TLS handshakes as before") func keepsNoDescriptors() async {
        await #expect(processExitsWith: .success) {
            let tls = try TestTLS()
            let loop = try EventLoop.start(name: "test")
            let listener = try Listener.bind(try #require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
            let before = SocketStreamProcessTests.openDescriptorCount
            for _ in 0..<1_000 {
                let client = TestPeer(loop: loop)
                let server = TestPeer(loop: loop)
                try await client.connect(to: listener.address, tls: tls.client)
                try listener.waitForConnection()
                try await server.accept(from: listener, tls: tls.server)
                await client.wait { $0.isOpen || $0.error != nil }
                guard await client.isOpen else { fatalError("no connection") }
                await client.close()
                await server.wait { $0.hasReachedEnd || $0.error != nil }
                await server.close()
            }
            // A sanitizer talks to a program of its own, which tells it names.
            let allowed = unsafe getenv("TSAN_OPTIONS") == nil ? before : before + 8
            precondition(SocketStreamProcessTests.openDescriptorCount <= allowed)
        }
    }

    @Test("survives 100 peers that reset what it is writing") func survivesBrokenPipes() async {
        await #expect(processExitsWith: .success) {
            // What the process inherited must not make the test pass.
            _ = signal(SIGPIPE, SIG_DFL)
            let tls = try TestTLS()
            for usesTLS in [false, true] {
                for _ in 0..<50 {
                    let connection = try await TestConnection(tls: usesTLS ? tls : nil)
                    await connection.client.wait { $0.isOpen || $0.error != nil }
                    await connection.server.wait { $0.isOpen || $0.error != nil }
                    await connection.client.ignoreEvents()
                    try await connection.server.reset()
                    let failures = await connection.client.writeBlindly(count: 3)
                    precondition(failures.contains(.system(SystemError(operation: "send", code: EPIPE))), "\(failures)")
                    await connection.finish()
                }
            }
        }
    }
}
