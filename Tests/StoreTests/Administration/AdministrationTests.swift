import Gateway
import Networking
import Observability
import PostgreSQL
import Security
import TestSupport
import Testing

@testable import Store

@Suite("Administration", .enabled(if: TestDatabase.isAvailable)) struct AdministrationTests {
    private static func withEmptyDatabase(_ body: (Store, DatabaseConnection) async throws -> Void) async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: 4)
            let session = try await database.connect()
            try await body(Store(pool: pool, sealingKey: StoreFixture.sealingKey), session)
            await session.close()
            await pool.close()
        }
    }

    @Test("applies the schema once, however often and by however many it is applied")
    func appliesSchema() async throws {
        try await Self.withEmptyDatabase { store, session in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await store.applySchema() } }
                try await group.waitForAll()
            }
            let objects = "select string_agg(relname || relfilenode || relkind::text, ',' order by oid) from pg_class"
            let before = try await session.queryUnprepared(objects).text(row: 0, column: 0)
            try await store.applySchema()
            #expect(try await session.queryUnprepared(objects).text(row: 0, column: 0) == before)
            #expect(try await session.queryUnprepared("select count(*) from schema_version").int64(row: 0, column: 0) == 1)
            _ = try await StoreFixture.makeApplication(store)
        }
    }

    @Test("refuses a database of a newer version, and leaves the connection usable")
    func refusesNewerSchema() async throws {
        try await Self.withEmptyDatabase { store, session in
            try await store.applySchema()
            try await session.execute("insert into schema_version (version) values (999)")
            await #expect(throws: StorageError.refused(sqlState: "P0001")) { try await store.applySchema() }
            #expect(try await store.applications().isEmpty)
        }
    }

    @Test("makes apps with a sealed key, and refuses what is no key")
    func makesApplications() async throws {
        try await StoreFixture.with { fixture in
            let refused = try await fixture.store.createApplication(
                name: "x",
                credentials: ApplicationCredentials(
                    bundleID: "x",
                    signingKey: ApplicationCredentials.SigningKey(
                        key: ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567"), pem: Array("junk".utf8))),
                environment: .sandbox)
            guard case .unusableKey = refused else { throw FixtureError.unexpected("\(refused)") }
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            #expect(try await fixture.store.applications() == [fixture.application, other])
            #expect(try await fixture.store.application(other.publicID) == other)
            #expect(try await fixture.store.application(UUID(high: 1, low: 1)) == nil)
            await #expect(throws: StorageError.refused(sqlState: SQLState.checkViolation)) {
                _ = try await fixture.store.createApplication(
                    name: "x",
                    credentials: ApplicationCredentials(bundleID: "x", signingKey: StoreFixture.makeSigningKey(teamID: "")),
                    environment: .sandbox)
            }
        }
    }

    @Test("makes keys that are in force until they are revoked", arguments: KeyKind.allCases)
    func makesKeys(kind: KeyKind) async throws {
        try await StoreFixture.with { fixture in
            let key = try await fixture.store.createKey(kind: kind, application: fixture.application.id)
            let text = key.key.exposed
            #expect(text.hasPrefix("op_\(kind.name)_") && text.utf8.count == "op_\(kind.name)_".utf8.count + 43)
            let digest = SHA256.digest(Array(text.utf8))
            let principal = try #require(try await fixture.store.principal(forKeyDigest: digest))
            #expect(principal.application == fixture.application && principal.kind == kind)
            #expect(try await fixture.store.principal(forKeyDigest: SHA256.digest([1])) == nil)
            #expect(try await fixture.number("select count(*) from api_key where digest = $1", [.bytes(digest)]) == 1)
            let listed = try await fixture.store.keys()
            #expect(listed.map(\.id) == [key.id] && listed[0].kind == kind && !listed[0].isRevoked)
            #expect(listed[0].applicationID == fixture.application.publicID)
            #expect(try await fixture.store.revokeKey(key.id))
            #expect(try await fixture.store.principal(forKeyDigest: digest) == nil)
            #expect(try await fixture.store.keys().map(\.isRevoked) == [true])
            #expect(try await !fixture.store.revokeKey(UUID(high: 1, low: 1)))
        }
    }

    @Test("says unavailable when the database is away")
    func saysUnavailable() async throws {
        let options = try DatabaseOptions(url: "host=127.0.0.1 port=1 dbname=none")
        let pool = DatabasePool(loop: TestDatabase.loop, options: options, size: 1)
        let store = Store(pool: pool, sealingKey: StoreFixture.sealingKey)
        await #expect(throws: StorageError.unavailable) { try await store.applications() }
        await #expect(throws: StorageError.unavailable) { try await store.applySchema() }
        await #expect(throws: StorageError.unavailable) {
            try await store.accept(
                UpdateCommand(activityID: "a", name: "n", content: StoreFixture.content(.update)),
                application: Application(
                    id: ApplicationID(rawValue: 1), publicID: UUID(high: 1, low: 1), name: "n", bundleID: "b",
                    providerKey: ProviderKey(teamID: "t", keyID: "k"), defaultEnvironment: .production))
        }
        await pool.close()
    }

    @Test("says how devices come in, by what is told only, and never requires what cannot be verified")
    func setsDeviceAccess() async throws {
        try await StoreFixture.with { fixture in
            let (store, app) = (fixture.store, fixture.application.publicID)
            let pem = ES256PrivateKey.generate().publicKey.pem
            let none = try await store.setDeviceAccess(of: app, isOpen: nil, identityKeyPEM: nil, requiresIdentity: true)
            guard case .noKey = none else { throw FixtureError.unexpected("\(none)") }
            let unusable = try await store.setDeviceAccess(
                of: app, isOpen: true, identityKeyPEM: ES256PrivateKey.generate().pem, requiresIdentity: nil)
            guard case .unusableKey = unusable else { throw FixtureError.unexpected("\(unusable)") }
            #expect(try await store.application(app)?.deviceAccess == DeviceAccess())
            for (isOpen, key, requires, after) in [
                (true, nil, nil, DeviceAccess(isOpen: true)), (nil, pem, nil, DeviceAccess(isOpen: true, identityKeyPEM: pem)),
                (false, nil, true, DeviceAccess(identityKeyPEM: pem, requiresIdentity: true)),
                (nil, nil, false, DeviceAccess(identityKeyPEM: pem)),
            ] as [(Bool?, [UInt8]?, Bool?, DeviceAccess)] {
                let result = try await store.setDeviceAccess(
                    of: app, isOpen: isOpen, identityKeyPEM: key, requiresIdentity: requires)
                guard case .changed(let application) = result else { throw FixtureError.unexpected("\(result)") }
                #expect(application.deviceAccess == after)
                #expect(try await store.application(named: app)?.deviceAccess == after)
            }
            let nobody = try await store.setDeviceAccess(
                of: .random(), isOpen: true, identityKeyPEM: nil, requiresIdentity: nil)
            guard case .unknown = nobody else { throw FixtureError.unexpected("\(nobody)") }
        }
    }
}
