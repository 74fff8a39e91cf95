import Gateway
import PostgreSQL
import Security
import TestSupport
import Testing

@testable import Store

@Suite("Provider token", .enabled(if: TestDatabase.isAvailable)) struct ProviderTokenTests {
    private static func token(_ text: String, _ issuedAt: Int64) -> ProviderToken {
        ProviderToken(token: text, issuedAt: issuedAt)
    }

    @Test("is replaced by one daemon, when it is the expected one; a refused one not again within the distance")
    func isReplaced() async throws {
        try await StoreFixture.with { fixture in
            let key = try #require(fixture.application.providerKey)
            let store = fixture.store
            func replace(_ expected: ProviderToken?, _ token: ProviderToken, isForced: Bool = false) async throws -> ProviderToken
            {
                try await store.replaceToken(
                    of: key, expected: expected, with: token, forcedDistanceSeconds: isForced ? 1_200 : nil)
            }
            let none = try await store.currentToken(of: key)
            #expect(none == nil)
            let (first, second) = (Self.token("first", 1_000), Self.token("second", 3_000))
            #expect(try await replace(nil, first) == first)
            #expect(try await store.currentToken(of: key) == first)
            #expect(try await replace(nil, second) == first)
            // The first time at once, however young it is.
            #expect(try await replace(first, second, isForced: true) == second)
            // However much later the third says it was issued: the clock that says so may be wrong.
            let third = Self.token("third", 9_000)
            #expect(try await replace(second, third, isForced: true) == second)
            #expect(try await replace(second, third) == third)
            try await fixture.session.execute("update provider_token set forced_at = now() - interval '1200 s'")
            #expect(try await replace(third, first, isForced: true) == first)
            #expect(try await replace(first, second, isForced: true) == first)
            #expect(try await store.currentToken(of: ProviderKey(teamID: "TEAM123456", keyID: "OTHER12345")) == nil)
        }
    }

    @Test("goes when its key is replaced, and stays when the same key is told again")
    func goesWithItsKey() async throws {
        try await StoreFixture.with { fixture in
            let key = try #require(fixture.application.providerKey)
            let pem = try #require(try await fixture.store.signingKey(of: key))
            let first = Self.token("first", 1_000)
            _ = try await fixture.store.replaceToken(of: key, expected: nil, with: first, forcedDistanceSeconds: nil)
            func tell(_ pem: [UInt8]) async throws {
                let change = try await fixture.store.setCredentials(
                    ApplicationCredentials(signingKey: ApplicationCredentials.SigningKey(key: key, pem: pem)),
                    of: fixture.application.publicID)
                guard case .changed = change else { throw FixtureError.unexpected("\(change)") }
            }
            try await tell(pem)
            #expect(try await fixture.store.currentToken(of: key) == first)
            try await tell(StoreFixture.makeSigningKey().pem)
            #expect(try await fixture.store.currentToken(of: key) == nil)
        }
    }

    @Test("is replaced again after the database's clock was set back")
    func clockSetBack() async throws {
        try await StoreFixture.with { fixture in
            let key = try #require(fixture.application.providerKey)
            let (first, second, third) = (Self.token("first", 1_000), Self.token("second", 3_000), Self.token("third", 5_000))
            _ = try await fixture.store.replaceToken(of: key, expected: nil, with: first, forcedDistanceSeconds: nil)
            _ = try await fixture.store.replaceToken(of: key, expected: first, with: second, forcedDistanceSeconds: 1_200)
            try await fixture.session.execute("update provider_token set forced_at = now() + interval '1 hour'")
            let used = try await fixture.store.replaceToken(of: key, expected: second, with: third, forcedDistanceSeconds: 1_200)
            #expect(used == third)
        }
    }

    @Test("offered by many at once has one winner")
    func hasOneWinner() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let key = try #require(fixture.application.providerKey)
            for expected in [nil, try await fixture.store.currentToken(of: key)] {
                let used = try await withThrowingTaskGroup(of: ProviderToken.self) { group in
                    for number in 0..<20 {
                        group.addTask {
                            try await fixture.store.replaceToken(
                                of: key, expected: expected, with: Self.token("\(number)", 5_000), forcedDistanceSeconds: nil)
                        }
                    }
                    return try await group.reduce(into: Set()) { $0.insert($1) }
                }
                #expect(used.count == 1)
                #expect(try await fixture.store.currentToken(of: key) == used.first)
            }
        }
    }

    @Test("and signing key are sealed, and useless under another master key")
    func areSealed() async throws {
        try await StoreFixture.with { fixture in
            let key = try #require(fixture.application.providerKey)
            let pem = try #require(try await fixture.store.signingKey(of: key))
            #expect(String(decoding: pem, as: UTF8.self).contains("PRIVATE KEY"))
            let token = Self.token("secret-token", 1_000)
            _ = try await fixture.store.replaceToken(of: key, expected: nil, with: token, forcedDistanceSeconds: nil)
            let plain = try await fixture.number(
                """
                select (select count(*) from signing_key where position('PRIVATE'::bytea in sealed_pem) > 0)
                    + (select count(*) from provider_token where position('secret'::bytea in sealed_token) > 0)
                """)
            #expect(plain == 0)
            let other = Store(pool: fixture.pool, sealingKey: SealingKey(bytes: Array(repeating: 9, count: 32))!)
            #expect(try await other.signingKey(of: key) == nil)
            #expect(try await other.currentToken(of: key) == nil)
            let fresh = Self.token("fresh", 1_001)
            #expect(try await other.replaceToken(of: key, expected: nil, with: fresh, forcedDistanceSeconds: nil) == fresh)
            // A sealed value does not open in the place of another one.
            try await fixture.session.execute(
                """
                insert into signing_key select team_id, 'KEY7654321', sealed_pem from signing_key
                """)
            #expect(try await fixture.store.signingKey(of: ProviderKey(teamID: "TEAM123456", keyID: "KEY7654321")) == nil)
        }
    }
}
