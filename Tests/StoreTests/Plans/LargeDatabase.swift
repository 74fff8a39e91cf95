import Gateway
import PostgreSQL
import Testing

@testable import Store

/// A database of two apps, the small one's rows scattered among those of the large one: made once for a suite.
///
/// It has 100,000 devices, not a million: making those takes minutes on a busy machine with two cores. Every plan that
/// would read all of a million reads all of these, too: the fewer there are, the sooner the planner does.
struct LargeDatabase: Sendable {
    static let deviceCount = 100_000
    /// Every so many devices one is the small app's.
    static let smallAppInterval = 100
    /// Devices that share a value of the tag `rare`.
    static let rareCount = 10

    let fixture: StoreFixture
    let small: Application
    /// Numbers of the type of both apps' tokens.
    let type: Int32
    let smallType: Int32
    /// The number of device 7.
    let device: Int64
    /// Tables with so many rows that reading one from end to end is a fault.
    let largeTables: Set<String>
    /// The activity everybody of the large app holds, and a start of it that was pushed to all of them.
    let activity: Int64
    let pushed: Int64
    /// Fan-outs that wait, to everybody, to devices of a tag, and to a list; and an update that waits.
    let toEverybody: Int64
    let toTag: Int64
    let toList: Int64
    let update: Int64
    /// An update whose pushes to everybody wait for another try, all due; one of the small app, all of whose pushes wait for a while;
    /// and a start of several types.
    let waiting: Int64
    let smallWaiting: Int64
    let typed: Int64
    /// A worker that is gone with chunks of `waiting` and `typed`.
    let lostWorker: Int32

    static func make(_ fixture: StoreFixture) async throws -> LargeDatabase {
        let small = try await StoreFixture.makeApplication(fixture.store, name: "Small")
        let app = fixture.application.id
        // Without a log it takes half the time; plans are the same.
        for table in ["device", "start_token", "device_tag", "device_alias", "update_token"] {
            try await fixture.session.execute("alter table \(table) set unlogged")
        }
        try await fixture.session.execute(devices(app, small.id), deadline: patience)
        try await fixture.session.execute(pushes(app), deadline: patience)
        try await fixture.session.execute(retries(app, small.id), deadline: patience)
        for table in tables { try await fixture.session.execute("vacuum (analyze) \(table)", deadline: patience) }
        let sizes = try await fixture.session.queryUnprepared(
            "select relname::text from pg_class where relkind = 'r' and reltuples >= 10000")
        let largeTables = Set((0..<sizes.rowCount).map { sizes.text(row: $0, column: 0) })
        func number(_ sql: String) async throws -> Int64 { try #require(try await fixture.number(sql)) }
        let tag = FilterExpression(branches: [[.tag(key: "club", .compares(.equal, "c3"))]])
        let aliases = (1...2_000).map { AliasReference(label: "external_id", identifier: "user-\($0)") }
        return LargeDatabase(
            fixture: fixture, small: small,
            type: Int32(try await number("select type_id from activity_type where app_id = \(app)")),
            smallType: Int32(try await number("select type_id from activity_type where app_id = \(small.id)")),
            device: try await fixture.deviceNumber(7), largeTables: largeTables,
            activity: try await number("select activity_number from activity where app_id = \(app) and activity_id = 'match-0'"),
            pushed: try await number("select notification_id from notification where name = 'pushed'"),
            toEverybody: try await fixture.accept(StoreFixture.start("open-1")).id.rawValue,
            toTag: try await fixture.accept(StoreFixture.start("open-2", .filters(tag))).id.rawValue,
            toList: try await fixture.accept(StoreFixture.start("open-3", .aliases(aliases))).id.rawValue,
            update: try await fixture.accept(.update, of: "match-0").id.rawValue,
            waiting: try await number("select notification_id from notification where name = 'waiting'"),
            smallWaiting: try await number("select notification_id from notification where name = 'small'"),
            typed: try await number("select notification_id from notification where name = 'typed'"),
            lostWorker: Int32(try await number("select worker_id from worker where node = 'lost'")))
    }

    private static let patience: Duration = .seconds(300)
    private static let tables = [
        "device", "start_token", "device_tag", "device_alias", "activity", "update_token", "notification", "fan_out",
        "fan_out_chunk", "delivery", "click", "delivery_retry", "quiet_token",
    ]

    /// Devices 1, 2, 3… as `StoreFixture` names them, with tokens, tags and aliases.
    private static func devices(_ app: ApplicationID, _ small: ApplicationID) -> String {
        """
        set synchronous_commit = off;
        set statement_timeout = 0;
        insert into activity_type (app_id, name)
        select app, '\(StoreFixture.type)' from unnest(array[\(app), \(small)]) as app;
        insert into device
            (app_id, push_token, environment, external_id, language, country, session_count, last_session, tags, latitude,
            longitude)
        select case when n % \(smallAppInterval) = 0 then \(small) else \(app) end, convert_to('push-' || n, 'UTF8'), 0,
            'user-' || n / 2, (array['en', 'de', 'fr'])[1 + n % 3], (array['US', 'DE', 'FR', 'IT', 'ES'])[1 + n % 5], n % 200,
            1900000000 - n, jsonb_build_object('club', 'c' || n % 10, 'rare', n / \(rareCount)), n % 90, n % 180
        from generate_series(1, \(deviceCount)) as n;
        insert into start_token (app_id, type_id, device_id, token, service)
        select app_id, type_id, device_id, sha256(push_token), 0 from device join activity_type using (app_id)
        order by app_id, device_id;
        insert into device_tag (app_id, key, value, device_id)
        select app_id, key, value, device_id from device, jsonb_each_text(tags) order by app_id, key, value, device_id;
        insert into device_alias (app_id, label, identifier, device_id)
        select app_id, 'external_id', external_id, device_id from device;
        """
    }

    /// Many activities with pushes, one of them held by everybody, pushed to everybody and tapped by a tenth.
    private static func pushes(_ app: ApplicationID) -> String {
        """
        insert into activity (app_id, activity_id, type_id)
        select \(app), 'match-' || n, type_id from generate_series(0, 9999) as n, activity_type where app_id = \(app);
        insert into update_token (activity_number, device_id, app_id, token, service, started_at)
        select activity_number, device_id, device.app_id, sha256(push_token), 0, unix_seconds(now())
        from activity join device using (app_id) where activity_id = 'match-0'
        order by device_id;
        insert into notification
            (notification_id, app_id, activity_number, event, type_id, name, content, push_timestamp, expires_at)
        select new_time_ordered_id(), app_id, activity_number, 1, type_id,
            case when activity_id = 'match-0' and n = 1 then 'pushed' else 'other' end, '{}', n, unix_seconds(now())
        from activity, generate_series(1, 2) as n;
        insert into fan_out
            (notification_id, app_id, activity_number, event, type_id, has_languages, is_carved, finished_at, chunk_count)
        select notification_id, app_id, activity_number, event, type_id, false, true, now(), 1 from notification;
        insert into fan_out_chunk (notification_id, number, state, closed_at, accepted)
        select notification_id, 0, 2, now(), 1 from notification;
        insert into delivery (notification_id, device_id, at_ms, status)
        select notification_id, device_id, 0, \(DeliveryReason.accepted.rawValue)
        from notification join device using (app_id) where name = 'pushed'
        order by device_id;
        insert into click (notification_id, device_id)
        select notification_id, device_id from delivery where device_id % 10 = 0;
        """
    }

    /// An outage: everybody of the large app waits, and some of the small one; thousands of its updates wait for a retry, thousands more to
    /// be claimed; and chunks of a worker that is gone, some of lists and some of pages.
    private static func retries(_ app: ApplicationID, _ small: ApplicationID) -> String {
        let chunk = FanOutLimits().chunkDeviceCount
        return """
            insert into activity (app_id, activity_id, type_id)
            select app_id, 'small', type_id from activity_type where app_id = \(small);
            insert into notification
                (notification_id, app_id, activity_number, event, type_id, name, content, push_timestamp, expires_at)
            select new_time_ordered_id(), app_id, activity_number, event, type_id, name, '{}', 1, unix_seconds(now()) + 3600
            from activity join (values ('match-0', 'waiting', 1), ('match-1', 'typed', 0), ('small', 'small', 1))
                as wanted (activity_id, name, event) using (activity_id);
            insert into fan_out
                (notification_id, app_id, activity_number, event, type_id, type_ids, users_seen, has_languages, watermark, is_carved,
                chunk_count)
            select notification_id, app_id, activity_number, event, type_id, case when event = 0 then array[type_id] end,
                case when event = 0 then pg_current_snapshot() end, false, 1000000, true, 2
            from notification where name in ('waiting', 'typed', 'small');
            insert into delivery_retry (notification_id, device_id, attempt, is_targeted, not_before, app_id)
            select notification_id, device_id, 1, true,
                now() + case when name = 'small' then interval '1 hour' else interval '0' end, app_id
            from notification join device using (app_id)
            where name in ('waiting', 'small')
            order by device_id;
            with one as (
                insert into notification
                    (notification_id, app_id, activity_number, event, type_id, name, content, push_timestamp, expires_at)
                select new_time_ordered_id(), app_id, activity_number, 1, type_id, 'one', '{}', 1, unix_seconds(now()) + 3600
                from activity where app_id = \(app) and activity_id like 'match-1%'
                returning notification_id, app_id, activity_number, event, type_id)
            insert into fan_out (notification_id, app_id, activity_number, event, type_id, has_languages, is_carved)
            select notification_id, app_id, activity_number, event, type_id, false, activity_number % 4 <> 0 from one;
            insert into delivery_retry (notification_id, device_id, attempt, is_targeted, not_before, app_id)
            select notification_id, (select min(device_id) from device), 1, true, now() + interval '1 hour', app_id
            from fan_out join notification using (notification_id, app_id)
            where name = 'one' and is_carved;
            insert into quiet_token (activity_number, device_id, token, until)
            select activity_number, device_id, token, now() + interval '1 hour' from update_token where device_id % 2 = 0;
            insert into worker (node, lease_until, lost_at) values ('lost', now(), now());
            insert into fan_out_chunk
                (notification_id, number, state, owner, epoch, low, high, devices, claimed_at, targeted)
            select notification_id, number, 1, worker_id, 1, 0, page.high, case when number = 0 then page.devices end, now(), \(chunk)
            from notification, worker, generate_series(0, 1) as number, (
                select max(device_id) as high, array_agg(device_id) as devices
                from (select device_id from device where app_id = \(app) order by device_id limit \(chunk)) as listed) as page
            where name in ('waiting', 'typed');
            """
    }
}

/// Lends the large database to the tests of a suite.
struct LargeDatabaseTrait: SuiteTrait, TestScoping {
    @TaskLocal static var database: LargeDatabase?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await StoreFixture.with { fixture in
            let database = try await LargeDatabase.make(fixture)
            try await Self.$database.withValue(database) { try await function() }
        }
    }
}

extension Trait where Self == LargeDatabaseTrait {
    static var largeDatabase: Self { Self() }
}
