@testable import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Failover", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)), .serialized) struct FailoverTests {
    private static let write = Statement(name: "write", text: "CREATE TABLE IF NOT EXISTS item (id int8)")
    private static let port = Statement(name: "port", text: "SELECT current_setting('port')")

    /// Lends two servers of their own.
    private static func withClusters(_ body: (PrivateCluster, PrivateCluster) async throws -> Void) async throws {
        let first = try await PrivateCluster.start("failover-first")
        do {
            let second = try await PrivateCluster.start("failover-second")
            do { try await body(first, second) } catch {
                _ = try? await second.run("remove")
                throw error
            }
            try await second.run("remove")
        } catch {
            _ = try? await first.run("remove")
            throw error
        }
        try await first.run("remove")
    }

    /// Both servers in one list. `more`: further keywords.
    private static func options(_ first: PrivateCluster, _ second: PrivateCluster, _ more: String = "") async throws
        -> DatabaseOptions
    {
        let ports = [try await port(of: first), try await port(of: second)].joined(separator: ",")
        return try DatabaseOptions(
            url: try await first.options().connectionString + " host='127.0.0.1,127.0.0.1' port='\(ports)' \(more)")
    }

    private static func port(of cluster: PrivateCluster) async throws -> String {
        try await cluster.options().endpoints()[0].port
    }

    @Test("finds the server that takes writes behind one that became a standby") func standby() async throws {
        try await Self.withClusters { first, second in
            let pool = DatabasePool(
                loop: TestDatabase.loop, options: try await Self.options(first, second), size: 2, acquireTimeout: .seconds(30))
            try await pool.query(Self.write)
            try await first.becomeStandby()
            // The first callers may still hear of the connections that were cut off.
            var results: [QueryResult]?
            while results == nil {
                results = try? await pool.run([StatementCall(Self.write, []), StatementCall(Self.port, [])])
            }
            let place = try await Self.port(of: second)
            #expect(results?[1].text(row: 0, column: 0) == place)
            await pool.close()
        }
    }

    @Test("turns away from a standby the operator lets in, after one refusal and with a pause") func anyServer() async throws {
        try await Self.withClusters { first, second in
            try await first.becomeStandby()
            let pauses = Mutex<[Duration]>([])
            let pool = DatabasePool(
                loop: TestDatabase.loop, options: try await Self.options(first, second, "target_session_attrs=any"), size: 3,
                acquireTimeout: .seconds(30)
            ) { event in
                if case .connectingFailed(_, let pause) = event { pauses.withLock { $0.append(pause) } }
            }
            // All connections are open, and lead to the standby.
            try await Self.holdingAll(pool, 3) {}
            let refusal = await #expect(throws: DatabaseError.self) { try await pool.query(Self.write) }
            guard case .readOnly = refusal else {
                Issue.record("\(String(describing: refusal))")
                return
            }
            #expect(pauses.withLock { $0.count == 1 && $0[0] > .zero })
            var hasWritten = false
            while !hasWritten { hasWritten = (try? await pool.query(Self.write)) != nil }
            try await Self.holdingAll(pool, 3) {}
            for _ in 1...6 { try await pool.query(Self.write) }
            #expect(pauses.withLock { $0.count } == 1)
            await pool.close()
        }
    }

    @Test("is not possible where all servers are standbys: callers are told that, and attempts become rarer")
    func noneTakesWrites() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let session = try await database.connect()
            try await session.execute("ALTER DATABASE \"\(database.name)\" SET default_transaction_read_only = on")
            let (events, continuation) = AsyncStream.makeStream(of: DatabasePool.Event.self)
            let pool = DatabasePool(
                loop: TestDatabase.loop, options: database.options, size: 2, acquireTimeout: .seconds(30),
                observe: { continuation.yield($0) })
            let refusal = await #expect(throws: DatabaseError.self) { try await pool.query(Self.write) }
            guard case .readOnly(let reason) = refusal else {
                Issue.record("\(String(describing: refusal))")
                return
            }
            #expect(reason.hasSuffix("session is read-only"))
            var pauses: [Duration] = []
            for await event in events {
                if case .connectingFailed(_, let pause) = event { pauses.append(pause) }
                if pauses.count == 5 { break }
            }
            #expect(pauses.last ?? .zero > .milliseconds(300), "\(pauses)")
            await pool.close()
        }
    }

    @Test("costs the time of a server that does not answer once, not for each connection") func silentFirst() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let silent = try SilentServer()
            var options = try Self.options(database, silentAt: 0, silent)
            options.connectTimeout = .seconds(3)
            let failures = Atomic(0)
            let pool = DatabasePool(loop: TestDatabase.loop, options: options, size: 4, acquireTimeout: .seconds(30)) { event in
                if case .connectingFailed = event { failures.add(1, ordering: .relaxed) }
            }
            await pool.start()
            // The callers that come while nobody has answered yet are told so.
            var isOpen = false
            while !isOpen { isOpen = (try? await pool.query(ConnectionTests.one)) != nil }
            try await Self.holdingAll(pool, 4) {}
            #expect(failures.load(ordering: .relaxed) == 1)
            await pool.close()
        }
    }

    @Test("is not what a lost LISTEN needs: it goes back to the server it came from first") func listener() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let silent = try SilentServer()
            var options = try Self.options(database, silentAt: 1, silent)
            options.connectTimeout = .seconds(20)
            let (events, continuation) = AsyncStream.makeStream(of: DatabaseNotification?.self)
            let listener = NotificationListener(
                loop: TestDatabase.loop, options: options, channels: ["work"], wake: { continuation.yield($0) })
            await listener.start()
            var event = events.makeAsyncIterator()
            #expect(await event.next() == .some(nil))
            let session = try await database.connect()
            let elapsed = try await ContinuousClock().measure {
                try await session.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE pid <> pg_backend_pid() AND datname = current_database()
                    """)
                #expect(await event.next() == .some(nil))
            }
            #expect(elapsed < .seconds(15))
            await listener.stop()
        }
    }

    /// A list of the database's server and a silent one, which is at `index`.
    private static func options(_ database: TestDatabase, silentAt index: Int, _ silent: SilentServer) throws -> DatabaseOptions {
        let known = try database.options.endpoints()[0]
        var (hosts, ports) = ([known.host], [known.port])
        hosts.insert("127.0.0.1", at: index)
        ports.insert("\(silent.port)", at: index)
        return try DatabaseOptions(
            url: database.url + " host='\(hosts.joined(separator: ","))' port='\(ports.joined(separator: ","))'")
    }

    /// Borrows so many connections at the same time.
    private static func holdingAll(_ pool: DatabasePool, _ count: Int, _ body: () async throws -> Void) async throws {
        guard count > 0 else { return try await body() }
        try await pool.withConnection { _ in try await holdingAll(pool, count - 1, body) }
    }
}
