import PostgreSQL
import TestSupport
import Testing

@Suite("Test database", .enabled(if: TestDatabase.isAvailable)) struct TestDatabaseTests {
    private static let tables = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"

    @Test("has the schema's tables, of its own, and is gone afterwards") func holdsSchema() async throws {
        let first = try await TestDatabase.make()
        let second = try await TestDatabase.make()
        let connection = try await first.connect()
        let tableCount = try await connection.queryUnprepared(Self.tables).int64(row: 0, column: 0)
        #expect(tableCount > 0)
        try await connection.execute("CREATE TABLE only_here (id int8)")
        let other = try await second.connect()
        let otherCount = try await other.queryUnprepared(Self.tables).int64(row: 0, column: 0)
        #expect(otherCount == tableCount)
        await first.drop()
        let remaining = try await other.queryUnprepared("SELECT 1 FROM pg_database WHERE datname = $1", [.text(first.name)])
        #expect(remaining.rowCount == 0)
        #expect(await !connection.isOpen)
        await second.drop()
    }
}
