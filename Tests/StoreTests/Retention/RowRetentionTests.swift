import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Retention of rows", .enabled(if: TestDatabase.isAvailable)) struct RowRetentionTests {
    private static let key = IdempotencyKey(key: UUID(high: 1, low: 2), bodyDigest: Array(repeating: 7, count: 32))

    private func counts(_ fixture: StoreFixture) async throws -> [Int64?] {
        var counts: [Int64?] = []
        for table in ["notification", "fan_out", "activity", "idempotency"] {
            counts.append(try await fixture.number("select count(*) from \(table)"))
        }
        return counts
    }

    @Test("removes a notification, its fan-out and its activity when they are past their time, not before")
    func removesNotifications() async throws {
        try await StoreFixture.with { fixture in
            let start = try await fixture.finishedStart("match-1")
            // The day of a notification has to be over for as long as well, hence a day more.
            #expect(try await fixture.maintain(hoursAhead: 30 * 24 - 1).removed.notifications == 0)
            #expect(try await counts(fixture) == [1, 1, 1, 0])
            try await fixture.session.execute("update fan_out set finished_at = now() + interval '2 days'")
            #expect(try await fixture.maintain(hoursAhead: 31 * 24).removed.notifications == 0)
            try await fixture.session.execute("update fan_out set finished_at = now()")
            let report = try await fixture.maintain(hoursAhead: 31 * 24 + 1)
            #expect(report.removed.notifications == 1 && report.removed.activities == 1)
            #expect(try await counts(fixture) == [0, 0, 0, 0])
            #expect(try await fixture.store.notification(start.publicID, application: fixture.application.id) == nil)
        }
    }

    @Test("keeps what an idempotency key leads to, however short the rest is kept")
    func keepsKeys() async throws {
        try await StoreFixture.with { fixture in
            let keyed = try await fixture.finishedStart("match-1", key: Self.key)
            _ = try await fixture.finishedStart("match-2")
            let report = try await fixture.maintain(hoursAhead: 29 * 24, retentionDays: 1)
            #expect(report.removed.notifications == 1 && report.removed.keys == 0)
            let replay = try await fixture.store.replay(of: Self.key, application: fixture.application.id)
            guard case .replayed(let identifier, sameBody: true) = replay else {
                throw FixtureError.unexpected("\(String(describing: replay))")
            }
            #expect(identifier == keyed.publicID)
            #expect(try await fixture.summary(keyed).clickCount == 3)
            let last = try await fixture.maintain(hoursAhead: 30 * 24 + 1, retentionDays: 1)
            #expect(last.removed.notifications == 1 && last.removed.keys == 1)
            #expect(try await counts(fixture) == [0, 0, 0, 0])
        }
    }

    @Test("keeps unfinished notifications, and sees what comes behind many that it keeps")
    func looksBehindKept() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.finishedStart("match-1")
            try await fixture.session.execute(
                """
                with old as (
                    select time_ordered_id(now() - interval '3 days', n) as id, n
                    from generate_series(1, \(2 * Retention.windowCount + 10)) as n),
                told as (
                    insert into notification
                        (notification_id, app_id, activity_number, event, name, content, push_timestamp, expires_at)
                    select id, \(fixture.application.id), 1, 1, 'old', '', 0, 0 from old)
                insert into fan_out
                    (notification_id, app_id, activity_number, event, has_languages, is_carved, finished_at)
                select id, \(fixture.application.id), 1, 1, false, n > \(2 * Retention.windowCount),
                    case when n > \(2 * Retention.windowCount) then now() end
                from old
                """)
            let report = try await fixture.maintain(hoursAhead: 40 * 24)
            #expect(report.removed.notifications == 11)
            #expect(report.progress == RetentionProgress())
            #expect(try await fixture.number("select count(*) from fan_out") == Int64(2 * Retention.windowCount))
            #expect(try await fixture.number("select count(*) from fan_out where finished_at is not null") == 0)
        }
    }

    @Test("removes activities that are over or forgotten, and none that somebody may still ask for")
    func removesActivities() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            // One that only a device told of, one that was ended, one that runs.
            try await fixture.hold("told", device: 1)
            try await fixture.hold("ended", device: 1)
            let worker = try await fixture.store.registerWorker(node: "a")
            _ = try await fixture.accept(.end, of: "ended")
            try await fixture.deliverEverything(worker)
            #expect(try await fixture.maintain(hoursAhead: 30 * 24).removed.activities == 0)
            // The tokens go first, the notification at its time, and their activities with the last of them.
            let report = try await fixture.maintain(hoursAhead: 31 * 24 + 13)
            #expect(report.removed.updateTokens == 0 && report.removed.notifications == 1 && report.removed.activities == 2)
            #expect(try await fixture.number("select count(*) from activity") == 0)
            // A token that is registered later keeps a name that is old.
            try await fixture.session.execute(
                """
                insert into activity (activity_number, app_id, activity_id)
                values (time_ordered_id(now() - interval '100 days', 1), \(fixture.application.id), 'stable')
                """)
            try await fixture.hold("stable", device: 1)
            #expect(try await fixture.store.maintain().removed.activities == 0)
            #expect(try await fixture.number("select count(*) from activity") == 1)
        }
    }

    @Test("passes over an activity that somebody is busy with")
    func passesOverBusyActivities() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.session.execute(
                """
                insert into activity (activity_number, app_id, activity_id)
                values (time_ordered_id(now() - interval '100 days', 1), \(fixture.application.id), 'busy');
                begin;
                select pg_advisory_xact_lock_shared(\(fixture.application.id), hashtext('busy'));
                """)
            #expect(try await fixture.store.maintain().removed.activities == 0)
            try await fixture.session.execute("commit")
            #expect(try await fixture.store.maintain().removed.activities == 1)
        }
    }

    @Test("removes update tokens a day after their last push, and what waits for a notification that is gone")
    func removesTokensAndRetries() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await fixture.hold("match-1", device: 1)
            try await fixture.session.execute(
                "insert into delivery_retry values (time_ordered_id(now() - interval '40 days', 1), 1, 0, false, now())")
            let early = try await fixture.maintain(hoursAhead: 35)
            #expect(early.removed.updateTokens == 0 && early.removed.retries == 1)
            #expect(try await fixture.maintain(hoursAhead: 37).removed.updateTokens == 1)
        }
    }

    @Test("forgets workers that stopped without a word, once others have taken their chunks")
    func forgetsWorkers() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let gone = try await fixture.store.registerWorker(node: "a")
            #expect(try await fixture.claim(gone) != nil)
            try await fixture.maintain(hoursAhead: 23)
            #expect(try await fixture.number("select count(*) from worker where lost_at is null") == 1)
            try await fixture.maintain(hoursAhead: 25)
            #expect(try await fixture.number("select count(*) from worker where lost_at is not null") == 1)
            #expect(try await fixture.maintain(hoursAhead: 50).removed.workers == 0)
            let next = try await fixture.store.registerWorker(node: "b")
            try await fixture.deliverEverything(next)
            #expect(try await fixture.maintain(hoursAhead: 50).removed.workers == 1)
            #expect(try await fixture.number("select worker_id from worker") == Int64(next.rawValue))
        }
    }

    @Test("does not bring back the state of an activity that expired long ago")
    func leavesExpiredStates() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            try await fixture.hold("stable", device: 1)
            let worker = try await fixture.store.registerWorker(node: "a")
            _ = try await fixture.accept(.update, of: "stable")
            try await fixture.deliverEverything(worker)
            try await fixture.session.execute("update notification set expires_at = unix_seconds(now()) - 1")
            #expect(try await !fixture.hold("stable", device: 2).catchUp)
            #expect(try await fixture.number("select count(*) from delivery_retry") == 0)
        }
    }
}
