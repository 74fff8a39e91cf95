@testable import PostgreSQL
import TestSupport
import Testing

@Suite("Connection", .enabled(if: TestDatabase.isAvailable)) struct ConnectionTests {
    static let one = Statement(name: "one", text: "SELECT 1::int8")

    @Test("has the settings of a gateway's session") func settings() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            var options = database.options
            options.statementTimeout = .milliseconds(7500)
            let connection = try await DatabaseConnection.connect(loop: TestDatabase.loop, options: options)
            let result = try await connection.queryUnprepared(
                """
                SELECT current_setting('jit'), current_setting('application_name'), current_setting('client_encoding'),
                    current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')
                """)
            let values = (0..<5).map { result.text(row: 0, column: $0) }
            #expect(values == ["off", "openpushd", "UTF8", "7500ms", "15s"])
            await connection.close()
        }
    }

    @Test("prepares a statement once") func preparesOnce() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            for _ in 1...3 { #expect(try await connection.query(Self.one).int64(row: 0, column: 0) == 1) }
            let prepared = try await connection.queryUnprepared("SELECT count(*) FROM pg_prepared_statements")
            #expect(prepared.int64(row: 0, column: 0) == 1)
        }
    }

    @Test("tells code and constraint of a refusal, never the values") func refusal() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            try await connection.execute("CREATE TABLE item (name text CONSTRAINT item_name_unique UNIQUE)")
            let insert = Statement(name: "insert", text: "INSERT INTO item VALUES ($1)")
            try await connection.query(insert, [.text("token-secret")])
            let error = await #expect(throws: DatabaseError.self) { try await connection.query(insert, [.text("token-secret")]) }
            guard case .server("23505", let message, "item_name_unique") = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(!message.contains("secret"))
            let invalid = await #expect(throws: DatabaseError.self) {
                try await connection.queryUnprepared("SELECT $1::text::uuid", [.text("secret")])
            }
            #expect(invalid == .server(sqlState: "22P02", message: "invalid input syntax for type uuid", constraint: nil))
            #expect(try await connection.query(Self.one).rowCount == 1)
        }
    }

    @Test("returns the last of several results") func severalCommands() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let result = try await connection.execute(
                "CREATE TABLE item (id int); INSERT INTO item VALUES (1), (2); SELECT 'last'")
            #expect(result?.text(row: 0, column: 0) == "last")
            #expect(try await connection.execute("")?.rowCount == 0)
            await #expect(throws: DatabaseError.self) { try await connection.execute("DELETE FROM item; SELECT 1/0") }
            #expect(try await connection.execute("SELECT id FROM item")?.rowCount == 2)
        }
    }

    @Test("runs a pipeline as one transaction") func pipeline() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            try await connection.execute("CREATE TABLE item (id int8 PRIMARY KEY)")
            let insert = Statement(name: "insert", text: "INSERT INTO item VALUES ($1)")
            let count = Statement(name: "count", text: "SELECT count(*) FROM item")
            let results = try await connection.run([
                StatementCall(insert, [.int64(1)]), StatementCall(insert, [.int64(2)]), StatementCall(count),
            ])
            #expect(results.map(\.affectedRowCount) == [1, 1, 1])
            #expect(results[2].int64(row: 0, column: 0) == 2)
            await #expect(throws: DatabaseError.self) {
                try await connection.run([StatementCall(insert, [.int64(3)]), StatementCall(insert, [.int64(1)])])
            }
            #expect(try await connection.query(count).int64(row: 0, column: 0) == 2)
            #expect(try await connection.run([]).isEmpty)
        }
    }

    @Test("moves more than the socket's buffers hold, both ways") func largeValues() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let bytes = [UInt8](repeating: 7, count: 20_000_000)
            let echo = Statement(name: "echo", text: "SELECT $1")
            let results = try await connection.run([StatementCall(echo, [.bytes(bytes)]), StatementCall(echo, [.bytes(bytes)])])
            #expect(results.allSatisfy { $0.withBytes(row: 0, column: 0) { $0.count } == bytes.count })
        }
    }

    @Test("prepares again what the schema has outgrown") func staleStatement() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let all = Statement(name: "all", text: "SELECT * FROM item")
            try await connection.execute("CREATE TABLE item (id int8)")
            #expect(try await connection.query(all).columnCount == 1)
            try await connection.execute("ALTER TABLE item ADD name text")
            #expect(try await connection.query(all).columnCount == 2)
            try await connection.execute("DEALLOCATE ALL")
            #expect(try await connection.query(all).columnCount == 2)
        }
    }

    @Test("discards its prepared statements at the bound") func bounded() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            for number in 0..<600 { try await connection.query(Statement(name: "s\(number)", text: "SELECT \(number)")) }
            let count = try await connection.queryUnprepared("SELECT count(*) FROM pg_prepared_statements").int64(
                row: 0, column: 0)
            #expect(count == 600 - 512)
        }
    }

    @Test("closes when a statement misses its deadline") func deadline() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let elapsed = await ContinuousClock().measure {
                await #expect(throws: DatabaseError.unavailable(reason: "the statement took too long")) {
                    try await connection.queryUnprepared("SELECT pg_sleep(60)", deadline: .milliseconds(100))
                }
            }
            #expect(elapsed < .seconds(5))
            #expect(await !connection.isOpen)
            await #expect(throws: DatabaseError.self) { try await connection.query(Self.one) }
        }
    }

    @Test("survives the server's own time limit") func statementTimeout() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            var options = database.options
            options.statementTimeout = .milliseconds(50)
            let connection = try await DatabaseConnection.connect(loop: TestDatabase.loop, options: options)
            await #expect(throws: DatabaseError.unavailable(reason: "the statement was cancelled or took too long")) {
                try await connection.queryUnprepared("SELECT pg_sleep(60)")
            }
            #expect(try await connection.query(Self.one).rowCount == 1)
            await connection.close()
        }
    }

    @Test("notices that the server ended it") func terminated() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let (closed, continuation) = AsyncStream.makeStream(of: String.self)
            let connection = try await DatabaseConnection.connect(
                loop: TestDatabase.loop, options: database.options, onClose: { _, failure in continuation.yield(failure.reason) })
            let other = try await database.connect()
            let process = try await connection.queryUnprepared("SELECT pg_backend_pid()").int32(row: 0, column: 0)
            try await other.queryUnprepared("SELECT pg_terminate_backend($1)", [.int32(process)])
            var reasons = closed.makeAsyncIterator()
            #expect(await reasons.next()?.isEmpty == false)
            #expect(await !connection.isOpen)
            let error = await #expect(throws: DatabaseError.self) {
                try await other.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            }
            guard case .unavailable = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test("carries out calls of several tasks one after another") func concurrentCalls() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let double = Statement(name: "double", text: "SELECT $1 * 2")
            let sum = try await withThrowingTaskGroup { group in
                for number in 1...50 {
                    group.addTask { try await connection.query(double, [.int64(Int64(number))]).int64(row: 0, column: 0) }
                }
                return try await group.reduce(0, +)
            }
            #expect(sum == 2550)
        }
    }

    @Test("stays usable when the waiting task is cancelled") func cancellation() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let task = Task { try await connection.queryUnprepared("SELECT pg_sleep(0.05), 3::int8").int64(row: 0, column: 1) }
            task.cancel()
            #expect(try await task.value == 3)
            #expect(try await connection.query(Self.one).rowCount == 1)
        }
    }

    @Test("fails to connect within its time limit where nobody answers") func connectTimeout() async throws {
        let silent = try SilentServer()
        var options = try DatabaseOptions(url: "postgresql://127.0.0.1:\(silent.port)/none")
        options.connectTimeout = .milliseconds(100)
        await #expect(throws: DatabaseError.unavailable(reason: "connecting took too long")) {
            try await DatabaseConnection.connect(loop: TestDatabase.loop, options: options)
        }
    }
}
