import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Start", .enabled(if: TestDatabase.isAvailable)) struct StartTests {
    private static func key(_ body: UInt8 = 1) -> IdempotencyKey {
        IdempotencyKey(key: UUID(high: 7, low: 7), bodyDigest: Array(repeating: body, count: 32))
    }

    @Test("keeps the content byte for byte")
    func keepsContent() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let alerts = [
                LocalizedAlert(language: "en", title: "A \"quoted\" \u{0} title", body: nil),
                LocalizedAlert(language: "de", title: "Ä", body: "B"),
            ]
            let content = PushContent(
                event: .start, attributesType: StoreFixture.type, attributes: Array(#"{ "a" : 1.50, "a":1E400 }"#.utf8),
                contentState: Array(#"{"deep":[[[[null]]]],"\u0041":"\/"}"#.utf8), alerts: alerts, sound: "bell.caf",
                staleDate: 1_900_000_000, dismissalDate: nil, relevanceScore: Array("0.750".utf8), priority: 5)
            let command = StartCommand(
                activityID: "match-1", activityType: StoreFixture.type, name: "kick-off",
                audience: .segments(included: ["All"], excluded: []), content: content, idempotency: nil)
            let notification = try await fixture.accept(command)
            let job = try #require(try await fixture.store.job(for: notification.id))
            #expect(job.content == content)
            #expect(job.activityID == "match-1")
            #expect(job.application == fixture.application)
            #expect(job.expiresAt - job.timestamp == 8 * 3_600)
            #expect(try await fixture.store.job(for: NotificationID(rawValue: 1)) == nil)
        }
    }

    @Test("reaches everybody who holds a token of the type, each once")
    func reachesEverybody() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...5 { try await fixture.addDevice(number) }
            try await fixture.addDevice(6, type: nil)
            try await fixture.addDevice(7, type: "Other")
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            var tokens: [[UInt8]] = []
            while let chunk = try await fixture.claim(worker, 2) {
                #expect(chunk.id.notification == notification.id)
                #expect(chunk.application == fixture.application.id)
                #expect(!chunk.isRetry && chunk.attempts.isEmpty && chunk.languages.isEmpty)
                #expect(chunk.services == chunk.devices.map { _ in PushEnvironment.production.rawValue })
                tokens += chunk.devices.indices.map { chunk.tokens[$0] }
                _ = try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: worker)
            }
            #expect(tokens == (1...5).map(StoreFixture.startToken))
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished)
            #expect(summary.targetedCount == 5 && summary.acceptedCount == 5)
        }
    }

    @Test("stores nothing when nobody is reached, and leaves the key unused")
    func refusesNobody() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let audiences: [Audience] = [
                .aliases([AliasReference(label: "external_id", identifier: "unknown")]), .subscriptions([UUID(high: 1, low: 1)]),
                .filters(FilterExpression(branches: [[.country(.equal, "NZ")]])),
                .segments(included: ["All"], excluded: ["All"]),
            ]
            for audience in audiences {
                let acceptance = try await fixture.store.accept(
                    StoreFixture.start("match-1", audience, key: Self.key()), application: fixture.application)
                guard case .nobody = acceptance else {
                    Issue.record("\(audience): \(acceptance)")
                    continue
                }
            }
            let unknownType = try await fixture.store.accept(
                StoreFixture.start("match-1", key: Self.key(), type: "Unknown"), application: fixture.application)
            guard case .nobody = unknownType else { throw FixtureError.unexpected("\(unknownType)") }
            let stored = try await fixture.number(
                """
                select (select count(*) from notification) + (select count(*) from fan_out)
                    + (select count(*) from idempotency) + (select count(*) from activity)
                """)
            #expect(stored == 0)
            let notification = try await fixture.accept(StoreFixture.start("match-1", key: Self.key()))
            #expect(notification.id.rawValue > 0)
        }
    }

    @Test("names the segments that do not exist")
    func namesUnknownSegments() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let acceptance = try await fixture.store.accept(
                StoreFixture.start("match-1", .segments(included: ["All", "B", "A"], excluded: ["C", "B"])),
                application: fixture.application)
            guard case .unknownSegments(let names) = acceptance else { throw FixtureError.unexpected("\(acceptance)") }
            #expect(names == ["B", "A", "C"])
            #expect(try await fixture.number("select count(*) from notification") == 0)
        }
    }

    @Test("becomes one notification however many equal requests come at once")
    func becomesOne() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevice(1)
            let acceptances = try await withThrowingTaskGroup(of: StartAcceptance.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await fixture.store.accept(
                            StoreFixture.start("match-1", key: Self.key()), application: fixture.application)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            var accepted: [UUID] = []
            var replayed: [UUID] = []
            for acceptance in acceptances {
                switch acceptance {
                case .accepted(let notification): accepted.append(notification.publicID)
                case .replayed(let publicID, sameBody: true): replayed.append(publicID)
                default: Issue.record("\(acceptance)")
                }
            }
            #expect(accepted.count == 1 && replayed.count == 49)
            #expect(Set(accepted + replayed).count == 1)
            #expect(try await fixture.number("select count(*) from fan_out") == 1)
        }
    }

    @Test("lets one of several activities have a key")
    func keyIsOfTheApp() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevice(1)
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let acceptance = try await fixture.store.accept(
                            StoreFixture.start("match-\(number)", key: Self.key(UInt8(number))), application: fixture.application)
                        if case .accepted = acceptance { return true }
                        guard case .replayed(_, sameBody: false) = acceptance else {
                            throw FixtureError.unexpected("\(acceptance)")
                        }
                        return false
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(winners == 1)
            #expect(try await fixture.number("select count(*) from notification") == 1)
            #expect(try await fixture.number("select count(*) from activity") == 1)
        }
    }

    @Test("keeps a key for 30 days and no longer")
    func forgetsKeys() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let first = try await fixture.accept(StoreFixture.start("match-1", key: Self.key()))
            try await fixture.session.execute("update idempotency set created_at = now() - interval '29 days 23 hours'")
            let replay = try await fixture.store.replay(of: Self.key(2), application: fixture.application.id)
            guard case .replayed(let publicID, sameBody: false) = replay else {
                throw FixtureError.unexpected("\(String(describing: replay))")
            }
            #expect(publicID == first.publicID)
            try await fixture.session.execute("update idempotency set created_at = now() - interval '30 days 1 second'")
            #expect(try await fixture.store.replay(of: Self.key(), application: fixture.application.id) == nil)
            let second = try await fixture.accept(StoreFixture.start("match-1", key: Self.key()))
            #expect(second != first)
            try await fixture.session.execute("update idempotency set created_at = now() - interval '30 days 1 second'")
            try await fixture.store.maintain()
            #expect(try await fixture.number("select count(*) from idempotency") == 0)
        }
    }

    @Test("joins a running activity and begins a new one after an end")
    func joinsOrBegins() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            var timestamps: [Int64] = []
            for _ in 0..<3 {
                let notification = try await fixture.accept(StoreFixture.start("match-1"))
                timestamps.append(try #require(try await fixture.store.job(for: notification.id)).timestamp)
            }
            #expect(timestamps[1] > timestamps[0] && timestamps[2] > timestamps[1])
            #expect(try await fixture.number("select count(*) from activity") == 1)
            try await fixture.hold("match-1", device: 1)
            _ = try await fixture.accept(.end, of: "match-1")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            #expect(try await fixture.number("select count(*) from activity") == 2)
            let summary = try #require(try await fixture.store.activity("match-1", application: fixture.application.id))
            #expect(!summary.isEnded)
        }
    }

    @Test("freezes a list of devices in chunks, each device once")
    func freezesLists() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(2_500)
            try await fixture.session.execute(
                """
                insert into device_alias (app_id, label, identifier, device_id)
                select app_id, 'team', case when device_id % 2 = 0 then 'even' else 'odd' end, device_id from device;
                insert into device_alias (app_id, label, identifier, device_id)
                select app_id, 'all', 'yes', device_id from device
                """)
            let aliases = [
                AliasReference(label: "team", identifier: "even"), AliasReference(label: "all", identifier: "yes"),
                AliasReference(label: "all", identifier: "yes"), AliasReference(label: "team", identifier: "nobody"),
            ]
            let notification = try await fixture.accept(StoreFixture.start("match-1", .aliases(aliases)))
            let before = try await fixture.summary(notification)
            #expect(before.state == .pending && before.targetedCount == 2_500)
            let worker = try await fixture.store.registerWorker(node: "a")
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed[notification.id]?.count == 2_500)
            #expect(Set(pushed[notification.id] ?? []).count == 2_500)
            #expect(try await fixture.number("select count(*) from fan_out_chunk") == 3)
            #expect(try await fixture.summary(notification).acceptedCount == 2_500)
        }
    }

    @Test("finds devices by subscription id, and counts the entries that name none")
    func findsSubscriptions() async throws {
        try await StoreFixture.with { fixture in
            let first = try await fixture.addDevice(1)
            try await fixture.addDevice(2)
            let third = try await fixture.addDevice(3)
            let withoutToken = try await fixture.addDevice(4, type: nil)
            let notification = try await fixture.accept(
                StoreFixture.start("match-1", .subscriptions([third, first, third, withoutToken, UUID(high: 9, low: 9)])))
            let worker = try await fixture.store.registerWorker(node: "a")
            let pushed = try await fixture.deliverEverything(worker)
            let expected = [try await fixture.deviceNumber(1), try await fixture.deviceNumber(3)]
            #expect(pushed[notification.id] == expected)
            #expect(try await fixture.summary(notification).unknownEntryCount == 1)
            let aliases = ["fan-1", "fan-8", "fan-9"].map { AliasReference(label: "external_id", identifier: $0) }
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let named = try await fixture.accept(StoreFixture.start("match-2", .aliases(aliases)))
            #expect(try await fixture.summary(named).unknownEntryCount == 2)
        }
    }

    @Test("is not altered by what becomes of a segment afterwards")
    func freezesSegments() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.country = "DE" }
            try await fixture.addDevice(2) { $0.country = "FR" }
            try await fixture.addDevice(3) {
                $0.country = "DE"
                $0.tags = ["muted": "yes"]
            }
            let germans = #"[{"field":"country","relation":"=","value":"DE"}]"#
            let muted = #"[{"field":"tag","key":"muted","relation":"exists"}]"#
            for (name, definition) in [("Germans", germans), ("Muted", muted)] {
                _ = try await fixture.store.createSegment(
                    NewSegment(id: nil, name: name, note: "", definition: Array(definition.utf8)),
                    application: fixture.application.id)
            }
            let notification = try await fixture.accept(
                StoreFixture.start("match-1", .segments(included: ["Germans"], excluded: ["Muted"])))
            try await fixture.session.execute("delete from segment")
            let worker = try await fixture.store.registerWorker(node: "a")
            let pushed = try await fixture.deliverEverything(worker)
            #expect(try await pushed[notification.id] == [fixture.deviceNumber(1)])
        }
    }

    @Test("tells segments apart whose names differ in their bytes only")
    func segmentSpellings() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.country = "DE" }
            try await fixture.addDevice(2) { $0.country = "FR" }
            let (composed, decomposed) = ("\u{E9}", "e\u{301}")
            for (name, country) in [(composed, "DE"), (decomposed, "FR"), ("one " + composed, "DE")] {
                let definition = #"[{"field":"country","relation":"=","value":"\#(country)"}]"#
                _ = try await fixture.store.createSegment(
                    NewSegment(id: nil, name: name, note: "", definition: Array(definition.utf8)),
                    application: fixture.application.id)
            }
            let notification = try await fixture.accept(
                StoreFixture.start("match-1", .segments(included: [composed], excluded: [decomposed])))
            let worker = try await fixture.store.registerWorker(node: "a")
            let pushed = try await fixture.deliverEverything(worker)
            #expect(try await pushed[notification.id] == [fixture.deviceNumber(1)])
            let missing = StoreFixture.start(
                "match-1", .segments(included: ["one " + composed, "one " + decomposed], excluded: []))
            guard case .unknownSegments(let names) = try await fixture.store.accept(missing, application: fixture.application)
            else {
                Issue.record("a segment that is not there was found")
                return
            }
            #expect(names.map { Array($0.utf8) } == [Array(("one " + decomposed).utf8)])
        }
    }

    @Test("takes a segment called All for that segment")
    func respectsSegmentCalledAll() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.country = "DE" }
            try await fixture.addDevice(2) { $0.country = "FR" }
            let definition = #"[{"field":"country","relation":"=","value":"FR"}]"#
            let creation = try await fixture.store.createSegment(
                NewSegment(id: UUID(high: 3, low: 4), name: "All", note: "", definition: Array(definition.utf8)),
                application: fixture.application.id)
            guard case .created(let id) = creation else { throw FixtureError.unexpected("\(creation)") }
            #expect(id == UUID(high: 3, low: 4))
            for (id, name) in [(nil, "All"), (id, "Other")] {
                let again = try await fixture.store.createSegment(
                    NewSegment(id: id, name: name, note: "", definition: Array(definition.utf8)),
                    application: fixture.application.id)
                guard case .conflict = again else {
                    Issue.record("\(again)")
                    continue
                }
            }
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let pushed = try await fixture.deliverEverything(worker)
            #expect(try await pushed[notification.id] == [fixture.deviceNumber(2)])
        }
    }
}
