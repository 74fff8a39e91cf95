import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Statements", .enabled(if: TestDatabase.isAvailable)) struct StatementTests {
    @Test("are accepted by PostgreSQL")
    func areAccepted() async throws {
        try await TestDatabase.withNew { database in
            let session = try await database.connect()
            for statement in StoreStatements.all {
                do { try await session.execute("prepare \(statement.name) as \(statement.text)") } catch {
                    Issue.record("\(statement.name): \(error)")
                }
            }
            await session.close()
        }
    }

    @Test("have names of their own")
    func haveNames() {
        let names = StoreStatements.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 50)
    }
}
