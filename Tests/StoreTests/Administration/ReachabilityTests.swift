import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Reachability", .enabled(if: TestDatabase.isAvailable)) struct ReachabilityTests {
    private static func reachability(_ options: DatabaseOptions) async throws -> Reachability {
        let pool = DatabasePool(loop: TestDatabase.loop, options: options, size: 1, acquireTimeout: .seconds(30))
        let store = Store(pool: pool, sealingKey: StoreFixture.sealingKey)
        let found = await store.reachability()
        await pool.close()
        return found
    }

    @Test("tells a database that can be used from one without the schema, and from none")
    func tellsTheSchema() async throws {
        for (schema, expected) in [(true, Reachability.reachable), (false, .withoutSchema)] {
            let found = try await TestDatabase.withNew(schema: schema) { try await Self.reachability($0.options) }
            #expect(found == expected)
        }
        #expect(try await Self.reachability(DatabaseOptions(url: "host=127.0.0.1 port=1 dbname=none")) == .away)
    }

    @Test("is not given by a server that takes no writes, whether or not the URL lets one in", arguments: ["read-write", "any"])
    func tellsAReader(wanted: String) async throws {
        try await TestDatabase.withNew { database in
            let session = try await database.connect()
            try await session.execute("alter database \"\(database.name)\" set default_transaction_read_only = on")
            let options = try DatabaseOptions(url: database.url + " target_session_attrs=\(wanted)")
            let found = try await Self.reachability(options)
            #expect(found == .readOnly)
            #expect(found.complaint?.contains("takes no writes") == true)
        }
    }
}
