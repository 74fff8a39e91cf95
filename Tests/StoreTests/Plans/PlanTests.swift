import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Plans at the size of a large app", .enabled(if: TestDatabase.isAvailable), .serialized, .largeDatabase)
struct PlanTests {
    /// A statement with the arguments of one call, as SQL literals, and how many rows of a large table it may look at.
    struct Call {
        let statement: Statement
        let arguments: [String]
        let rows: Int
        init(_ statement: Statement, _ arguments: [String], rows: Int = 50) {
            self.statement = statement
            self.arguments = arguments
            self.rows = rows
        }
    }

    static func database() throws -> LargeDatabase { try #require(LargeDatabaseTrait.database) }

    static func judge(_ calls: [Call], _ database: LargeDatabase) async throws {
        #expect(database.largeTables.isSuperset(of: ["device", "start_token", "device_tag", "device_alias", "update_token"]))
        for call in calls {
            for mode in StoreFixture.planModes {
                let plan = try await database.fixture.plan(call.statement, call.arguments, mode: mode)
                let faults = plan.faults(largeTables: database.largeTables, rows: call.rows)
                #expect(faults.isEmpty, "\(call.statement.name), \(mode): \(faults.joined(separator: "; "))")
            }
        }
    }

    @Test("touch one device when one device speaks")
    func devices() async throws {
        let database = try Self.database()
        let app = "\(database.fixture.application.id)"
        let (device, activity, type) = ("\(database.device)", "\(database.activity)", "\(database.type)")
        let (push, token, name) = ("'push-7'", "'another'", "'\(StoreFixture.type)'")
        var calls = [
            Call(DeviceStatements.find, [app, push]), Call(DeviceStatements.lock, [app, push]),
            Call(StartTokenStatements.lockRows, [app, type, device, token]),
            Call(StartTokenStatements.put, [app, type, device, token, "0"]),
            Call(DeviceStatements.moveStartTokens, [app, device]),
            Call(DeviceStatements.moveUpdateTokens, [app, device]),
            Call(DeviceStatements.removeUpdateTokens, [app, device]),
            Call(InstanceStatements.types, [app, "'{\(StoreFixture.type)}'"]),
            Call(
                InstanceStatements.devices,
                [app, "'{\(StoreFixture.type)}'", "'{external_id}'", "'{user-7}'", "null", "'{0,1}'"]),
            Call(InstanceStatements.lockDevices, [app, "'{\(device)}'"]),
            Call(InstanceStatements.hold, ["\(database.update)", "'{\(device)}'", "'{external_id}'", "'{user-7}'"]),
            Call(UpdateTokenStatements.lockRows, [app, activity, device, token]),
            Call(UpdateTokenStatements.put, [app, activity, device, token, "0", "null", "300"]),
            Call(UpdateTokenStatements.noteTold, [activity, device, token]),
            Call(UpdateTokenStatements.joinLate, ["\(database.waiting)", device, "4000000000", token, "true"]),
            Call(UpdateTokenStatements.rejoinLate, ["\(database.waiting)", device, "4000000000", token]),
        ]
        let known = try await database.fixture.text("select public_id::text from device where device_id = \(device)")
        let subscription = "'\(try #require(known))'"
        calls += [DeviceStatements.findNamed, DeviceStatements.lockNamed].map { Call($0, [app, push, subscription]) }
        let owner = ["array['external_id']", "array['user-7']"]
        for (key, keys, of) in [
            (push, "array[\(push)]::bytea[]", \DeviceStatement.byPushToken),
            (subscription, "array[\(subscription)]::uuid[]", \DeviceStatement.bySubscription),
        ] {
            calls += [
                Call(
                    StartTokenStatements.register[keyPath: of],
                    [app, keys, "array[\(name)]", "array[\(token)]::bytea[]"] + owner),
                Call(StartTokenStatements.device[keyPath: of], [app, key, name, token]),
                Call(StartTokenStatements.remove[keyPath: of], [app, key, name]),
                Call(UpdateTokenStatements.find[keyPath: of], [app, key, "'match-0'", token]),
                Call(UpdateTokenStatements.lockDevice[keyPath: of], [app, key]),
                Call(UpdateTokenStatements.end[keyPath: of], [app, key, "'match-0'"]),
                Call(DeviceStatements.hasAlias[keyPath: of], [app, key, "'external_id'", "'user-7'"]),
            ]
        }
        try await Self.judge(calls, database)
    }

    @Test("touch one user's devices when a user is spoken of")
    func users() async throws {
        let database = try Self.database()
        let (app, device) = ("\(database.fixture.application.id)", "\(database.device)")
        let known = try await database.fixture.text("select public_id::text from device where device_id = \(device)")
        let subscription = "'\(try #require(known))'"
        let (alias, nobody, most) = (["'external_id'", "'user-6'"], ["null", "null"], "\(UserSelector.deviceCount + 1)")
        var calls: [Call] = []
        for isWhole in ["true", "false"] {
            for proof in [nobody, alias] {
                calls.append(Call(UserStatements.choose, [app] + alias + ["null", isWhole] + proof + [most]))
                calls.append(Call(UserStatements.choose, [app] + nobody + [subscription, isWhole] + proof + [most]))
            }
        }
        for statement in [UserStatements.lock, UserStatements.find] + DeviceStatements.removals {
            calls.append(Call(statement, [app, "'{\(device)}'"]))
        }
        try await Self.judge(calls, database)
    }

    @Test("look up each entry of a list of 20,000 by itself")
    func lists() async throws {
        let database = try Self.database()
        let (app, type) = ("\(database.fixture.application.id)", "\(database.type)")
        let count = AdmissionLimits.audienceListCount
        // Every second names nobody.
        let labels = "array_fill('external_id'::text, array[\(count)])"
        let identifiers = "'{\((0..<count).map { $0 % 2 == 0 ? "user-\($0)" : "nobody-\($0)" }.joined(separator: ","))}'"
        let known = try await database.fixture.text(
            "select array_agg(public_id)::text from (select public_id from device order by device_id limit \(count)) as listed")
        let subscriptions = "'\(try #require(known))'"
        // Two devices an alias.
        try await Self.judge(
            [
                Call(StartStatements.devicesByAlias, [app, type, labels, identifiers], rows: 2 * count),
                Call(CountingStatements.aliases, [app, type, labels, identifiers], rows: 2 * count),
                Call(StartStatements.devicesBySubscription, [app, type, subscriptions], rows: count),
                Call(CountingStatements.subscriptions, [app, type, subscriptions], rows: count),
            ], database)
    }

    @Test("read a page, and record one, of as many devices as a chunk has")
    func chunks() async throws {
        let database = try Self.database()
        let fixture = database.fixture
        let worker = "\(try await fixture.store.registerWorker(node: "a"))"
        let device = "\(database.device)"
        func page(_ statement: Statement, _ notification: Int64, _ more: [String]) -> Call {
            Call(statement, ["\(notification)", worker] + more, rows: 1_100)
        }
        try await Self.judge(
            [
                page(CarvingStatements.startPage, database.toEverybody, ["1000"]),
                page(CarvingStatements.updatePage, database.update, ["1000", "\(ActivityWindow.updateSeconds)"]),
                Call(CarvingStatements.lock, ["\(database.toTag)", "\(Store.windowTokenCount)"], rows: Store.windowTokenCount),
                Call(
                    CarvingStatements.advance,
                    ["\(database.toTag)", device, "false", worker, "'{\(device)}'", "0", "\(Int64.max)"]),
                page(ChunkClaimStatements.claimReady, database.toList, []),
                Call(ChunkClaimStatements.startTokens, ["\(database.toList)", "0"], rows: 1_100),
                Call(
                    ChunkRecordStatements.removeStartTokens,
                    ["'{\(database.toTag)}'", "'{\(device)}'", "array['x'::bytea]", "'{null}'", "'{425}'"]),
                Call(
                    ChunkRecordStatements.removeUpdateTokens,
                    ["'{\(database.update)}'", "'{\(device)}'", "array['x'::bytea]", "'{null}'"]),
                Call(FanOutStatements.finishable, ["'{\(database.update)}'", "'{}'"]),
                Call(FanOutStatements.finishableOpen, ["0", "\(Store.openCount)", "'{}'"], rows: 2 * Store.openCount),
                Call(FanOutStatements.progress, ["\(database.update)"]),
                Call(FanOutStatements.finish, ["\(database.pushed)"]),
            ], database)
    }

    @Test(
        "find what is due, and take it over, past the millions of retries and thousands of open fan-outs of an app in an outage")
    func outage() async throws {
        let database = try Self.database()
        let (app, small) = ("\(database.fixture.application.id)", "\(database.small.id)")
        let worker = "\(try await database.fixture.store.registerWorker(node: "b"))"
        let (waiting, typed, count) = ("\(database.waiting)", "\(database.typed)", FanOutLimits().chunkDeviceCount)
        let (rows, chunk) = (count + 100, ["\(database.waiting)", "0"])
        let notSetAside = "'{}'"
        var calls: [Call] = []
        // Nobody is passed over, the app in the outage is, and both are; then all of the outage's fan-out.
        for passedOver in ["'{}'", "'{\(app)}'", "'{\(app),\(small)}'"] {
            calls.append(Call(NextWorkStatements.next, [passedOver, notSetAside, worker]))
            calls.append(Call(NextWorkStatements.nextRetry, [passedOver, notSetAside]))
        }
        let claimedAt = "'2100-01-01'"
        let smallCount = LargeDatabase.deviceCount / LargeDatabase.smallAppInterval
        let dead = ["'{\(waiting)}'", "'{\(database.device)}'"]
        calls += [
            Call(ChunkClaimStatements.claimRetry, [waiting, "true", worker, "\(count)"], rows: rows),
            Call(ChunkClaimStatements.claimRetry, ["\(database.smallWaiting)", "true", worker, "\(count)"], rows: rows),
            Call(ChunkClaimStatements.updateTokens, chunk, rows: rows),
            Call(ChunkClaimStatements.typedTokens, [typed, "0"], rows: rows),
            Call(ChunkClaimStatements.updatePage, [waiting, "1", claimedAt], rows: rows),
            Call(ChunkClaimStatements.startPage, [typed, "1"], rows: rows),
            Call(AbandonedChunkStatements.takeOver, [waiting, worker]),
            Call(AbandonedChunkStatements.recordUnknown, [typed, worker], rows: rows),
            Call(FanOutStatements.dropRetries, ["'{\(database.smallWaiting)}'"], rows: smallCount + 100),
            Call(ChunkRecordStatements.insertRetries, dead + ["'{1}'", "array[now()]"]),
            Call(
                ChunkRecordStatements.countOnce,
                ["'{\(database.pushed)}'", "'{\(database.device)}'", "'{0}'", "'{425}'", "'{0}'"]),
            Call(ChunkClaimStatements.takeBack, ["\(database.pushed)", "0", "'{\(database.device)}'"]),
            Call(ChunkRecordStatements.keepQuiet, dead + ["array['x'::bytea]", "array[now()]"]),
        ]
        try await Self.judge(calls, database)
    }

    @Test("read a page for a dashboard, wherever it begins")
    func readers() async throws {
        let database = try Self.database()
        let (app, device, pushed) = ("\(database.fixture.application.id)", "\(database.device)", "\(database.pushed)")
        let last = "\(Int64.max)"
        let subscription =
            "'\(try #require(try await database.fixture.text("select public_id::text from device where device_id = \(device)")))'"
        let publicID =
            "'\(try #require(try await database.fixture.text("select public_id::text from notification where name = 'pushed'")))'"
        let middle = "\(LargeDatabase.deviceCount / 2)"
        // Sums of one notification's taps, and of an activity's devices, are about all of them.
        let (tapped, held) = (LargeDatabase.deviceCount / 10 + 100, LargeDatabase.deviceCount)
        try await Self.judge(
            [
                Call(DeliveryReaderStatements.deliveries, [app, pushed, middle, "101"], rows: 110),
                Call(DeliveryReaderStatements.minutes, [pushed, "1440"], rows: tapped),
                Call(DeliveryReaderStatements.activities, [app, last, "101"], rows: 110),
                Call(DeviceReaderStatements.device, [app, subscription]),
                Call(DeviceReaderStatements.aliases, [app, subscription]),
                Call(DeviceReaderStatements.tags, [app, subscription]),
                Call(DeviceReaderStatements.startTokens, [app, subscription, "100"]),
                Call(DeviceReaderStatements.activities, [app, subscription, "100"]),
                Call(DeviceReaderStatements.window, [app, last, "1000"], rows: 1_100),
                Call(DeviceReaderStatements.timeline, [app, device, "0", last, "101"], rows: 22_000),
                Call(ReaderStatements.number, [app, publicID]), Call(ReaderStatements.one, [app, publicID], rows: tapped),
                Call(ReaderStatements.ofApplication, [app, last, "51"], rows: tapped),
                Call(ReaderStatements.ofActivity, [app, last, "51", "'match-3'"]),
                Call(ReaderStatements.activity, [app, "'match-0'", "\(ActivityWindow.updateSeconds)"], rows: held),
            ], database)
    }

    @Test("count a batch of taps by the devices that tapped")
    func taps() async throws {
        let database = try Self.database()
        let count = 100
        func list(_ type: String, _ element: (Int) -> String) -> String {
            "array[\((1...count).map(element).joined(separator: ","))]::\(type)[]"
        }
        let app = "\(database.fixture.application.id)"
        let (zeros, zero) = ("'\(UUID(high: 0, low: 0))'", list("smallint") { _ in "0" })
        let push = list("bytea") { "'push-\($0)'" }
        let known = try await database.fixture.text(
            "select array_agg(public_id)::text from (select public_id from device order by device_id limit \(count)) as listed")
        let subscriptions = "'\(try #require(known))'::uuid[]"
        let reports = list("uuid") { "'\(UUID(high: 1, low: UInt64($0)))'" }
        let (none, all) = (list("uuid") { _ in zeros }, list("smallint") { _ in "1" })
        let activities = list("text") { _ in "'match-0'" }
        // By push token as /v1 tells them, and by subscription, each once, as OneSignal's clients do.
        let named = [(push, none, none, zero), (list("bytea") { _ in "null" }, subscriptions, reports, all)]
        try await Self.judge(
            named.map { token, subscription, report, isOnce in
                let arguments = [list("int") { _ in app }, token, subscription, activities, none, zero, report, isOnce]
                return Call(ClickStatements.count, arguments, rows: 10 * count)
            }, database)
    }
}

extension PlanTests {
    static let tag = FilterCondition.tag(key: "club", .compares(.equal, "c3"))
    static let rare = FilterCondition.tag(key: "rare", .compares(.equal, "5000"))
    private static let branches: [[FilterCondition]] = [
        [.country(.equal, "US"), tag], [.sessionCount(.greater, 100), .language(.notEqual, "en")],
    ]
    /// What is compiled: one tag, several, and AND with OR, with and without others that are excluded.
    private static let audiences: [FrozenAudience] = [
        FrozenAudience(included: [[tag]], excluded: []), FrozenAudience(included: [[rare]], excluded: []),
        FrozenAudience(included: [[tag, rare]], excluded: []), FrozenAudience(included: branches, excluded: []),
        FrozenAudience(included: branches, excluded: [[tag], [rare]]),
        FrozenAudience(included: FrozenAudience.everybody, excluded: [[tag]]),
        FrozenAudience(
            included: [[.within(metres: 500_000, of: DeviceLocation(latitude: 10, longitude: 10))]], excluded: []),
    ]

    @Test("of a compiled condition stay within the window, at the end of a large app as at its beginning")
    func windows() async throws {
        let database = try Self.database()
        let rows = 5_000
        for audience in Self.audiences {
            let sql = AudienceSQL(audience)
            for low in [0, LargeDatabase.deviceCount / 2, LargeDatabase.deviceCount - rows] {
                let plan = try await database.fixture.plan(
                    """
                    select token.device_id, token.token \(sql.source(withDevice: true)) order by token.device_id
                    limit \(AudienceSQL.Position.next)
                    """,
                    sql.parameters(
                        application: database.fixture.application.id, type: database.type, low: Int64(low),
                        high: Int64(low + rows), momentMicroseconds: 1_900_000_000_000_000) + [.int32(1_000)])
                let faults = plan.faults(largeTables: database.largeTables, rows: rows)
                #expect(faults.isEmpty, "\(audience) from \(low): \(faults.joined(separator: "; "))")
            }
        }
    }

    @Test("that count a small app's devices pass over those of a large one, and a rare tag's over all others")
    func counts() async throws {
        let database = try Self.database()
        let smallCount = LargeDatabase.deviceCount / LargeDatabase.smallAppInterval
        let all = Self.audiences + [FrozenAudience(included: FrozenAudience.everybody, excluded: [])]
        let cases =
            all.map { ($0, database.small.id, database.smallType, smallCount) } + [
                (FrozenAudience(included: [[Self.rare]], excluded: []), database.fixture.application.id, database.type, 50),
                (FrozenAudience(included: [[Self.rare, Self.tag]], excluded: []), database.fixture.application.id, 0, 50),
            ]
        for (audience, app, type, rows) in cases {
            let sql = AudienceSQL(audience)
            let parameters = sql.parameters(
                application: app, type: type, low: 0, high: .max, momentMicroseconds: 1_900_000_000_000_000)
            for text in [
                "select \(CountingStatements.counts) \(sql.deviceSource)",
                "select exists (select \(sql.source(withDevice: false)))",
            ] {
                let plan = try await database.fixture.plan(text, parameters)
                let faults = plan.faults(largeTables: database.largeTables, rows: rows)
                #expect(faults.isEmpty, "\(audience), app \(app), \(text.prefix(12)): \(faults.joined(separator: "; "))")
            }
        }
    }

    @Test("find a plan at fault that reads everything, or walks quadratically")
    func judgement() async throws {
        let database = try Self.database()
        let fixture = database.fixture
        func faults(_ sql: String) async throws -> [String] {
            try await fixture.plan(sql, []).faults(largeTables: database.largeTables, rows: 1_000)
        }
        #expect(
            try await faults("select count(*) from device where os_version is not null").contains { $0.hasPrefix("Seq Scan") })
        let walk = "select device_id from start_token order by app_id, type_id, device_id offset 50000 limit 1"
        #expect(try await faults(walk).contains { $0.contains("looks at 50001 rows") })
        #expect(try await faults("select 1 from device where device_id = 7 and app_id = \(fixture.application.id)").isEmpty)
    }

    @Test("carve each device of a tag into one chunk, and all chunks but the last full ones")
    func carve() async throws {
        let database = try Self.database()
        let fixture = database.fixture
        let worker = try await fixture.store.registerWorker(node: "carver")
        var found: [Int64] = []
        var counts: [Int] = []
        let toTag = NotificationID(rawValue: database.toTag)
        while let open = try await fixture.number(
            "select count(*) from fan_out where notification_id = \(database.toTag) and not is_carved"), open > 0
        {
            let chunk = try await fixture.store.carveMatching(toTag, worker: worker, deviceCount: 700)
            found += chunk?.devices ?? []
            if let chunk { counts.append(chunk.devices.count) }
        }
        let app = fixture.application.id
        let expected = try await fixture.session.queryUnprepared(
            "select device_id from device where app_id = \(app) and tags ->> 'club' = 'c3' order by device_id")
        #expect(found == (0..<expected.rowCount).map { expected.int64(row: $0, column: 0) })
        #expect(counts.dropLast().allSatisfy { $0 == 700 } && counts.last ?? 0 <= 700)
    }
}
