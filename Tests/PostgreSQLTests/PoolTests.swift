@testable import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Pool", .enabled(if: TestDatabase.isAvailable)) struct PoolTests {
    static let backend = Statement(name: "backend", text: "SELECT pg_backend_pid(), pg_sleep(0.005)")

    @Test("carries 50 concurrent queries over 4 connections") func concurrency() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 4, acquireTimeout: .seconds(30))
            let backends = try await withThrowingTaskGroup { group in
                for _ in 1...50 { group.addTask { try await pool.query(Self.backend).int32(row: 0, column: 0) } }
                return try await group.reduce(into: [Int32]()) { $0.append($1) }
            }
            #expect(backends.count == 50)
            #expect(Set(backends).count <= 4)
            #expect(await pool.occupancy == DatabasePool.Occupancy(open: 4, idle: 4, waiting: 0))
            await pool.close()
        }
    }

    @Test("refuses a caller that waited too long for a busy connection") func exhausted() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let (events, continuation) = AsyncStream.makeStream(of: DatabasePool.Event.self)
            let pool = DatabasePool(
                loop: TestDatabase.loop, options: database.options, size: 1, acquireTimeout: .milliseconds(50),
                observe: { continuation.yield($0) })
            await pool.start()
            for await event in events where event == .connected { break }
            try await pool.withConnection { _ in
                await #expect(throws: DatabaseError.unavailable(reason: "all connections are busy")) {
                    try await pool.query(Self.backend)
                }
            }
            let result = try await pool.query(Self.backend)
            #expect(result.rowCount == 1)
            await pool.close()
        }
    }

    @Test("serves who is in a hurry before those who wait, and when no more may wait") func urgent() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 1, acquireTimeout: .seconds(30))
            let order = Mutex<[String]>([])
            let served: @Sendable (String, Bool) async throws -> Void = { name, isUrgent in
                let connection = try await pool.acquire(isUrgent: isUrgent)
                order.withLock { $0.append(name) }
                await pool.release(connection)
            }
            let waiting: @Sendable (Int) async -> Void = { count in
                while await pool.occupancy.waiting < count { await Task.yield() }
            }
            try await withThrowingTaskGroup { group in
                try await pool.withConnection { _ in
                    for number in 1...DatabasePool.waiterLimit {
                        group.addTask { try await served("request \(number)", false) }
                        await waiting(number)
                    }
                    await #expect(throws: DatabaseError.unavailable(reason: "too many callers wait for a connection")) {
                        try await pool.query(Self.backend)
                    }
                    for number in 1...2 {
                        group.addTask { try await served("lease \(number)", true) }
                        await waiting(DatabasePool.waiterLimit + number)
                    }
                }
                try await group.waitForAll()
            }
            let names = order.withLock { $0 }
            #expect(names.prefix(3) == ["lease 1", "lease 2", "request 1"])
            #expect(names.count == DatabasePool.waiterLimit + 2)
            await pool.close()
        }
    }

    @Test("overlooks no caller, however a connection comes back just as the caller begins to wait") func handsOver() async throws
    {
        try await TestDatabase.withNew(schema: false) { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 1, acquireTimeout: .seconds(30))
            for _ in 1...500 {
                try await withThrowingTaskGroup { group in
                    for _ in 1...3 { group.addTask { try await pool.withConnection { _ in } } }
                    try await group.waitForAll()
                }
            }
            await pool.close()
        }
    }

    @Test("refuses callers once closed") func closed() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 2, acquireTimeout: .seconds(30))
            try await pool.withConnection { connection in
                await pool.close()
                #expect(await !connection.isOpen)
            }
            await #expect(throws: DatabaseError.unavailable(reason: "the pool is closed")) { try await pool.query(Self.backend) }
        }
    }

    @Test("replaces a connection the server ended") func replaces() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 1, acquireTimeout: .seconds(30))
            let first = try await pool.query(Self.backend).int32(row: 0, column: 0)
            await #expect(throws: DatabaseError.self) {
                try await pool.queryUnprepared("SELECT pg_terminate_backend(pg_backend_pid())")
            }
            #expect(try await pool.query(Self.backend).int32(row: 0, column: 0) != first)
            await pool.close()
        }
    }

    @Test("fails at once while nobody listens") func refused() async throws {
        // A port that was free a moment ago: connecting to it is refused.
        let options = try DatabaseOptions(url: "postgresql://127.0.0.1:\(try SilentServer().port)/none")
        let pool = DatabasePool(loop: TestDatabase.loop, options: options, size: 2)
        for _ in 1...20 {
            let elapsed = await ContinuousClock().measure {
                await #expect(throws: DatabaseError.self) { try await pool.query(Self.backend) }
            }
            #expect(elapsed < .seconds(1.5))
        }
        await pool.close()
    }
}

@Suite("Transaction", .enabled(if: TestDatabase.isAvailable)) struct TransactionTests {
    private struct Refusal: Error {}
    private static let insert = Statement(name: "insert", text: "INSERT INTO item VALUES ($1)")
    private static let count = Statement(name: "count", text: "SELECT count(*) FROM item")

    private static func withPool(_ body: (DatabasePool) async throws -> Void) async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 2, acquireTimeout: .seconds(30))
            try await pool.withConnection { try await $0.execute("CREATE TABLE item (id int8 PRIMARY KEY)") }
            try await body(pool)
            await pool.close()
        }
    }

    @Test("commits and returns its value") func commits() async throws {
        try await Self.withPool { pool in
            var calls = 0
            let value = try await pool.transaction { connection in
                calls += 1
                return try await connection.query(Self.insert, [.int64(7)]).affectedRowCount
            }
            #expect(value == 1 && calls == 1)
            let stored = try await pool.query(Self.count).int64(row: 0, column: 0)
            #expect(stored == 1)
        }
    }

    @Test("rolls back on an error of its body") func rollsBack() async throws {
        try await Self.withPool { pool in
            await #expect(throws: Refusal.self) {
                try await pool.transaction { connection in
                    try await connection.query(Self.insert, [.int64(7)])
                    throw Refusal()
                }
            }
            let stored = try await pool.query(Self.count).int64(row: 0, column: 0)
            #expect(stored == 0)
            // The other connection may still be on its way.
            let occupancy = await pool.occupancy
            #expect(occupancy.open > 0 && occupancy.idle == occupancy.open)
        }
    }

    @Test("whose body hid an error does not pass as committed") func hiddenError() async throws {
        try await Self.withPool { pool in
            let error = await #expect(throws: DatabaseError.self) {
                try await pool.transaction { connection in
                    try await connection.query(Self.insert, [.int64(7)])
                    _ = try? await connection.execute("SELECT 1/0")
                }
            }
            guard case .server("25P02", _, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            let stored = try await pool.query(Self.count).int64(row: 0, column: 0)
            #expect(stored == 0)
        }
    }

    @Test("that lost against another one is repeated") func serialization() async throws {
        try await Self.withPool { pool in
            try await pool.query(Self.insert, [.int64(1)])
            var attempts = 0
            try await pool.transaction(.serializable, retryLimit: 3) { connection in
                attempts += 1
                try await connection.query(Self.count)
                if attempts == 1 {
                    try await pool.queryUnprepared("UPDATE item SET id = id + 10")
                }
                try await connection.queryUnprepared("UPDATE item SET id = id + 100")
            }
            #expect(attempts == 2)
            #expect(try await pool.queryUnprepared("SELECT id FROM item").int64(row: 0, column: 0) == 111)
        }
    }

    @Test("gives up after its last repetition") func retryLimit() async throws {
        try await Self.withPool { pool in
            var attempts = 0
            let conflict = DatabaseError.server(sqlState: "40001", message: "conflict", constraint: nil)
            await #expect(throws: conflict) {
                try await pool.transaction(retryLimit: 3) { _ in
                    attempts += 1
                    throw conflict
                }
            }
            #expect(attempts == 4)
        }
    }

    @Test("is unavailable when the answer to COMMIT is lost") func lostCommit() async throws {
        try await Self.withPool { pool in
            let error = await #expect(throws: DatabaseError.self) {
                try await pool.transaction { connection in
                    // Fires while COMMIT is carried out and ends the session from inside.
                    try await connection.execute(
                        """
                        CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
                        CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON item DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION leave()
                        """)
                    try await connection.query(Self.insert, [.int64(1)])
                }
            }
            guard case .unavailable = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            let stored = try await pool.query(Self.count).int64(row: 0, column: 0)
            #expect(stored == 0)
        }
    }
}
