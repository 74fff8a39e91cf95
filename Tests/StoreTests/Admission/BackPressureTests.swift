import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Back-pressure", .enabled(if: TestDatabase.isAvailable)) struct BackPressureTests {
    private static let key = IdempotencyKey(key: UUID(high: 3, low: 4), bodyDigest: Array(repeating: 7, count: 32))

    /// Starts that wait to be sent, by SQL.
    private func addUnfinished(_ count: Int, of application: Application, _ fixture: StoreFixture) async throws {
        try await fixture.session.execute(
            """
            insert into fan_out (notification_id, app_id, activity_number, event, type_id, has_languages, is_carved)
            select new_time_ordered_id(), \(application.id), 1, 0, 1, false, true from generate_series(1, \(count))
            """)
    }

    @Test("refuses starts beyond the bound, whole, and takes them again when some have finished")
    func refusesStarts() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            try await fixture.hold("running", device: 1)
            let first = try await fixture.accept(StoreFixture.start("match-1", key: Self.key))
            try await addUnfinished(AdmissionLimits.unfinishedStartCount - 2, of: fixture.application, fixture)
            _ = try await fixture.accept(StoreFixture.start("match-2"))
            let before = try await fixture.number("select count(*) from notification")
            let other = IdempotencyKey(key: UUID(high: 5, low: 6), bodyDigest: Self.key.bodyDigest)
            let refused = try await fixture.store.accept(
                StoreFixture.start("match-3", key: other), application: fixture.application)
            guard case .overloaded = refused else { throw FixtureError.unexpected("\(refused)") }
            #expect(try await fixture.number("select count(*) from notification") == before)
            #expect(try await fixture.number("select count(*) from activity where activity_id = 'match-3'") == 0)
            #expect(try await fixture.number("select count(*) from idempotency") == 1)

            // What was accepted is still told; what replaces unsent states is still taken; other apps are not held up.
            let replay = try await fixture.store.accept(
                StoreFixture.start("match-1", key: Self.key), application: fixture.application)
            guard case .replayed(first.publicID, sameBody: true) = replay else { throw FixtureError.unexpected("\(replay)") }
            _ = try await fixture.accept(.update, of: "running")
            _ = try await fixture.accept(.end, of: "running")
            let neighbour = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            let nobody = try await fixture.store.accept(StoreFixture.start("match-1"), application: neighbour)
            guard case .nobody = nobody else { throw FixtureError.unexpected("\(nobody)") }

            try await fixture.session.execute(
                """
                update fan_out set finished_at = now()
                where notification_id = (select max(notification_id) from fan_out where event = 0 and is_carved)
                """)
            _ = try await fixture.accept(StoreFixture.start("match-3", key: other))
        }
    }

    @Test("does not count updates, ends and what has finished")
    func countsOpenStarts() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await addUnfinished(AdmissionLimits.unfinishedStartCount, of: fixture.application, fixture)
            try await fixture.session.execute("update fan_out set event = 1, type_id = null")
            try await addUnfinished(AdmissionLimits.unfinishedStartCount, of: fixture.application, fixture)
            try await fixture.session.execute("update fan_out set finished_at = now() where event = 0")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
        }
    }
}
