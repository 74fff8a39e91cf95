import HTTP
import Networking
import TestSupport
import Testing

@Suite("Servers with one listener", .timeLimit(.minutes(1))) struct HTTPServerGroupTests {
    /// Three servers with a loop each, and one listener.
    private struct Group {
        let loops: [EventLoop]
        let servers: [HTTPServer]
        let listener: Listener
        let handler = TestHandler()

        init() async throws {
            let listener = try Listener.bind(#require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
            let group = HTTPServerGroup()
            let loops = try (0..<3).map { try EventLoop.start(name: "group-\($0)") }
            let handler = handler
            servers = loops.map {
                HTTPServer(loop: $0, listeners: [listener], tls: nil, handler: handler, group: group)
            }
            (self.loops, self.listener) = (loops, listener)
            for server in servers { try await server.start() }
        }

        /// A connection that a server has, and answers.
        func connect() async throws -> TestSocket {
            try await onThread {
                let socket = try TestSocket(port: listener.address.port)
                try socket.send(TestHTTPClient.http1Request("GET", "/hello"))
                var reader = TestHTTPResponseReader()
                #expect(try reader.next(from: socket).status == 200)
                return socket
            }
        }

        func counts() async -> [Int] {
            var counts: [Int] = []
            for server in servers { counts.append(await server.connectionCount) }
            return counts
        }

        func stop() async throws {
            for server in servers { await server.drain(timeout: .seconds(5)) }
            listener.close()
            for loop in loops { try await onThread { loop.stop() } }
        }
    }

    @Test("share its connections evenly, whichever loop the system wakes") func shares() async throws {
        let group = try await Group()
        var sockets: [TestSocket] = []
        for _ in 0..<12 { sockets.append(try await group.connect()) }
        #expect(await group.counts() == [4, 4, 4])
        // Those that end make room where they were.
        sockets.removeFirst(6)
        while await group.counts().reduce(0, +) > 6 { await Task.yield() }
        for _ in 0..<6 { sockets.append(try await group.connect()) }
        #expect(await group.counts() == [4, 4, 4])
        try await group.stop()
        #expect(sockets.count == 12)
    }

    @Test("leave out one that stops accepting") func leavesOut() async throws {
        let group = try await Group()
        await group.servers[1].stopAccepting()
        var sockets: [TestSocket] = []
        for _ in 0..<4 { sockets.append(try await group.connect()) }
        #expect(await group.counts() == [2, 0, 2])
        try await group.stop()
        #expect(sockets.count == 4)
    }
}
