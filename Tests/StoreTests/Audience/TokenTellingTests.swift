import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("A token that is told again", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct TokenTellingTests {
    private enum Kind: CaseIterable {
        case start, update

        var table: String { self == .start ? "start_token" : "update_token" }
        var event: ActivityEvent { self == .start ? .start : .update }

        func tell(_ fixture: StoreFixture) async throws {
            switch self {
            case .start:
                let isStored = try await fixture.store.setStartToken(
                    StoreFixture.startToken(1), activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(1)),
                    application: fixture.application.id)
                #expect(isStored)
            case .update: try await fixture.hold("match-1", device: 1)
            }
        }

        /// Its row was stored so many minutes ago, and last told so many minutes ago.
        func age(_ fixture: StoreFixture, registered: Int, told: Int?) async throws {
            try await fixture.session.execute(
                """
                update \(table) set registered_at = now() - \(registered) * interval '1 minute',
                    told_at = now() - \(told.map { "\($0)" } ?? "null") * interval '1 minute'
                """)
        }

        /// Whether it is still there once APNs said that it is dead since so many minutes.
        func survives(_ fixture: StoreFixture, deadFor minutes: Int64) async throws -> Bool {
            let worker = try await fixture.store.registerWorker(node: "a")
            if self == .start {
                _ = try await fixture.accept(StoreFixture.start("match-1"))
            } else {
                _ = try await fixture.accept(.update, of: "match-1")
            }
            let chunk = try #require(try await fixture.claim(worker))
            let now = try #require(try await fixture.number("select (extract(epoch from now()) * 1000)::bigint"))
            var record = StoreFixture.record(chunk, event) { _ in .unregistered }
            record.deadTokens = [
                DeadToken(
                    device: chunk.devices[0], token: chunk.tokens[0], reason: .unregistered,
                    since: UnixMilliseconds(rawValue: now - minutes * 60_000))
            ]
            #expect(try await fixture.store.record([record], worker: worker) == [])
            return try await fixture.number("select count(*) from \(table)") == 1
        }

        static func with(_ body: (Kind, StoreFixture) async throws -> Void) async throws {
            for kind in allCases {
                try await StoreFixture.with { fixture in
                    try await fixture.addDevice(1)
                    if kind == .update { try await fixture.hold("match-1", device: 1) }
                    try await body(kind, fixture)
                }
            }
        }
    }

    @Test("is kept when APNs calls it dead since before that")
    func isKept() async throws {
        try await Kind.with { kind, fixture in
            try await kind.age(fixture, registered: 120, told: nil)
            let before = try await fixture.text("select registered_at::text from \(kind.table)")
            try await kind.tell(fixture)
            #expect(try await kind.survives(fixture, deadFor: 60))
            #expect(try await fixture.text("select registered_at::text from \(kind.table)") == before)
        }
    }

    @Test("is kept as well when it is told by a device that has to take it alone, or with another start")
    func isKeptByOtherWays() async throws {
        try await Kind.with { kind, fixture in
            try await kind.age(fixture, registered: 120, told: nil)
            let type = try #require(try await fixture.number("select type_id from activity_type"))
            if kind == .start {
                try await fixture.store.query(
                    StartTokenStatements.put,
                    [
                        .application(fixture.application.id), .int32(Int32(type)), .int64(fixture.deviceNumber(1)),
                        .bytes(StoreFixture.startToken(1)), .int16(0),
                    ])
            } else {
                try await fixture.hold("match-1", device: 1, startedAt: 1_900_000_000)
            }
            #expect(try await kind.survives(fixture, deadFor: 60))
        }
    }

    @Test(
        "is judged by when it was told last: that is known to the hour, and who says nothing for a day is not in doubt",
        arguments: [
            (180, nil, 60, false), (60, nil, 120, true), (300, 60, 120, true), (300, 180, 60, false), (300, 90, 60, true),
            (3_000, 1_800, 1_770, false), (3_000, 1_800, 1_830, true),
        ] as [(Int, Int?, Int64, Bool)])
    func isJudged(registered: Int, told: Int?, dead: Int64, isKept: Bool) async throws {
        try await Kind.with { kind, fixture in
            try await kind.age(fixture, registered: registered, told: told)
            #expect(try await kind.survives(fixture, deadFor: dead) == isKept, "\(kind)")
        }
    }

    @Test("is written down once an hour, and tells nothing else")
    func isWrittenSeldom() async throws {
        try await Kind.with { kind, fixture in
            let version = "select xmin::text from \(kind.table)"
            try await kind.tell(fixture)
            let told = try await fixture.text(version)
            try await kind.tell(fixture)
            #expect(try await fixture.text(version) == told)
            try await kind.age(fixture, registered: 120, told: 59)
            let aged = try await fixture.text(version)
            try await kind.tell(fixture)
            #expect(try await fixture.text(version) == aged)
            try await kind.age(fixture, registered: 120, told: 61)
            try await kind.tell(fixture)
            #expect(
                try await fixture.number("select count(*) from \(kind.table) where told_at > now() - interval '1 minute'") == 1)
        }
    }

    @Test("is there although it is removed at that moment")
    func isStoredAnew() async throws {
        try await Kind.with { kind, fixture in
            let removing = try await fixture.database.connect()
            try await removing.execute("begin; delete from \(kind.table)")
            async let told: Void = kind.tell(fixture)
            try await fixture.waitUntilBlocked()
            try await removing.execute("commit")
            try await told
            #expect(try await fixture.number("select count(*) from \(kind.table)") == 1)
            await removing.close()
        }
    }

    @Test("is sent the state once more that APNs refused because it was dead, and no other")
    func isSentAgain() async throws {
        for (reason, isSent) in [(DeliveryReason.unregistered, true), (.badTopic, false), (.unknown, false)] {
            try await StoreFixture.with { fixture in
                try await fixture.addDevice(1)
                try await fixture.hold("match-1", device: 1)
                let worker = try await fixture.store.registerWorker(node: "a")
                let state = try await fixture.accept(.update, of: "match-1")
                let chunk = try #require(try await fixture.claim(worker))
                // As long as that push is on its way, it is not sent twice.
                #expect(try await !fixture.hold("match-1", device: 1).catchUp)
                let record = StoreFixture.record(chunk, .update) { _ in reason }
                #expect(try await fixture.store.record([record], worker: worker) == [])
                #expect(try await fixture.hold("match-1", device: 1).catchUp == isSent)
                #expect(try await fixture.deliverEverything(worker) == (isSent ? [state.id: chunk.devices] : [:]))
                let summary = try await fixture.summary(state)
                #expect(summary.targetedCount == 1 && summary.acceptedCount == (isSent ? 1 : 0))
            }
        }
    }
}
