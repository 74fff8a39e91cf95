import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite("Outage", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(2)), .serialized) struct OutageTests {
    private static let one = Statement(name: "one", text: "SELECT 1::int8")

    /// Lends a server, a pool that is connected to it, and what the pool tells from then on.
    private static func withCluster(
        size: Int, _ body: (PrivateCluster, DatabasePool, AsyncStream<DatabasePool.Event>) async throws -> Void
    ) async throws {
        let cluster = try await PrivateCluster.start()
        do {
            let (events, continuation) = AsyncStream.makeStream(of: DatabasePool.Event.self)
            let pool = DatabasePool(
                loop: TestDatabase.loop, options: try await cluster.options(), size: size, observe: { continuation.yield($0) })
            await pool.start()
            await waitUntilConnected(events)
            try await body(cluster, pool, events)
            await pool.close()
        } catch {
            _ = try? await cluster.run("remove")
            throw error
        }
        try await cluster.run("remove")
    }

    /// Waits until the pool has a connection again after it had none.
    private static func waitUntilConnected(_ events: AsyncStream<DatabasePool.Event>) async {
        for await event in events where event == .connected { return }
    }

    /// Fails with `.unavailable`, and soon.
    private static func expectUnavailable(_ pool: DatabasePool, deadline: Duration? = nil) async {
        var failure: DatabaseError?
        let elapsed = await ContinuousClock().measure {
            do throws(DatabaseError) { try await pool.query(one, deadline: deadline) } catch { failure = error }
        }
        guard case .unavailable = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(elapsed < .seconds(2))
    }

    @Test("by a crash is told at once, and ends by itself") func crash() async throws {
        try await Self.withCluster(size: 3) { cluster, pool, events in
            try await cluster.run("crash")
            for _ in 1...20 { await Self.expectUnavailable(pool) }
            try await cluster.run("start")
            let returned = ContinuousClock.now
            await Self.waitUntilConnected(events)
            #expect(ContinuousClock.now - returned < .seconds(2))
            let result = try await pool.query(Self.one)
            #expect(result.int64(row: 0, column: 0) == 1)
        }
    }

    @Test("of a frozen server costs a caller its deadline, not more") func frozen() async throws {
        try await Self.withCluster(size: 1) { cluster, pool, events in
            let postmaster = try cluster.postmaster
            let backends = try await pool.queryUnprepared(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")
            let processes = [postmaster] + (0..<backends.rowCount).map { backends.int32(row: $0, column: 0) }
            for process in processes { kill(process, SIGSTOP) }
            for _ in 1...2 { await Self.expectUnavailable(pool, deadline: .milliseconds(200)) }
            for process in processes { kill(process, SIGCONT) }
            // An attempt that hung goes on, or the next one succeeds.
            await Self.waitUntilConnected(events)
            let result = try await pool.query(Self.one)
            #expect(result.int64(row: 0, column: 0) == 1)
        }
    }
}
