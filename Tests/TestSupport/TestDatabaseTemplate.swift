import Foundation
import PostgreSQL
import Synchronization

/// The database the test databases with a schema are copied from: made once for each text of schema.sql, shared by parallel processes.
enum TestDatabaseTemplate {
    /// Any number nobody else uses as an advisory lock on the server.
    private static let lockKey = 7_301_992_553_881

    static let shared = Task { try await make() }

    private static func make() async throws -> String {
        let schema = try String(contentsOf: schemaLocation, encoding: .utf8)
        let name = "openpush_template_\(fingerprint(of: schema))"
        let server = try TestDatabase.serverOptions()
        let connection = try await DatabaseConnection.connect(loop: TestDatabase.loop, options: server)
        do {
            // Held until the connection is closed.
            try await connection.execute("SELECT pg_advisory_lock(\(lockKey))")
            try await sweep(connection)
            let known = try await connection.queryUnprepared("SELECT 1 FROM pg_database WHERE datname = $1", [.text(name)])
            if known.rowCount == 0 { try await build(name, schema: schema, server: server, connection: connection) }
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
        return name
    }

    /// Under another name until it is complete.
    private static func build(
        _ name: String, schema: String, server: DatabaseOptions, connection: DatabaseConnection
    ) async throws {
        let draft = "\(name)_draft"
        try await connection.execute("DROP DATABASE IF EXISTS \"\(draft)\" WITH (FORCE)")
        try await connection.execute("CREATE DATABASE \"\(draft)\" TEMPLATE template0")
        let loader = try await DatabaseConnection.connect(loop: TestDatabase.loop, options: server.selecting(database: draft))
        do { try await loader.execute(schema) } catch {
            await loader.close()
            throw error
        }
        await loader.close()
        // The server may still be busy ending the loader's session.
        try await connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '\(draft)'")
        try await connection.execute("ALTER DATABASE \"\(draft)\" RENAME TO \"\(name)\"")
    }

    /// Drops what test processes that are gone left behind.
    private static func sweep(_ connection: DatabaseConnection) async throws {
        let names = try await connection.queryUnprepared(
            "SELECT datname FROM pg_database WHERE datname LIKE $1", [.text("\(TestDatabaseName.prefix)%")])
        for row in 0..<names.rowCount {
            let name = names.text(row: row, column: 0)
            guard let process = TestDatabaseName.process(of: name), kill(process, 0) != 0, errno == ESRCH else { continue }
            try await connection.execute("DROP DATABASE IF EXISTS \"\(name)\" WITH (FORCE)")
        }
    }

    private static var schemaLocation: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../schema.sql").standardized
    }

    /// FNV-1a, 64 bits: enough to tell versions of one file apart.
    private static func fingerprint(of text: String) -> String {
        let hash = text.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}

/// Names of test databases: unique on the server, and telling whose they are.
enum TestDatabaseName {
    static let prefix = "openpush_test_"
    private static let count = Atomic(0)

    static func next() -> String {
        let number = count.add(1, ordering: .relaxed).newValue
        return "\(prefix)\(ProcessInfo.processInfo.processIdentifier)_\(number)"
    }

    static func process(of name: String) -> pid_t? {
        name.dropFirst(prefix.count).split(separator: "_").first.flatMap { pid_t($0) }
    }
}
