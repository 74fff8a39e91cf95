import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

extension PlanTests {
    @Test("sum up the notifications of a time, each once, and not those of another time or app")
    func statistics() async throws {
        let database = try Self.database()
        let (app, small) = ("\(database.fixture.application.id)", "\(database.small.id)")
        let now = try #require(try await database.fixture.number("select unix_seconds(now())"))
        let (day, groups) = (Int64(86_400), "1000")
        let recent = ["\(now - day)", "\(now + day)", groups]
        let earlier = ["\(now - 30 * day)", "\(now - 29 * day)", groups]
        let notificationCount = try #require(
            try await database.fixture.number("select count(*) from notification where app_id = \(app)"))
        #expect(notificationCount > 20_000)
        for statement in StatisticsStatements.all {
            try await Self.judge(
                [Call(statement, [app] + earlier), Call(statement, [small] + earlier)],
                database)
            // Of two apps the planner expects half of all notifications each, unless it plans for this one.
            let own = try await database.fixture.plan(statement, [small] + recent, mode: "force_custom_plan")
            let foreign = own.faults(largeTables: database.largeTables, rows: 50)
            #expect(foreign.isEmpty, "\(statement.name): \(foreign.joined(separator: "; "))")
            // All of the app's: each of its notifications, and each tap, is looked at once.
            for mode in StoreFixture.planModes {
                let plan = try await database.fixture.plan(statement, [app] + recent, mode: mode)
                let faults = plan.faults(
                    largeTables: database.largeTables, rows: Int(notificationCount) + 100, isAboutAll: true)
                #expect(faults.isEmpty, "\(statement.name), \(mode): \(faults.joined(separator: "; "))")
            }
        }
    }

    @Test("find segments of an app among those of others, and a page of them wherever it begins")
    func segments() async throws {
        let database = try Self.database()
        let fixture = database.fixture
        let (app, small) = ("\(fixture.application.id)", "\(database.small.id)")
        try await fixture.session.execute(
            """
            insert into segment (app_id, name, definition, created_at)
            select case when n % 20 = 0 then \(app) else \(small) end, 'segment ' || n, '[]', now() - n * interval '1 second'
            from generate_series(1, 20000) as n;
            analyze segment
            """)
        let first = "(select public_id from segment where app_id = \(app) order by created_at, public_id limit 1)"
        let known = "'\(try #require(try await fixture.text("select \(first)::text")))'"
        let names = "'{segment 20,segment 40,segment 60,nobody}'"
        // The identifier that a client chose, or a random one.
        let fresh = "'\(UUID.random())'"
        let calls = [
            Call(SegmentStatements.find, [app, names]), Call(SegmentStatements.one, [app, known]),
            Call(SegmentStatements.fromOffset, [app, "51", "0"], rows: 60),
            Call(SegmentStatements.fromOffset, [app, "51", "900"], rows: 1_000),
            Call(SegmentStatements.behind, [app, "51", "now() - interval '10000 seconds'", known], rows: 60),
            Call(SegmentStatements.count, [app], rows: 1_010),
            Call(SegmentStatements.create, [fresh, app, "'new'", "'[]'", "''", "10000"], rows: 1_010),
            Call(SegmentStatements.change, [app, known, "'other'", "null", "null"]),
            Call(SegmentStatements.remove, [app, known]),
        ]
        let largeTables = database.largeTables.union(["segment"])
        for call in calls {
            for mode in StoreFixture.planModes {
                let plan = try await fixture.plan(call.statement, call.arguments, mode: mode)
                let faults = plan.faults(largeTables: largeTables, rows: call.rows)
                #expect(faults.isEmpty, "\(call.statement.name), \(mode): \(faults.joined(separator: "; "))")
            }
        }
        try await fixture.session.execute("delete from segment")
    }

    @Test("that count a large part of a large app, or find nobody in it, look at each device once")
    func largeAudiences() async throws {
        let database = try Self.database()
        let nobody: [[[FilterCondition]]] = [
            [[.country(.equal, "AQ")]], [[.sessionCount(.greater, 1_000)]], [[.tag(key: "club", .compares(.greater, "7"))]],
            [[Self.tag, .language(.equal, "ja")]], [[.country(.equal, "AQ")], [.tag(key: "none", .exists)]],
        ]
        let many: [[[FilterCondition]]] = [
            [[Self.tag]], [[.country(.notEqual, "US")]], FrozenAudience.everybody,
            [[.tag(key: "club", .isNoneOf(["c1", "c2"])), .sessionCount(.less, 150)], [.language(.equal, "de")]],
        ]
        for (included, isMany) in nobody.map({ ($0, false) }) + many.map({ ($0, true) }) {
            let audience = FrozenAudience(included: included, excluded: [])
            let sql = AudienceSQL(audience)
            let parameters = sql.parameters(
                application: database.fixture.application.id, type: database.type, low: 0, high: .max,
                momentMicroseconds: 1_900_000_000_000_000)
            let count = try await database.fixture.plan("select \(CountingStatements.counts) \(sql.deviceSource)", parameters)
            let reach = try await database.fixture.plan(
                "select exists (select \(sql.source(withDevice: false)))", parameters)
            for (name, plan) in [("count", count), ("reach", reach)] {
                let faults = plan.faults(
                    largeTables: database.largeTables, rows: LargeDatabase.deviceCount, isAboutAll: true)
                #expect(faults.isEmpty, "\(name) \(audience): \(faults.joined(separator: "; "))")
            }
            // One that matches is enough, and it is found soon.
            if isMany {
                let lookedAt = reach.nodes.filter { $0.relation != nil }.map(\.lookedAt).max() ?? 0
                #expect(lookedAt <= 20_000, "\(audience) looks at \(lookedAt) rows")
            }
        }
    }

    @Test("count taps on a channel's push by the devices that tapped, however many are on it")
    func channelTaps() async throws {
        let database = try Self.database()
        let fixture = database.fixture
        let app = fixture.application.id
        // Half of the devices asked for the channel, and a start put the others there; the channel got an update.
        try await fixture.session.execute(
            """
            insert into notification
                (notification_id, app_id, activity_number, event, name, content, push_timestamp, expires_at)
            select new_time_ordered_id(), app_id, activity_number, 1, 'on channel', '{}', 1, 1
            from activity
            where app_id = \(app) and activity_id = 'match-1';
            insert into delivery (notification_id, device_id, at_ms, status)
            select notification_id, -1, 0, \(DeliveryReason.accepted.rawValue) from notification where name = 'on channel';
            insert into channel_member (activity_number, device_id, app_id)
            select activity_number, device_id, device.app_id
            from activity join device using (app_id)
            where activity.app_id = \(app) and activity_id = 'match-1' and device_id % 2 = 0;
            insert into delivery (notification_id, device_id, at_ms, status)
            select \(database.typed), device_id, 0, \(DeliveryReason.acceptedForChannel.rawValue)
            from device where app_id = \(app) and device_id % 2 = 1;
            analyze delivery, channel_member
            """)
        let update = try await fixture.text("select public_id::text from notification where name = 'on channel'")
        let count = 100
        // The numbers of devices of the small app are left out.
        let numbers = (1...count).map { $0 + ($0 - 1) / 99 }
        func list(_ type: String, _ element: (Int) -> String) -> String {
            "array[\(numbers.map(element).joined(separator: ","))]::\(type)[]"
        }
        let zeros = "'\(UUID(high: 0, low: 0))'"
        let named = list("uuid") { _ in "'\(update ?? "")'" }
        let largeTables = database.largeTables.union(["channel_member"])
        for mode in StoreFixture.planModes {
            let arguments = [
                list("int") { _ in "\(app)" }, list("bytea") { "'push-\($0)'" }, list("uuid") { _ in zeros },
                list("text") { _ in "'match-1'" }, named, list("smallint") { _ in "1" }, list("uuid") { _ in zeros },
                list("smallint") { _ in "0" },
            ]
            let plan = try await fixture.plan(ClickStatements.count, arguments, mode: mode)
            let faults = plan.faults(largeTables: largeTables, rows: 10 * count)
            #expect(faults.isEmpty, "\(mode): \(faults.joined(separator: "; "))")
        }
        let taps = numbers.map { number in
            Tap(
                application: app, device: .pushToken(StoreFixture.pushToken(number)), activityID: "match-1",
                notification: update.flatMap { UUID($0) })
        }
        let results = try await fixture.store.count(taps)
        #expect(results.allSatisfy { if case .counted = $0 { true } else { false } }, "\(results)")
        try await fixture.session.execute(
            """
            delete from click where notification_id in (select notification_id from delivery where device_id = -1);
            delete from delivery where device_id = -1 or status = \(DeliveryReason.acceptedForChannel.rawValue);
            delete from channel_member;
            delete from notification where name = 'on channel'
            """)
    }
}
