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

    // With IN or EXISTS over other rows, PostgreSQL may join anew after a wait, with the first of the other rows only, and drop the
    // row it waited for. Rows that are skipped when somebody holds them are never waited for.
    @Test("that wait for rows name them by value or by an array, so that none they waited for is dropped")
    func nameWhatTheyLock() {
        for statement in StoreStatements.all where statement.text.contains(/for (no key )?(update|share)/) {
            guard !statement.text.contains("skip locked") else { continue }
            #expect(!statement.text.contains(/\bin \(\s*select/), "\(statement.name)")
        }
        for statement in StoreStatements.all where statement.text.contains(/^\s*(update|delete)/) {
            #expect(!statement.text.contains(/\bin \(\s*select/), "\(statement.name)")
        }
    }

    @Test("have names of their own")
    func haveNames() {
        let names = StoreStatements.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 50)
    }
}
