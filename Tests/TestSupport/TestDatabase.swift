import Foundation
package import Networking
package import PostgreSQL
import Synchronization

/// A database of its own for one test, on the server `OPENPUSH_TEST_DATABASE_URL` leads to (as a user that may create databases).
///
/// Tests that need it say `.enabled(if: TestDatabase.isAvailable)`; `deploy/test` refuses to run without the variable.
package final class TestDatabase: Sendable {
    package static let variable = "OPENPUSH_TEST_DATABASE_URL"

    /// The event loop test databases and their ``connect()`` use.
    package static let loop: EventLoop = {
        do { return try EventLoop.start(name: "test-database") } catch { preconditionFailure("\(error)") }
    }()

    package static var isAvailable: Bool { serverURL != nil }

    package let name: String
    package let options: DatabaseOptions
    /// For `OPENPUSH_DATABASE_URL`: libpq keywords.
    package var url: String { options.connectionString }

    private let isDropped = Atomic(false)

    private init(name: String, options: DatabaseOptions) {
        self.name = name
        self.options = options
    }

    /// Creates a database, with the tables of schema.sql or empty.
    package static func make(schema: Bool = true) async throws -> TestDatabase {
        let template = schema ? try await TestDatabaseTemplate.shared.value : "template0"
        let name = TestDatabaseName.next()
        let server = try serverOptions()
        try await execute("CREATE DATABASE \"\(name)\" TEMPLATE \"\(template)\"", on: server)
        return TestDatabase(name: name, options: server.selecting(database: name))
    }

    /// Lends a database to `body` and drops it afterwards, whatever happens.
    package static func withNew<Value>(schema: Bool = true, _ body: (TestDatabase) async throws -> Value) async throws -> Value {
        let database = try await make(schema: schema)
        do {
            let value = try await body(database)
            await database.drop()
            return value
        } catch {
            await database.drop()
            throw error
        }
    }

    /// A session with the database, on ``loop``. The caller closes it, or dropping the database does.
    package func connect() async throws -> DatabaseConnection {
        try await DatabaseConnection.connect(loop: Self.loop, options: options)
    }

    /// Drops the database and cuts off whoever still uses it. What fails here is left for the next process to sweep.
    package func drop() async {
        guard !isDropped.exchange(true, ordering: .relaxed) else { return }
        await Self.drop(name)
    }

    deinit {
        guard !isDropped.load(ordering: .relaxed) else { return }
        let name = self.name
        Task { await Self.drop(name) }
    }

    private static func drop(_ name: String) async {
        do {
            try await execute("DROP DATABASE IF EXISTS \"\(name)\" WITH (FORCE)", on: serverOptions())
        } catch {
            print("test database \(name) was not dropped: \(error)")
        }
    }

    private static var serverURL: String? {
        let value = ProcessInfo.processInfo.environment[variable]
        return value?.isEmpty == false ? value : nil
    }

    static func serverOptions() throws -> DatabaseOptions {
        guard let serverURL else { throw MissingTestDatabase() }
        var options = try DatabaseOptions(url: serverURL)
        // Creating databases waits for checkpoints and for parallel test processes.
        options.statementTimeout = .seconds(60)
        return options
    }

    private static func execute(_ sql: String, on options: DatabaseOptions) async throws {
        let connection = try await DatabaseConnection.connect(loop: loop, options: options)
        do { try await connection.execute(sql) } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }
}

/// `OPENPUSH_TEST_DATABASE_URL` is not set.
package struct MissingTestDatabase: Error {}
