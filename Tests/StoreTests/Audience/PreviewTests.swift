import Gateway
import JSON
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("A preview", .enabled(if: TestDatabase.isAvailable)) struct PreviewTests {
    private static func filters(_ text: String) throws -> Audience {
        .filters(try FilterParser.parse(try JSONDocument(parsing: Array(text.utf8)).root, field: "filters"))
    }

    @Test("counts who matches, who holds a token of the type and in which environment, for every form of targeting")
    func counts() async throws {
        try await StoreFixture.with { fixture in
            var ids: [UUID] = []
            for number in 1...6 {
                // 5 has no token, 6 none of this type; 2 is a development build; two devices share a user.
                ids.append(
                    try await fixture.addDevice(number, type: number == 5 ? nil : number == 6 ? "Other" : StoreFixture.type) {
                        $0.externalID = "user-\(number / 2)"
                        $0.country = number < 6 ? "DE" : "FR"
                        $0.tags = ["club": number % 2 == 0 ? "home" : "away"]
                        if number == 2 { $0.environment = .sandbox }
                    })
            }
            let segment = NewSegment(
                id: nil, name: "Home", note: "",
                definition: Array(#"[{"field":"tag","key":"club","relation":"=","value":"home"}]"#.utf8))
            _ = try await fixture.store.createSegment(segment, application: fixture.application.id)
            let aliases = ["user-1", "user-1", "user-2", "nobody"].map { AliasReference(label: "external_id", identifier: $0) }
            let cases: [(Audience, matched: Int64, production: Int64, sandbox: Int64, unknown: Int64)] = [
                (.segments(included: ["All"], excluded: []), 6, 3, 1, 0),
                (.segments(included: ["All"], excluded: ["Home"]), 3, 2, 0, 0),
                (.segments(included: ["Home"], excluded: []), 3, 1, 1, 0),
                (try Self.filters(#"[{"field":"country","relation":"=","value":"DE"}]"#), 5, 3, 1, 0),
                (try Self.filters(#"[{"field":"country","relation":"=","value":"IT"}]"#), 0, 0, 0, 0),
                (.aliases(aliases), 4, 2, 1, 1),
                (.subscriptions([ids[0], ids[5], .random(), .random()]), 2, 1, 0, 2),
            ]
            for (audience, matched, production, sandbox, unknown) in cases {
                let result = try await fixture.store.preview(
                    audience, activityType: StoreFixture.type, application: fixture.application.id)
                let expected = AudiencePreview(
                    matchedCount: matched, productionCount: production, sandboxCount: sandbox, unknownEntryCount: unknown)
                #expect(result == .counted(expected), "\(audience)")
                for type in [nil, "NobodyHasThis"] as [String?] {
                    let none = try await fixture.store.preview(
                        audience, activityType: type, application: fixture.application.id)
                    guard case .counted(let preview) = none else { throw FixtureError.unexpected("\(none)") }
                    #expect(preview.matchedCount == matched && preview.reachableCount == 0)
                }
            }
            // What it says is what a start reaches.
            let worker = try await fixture.store.registerWorker(node: "a")
            for (number, entry) in cases.enumerated() where entry.production + entry.sandbox > 0 {
                let start = try await fixture.accept(StoreFixture.start("match-\(number)", entry.0))
                let pushed = try await fixture.deliverEverything(worker)
                #expect(Int64(pushed[start.id]?.count ?? 0) == entry.production + entry.sandbox, "\(entry.0)")
            }
        }
    }

    @Test("counts devices that FCM pushes to by themselves: a start reaches them")
    func countsFCM() async throws {
        try await StoreFixture.with { fixture in
            var fixture = fixture
            let account = ApplicationCredentials.ServiceAccount(
                account: FCMAccount(projectID: "example-project", keyID: "abcdef0123"), json: Array("{}".utf8))
            let created = try await fixture.store.createApplication(
                name: "Relayed",
                credentials: ApplicationCredentials(
                    bundleID: "com.example.relayed", androidPackageName: "com.example.android", serviceAccount: account),
                environment: .production)
            guard case .created(let application) = created else { throw FixtureError.noApplication }
            fixture.application = application
            // Three phones on Android, one of them without a token, and two on iOS behind FCM.
            for number in 1...5 {
                try await fixture.addDevice(number, type: number == 3 ? nil : StoreFixture.type) {
                    $0.platform = number <= 3 ? .android : .ios
                    $0.externalID = "user-\(number)"
                }
            }
            let expected = AudiencePreview(
                matchedCount: 5, productionCount: 0, sandboxCount: 0, androidCount: 2, relayedCount: 2, unknownEntryCount: 0)
            #expect(expected.reachableCount == 4 && expected.tokenlessCount == 1)
            let aliases = (1...5).map { AliasReference(label: "external_id", identifier: "user-\($0)") }
            let audiences: [Audience] = [
                .segments(included: ["All"], excluded: []), .aliases(aliases),
                .subscriptions(try await Self.subscriptions(fixture)),
                try Self.filters(#"[{"field":"country","relation":"not_exists"}]"#),
            ]
            let worker = try await fixture.store.registerWorker(node: "a")
            for (number, audience) in audiences.enumerated() {
                let result = try await fixture.store.preview(
                    audience, activityType: StoreFixture.type, application: fixture.application.id)
                #expect(result == .counted(expected), "\(audience)")
                let start = try await fixture.accept(StoreFixture.start("match-\(number)", audience))
                #expect(try await fixture.deliverEverything(worker)[start.id]?.count == 4)
            }
        }
    }

    @Test("says why devices are not reached, until they register another token")
    func reasons() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...6 { try await fixture.addDevice(number, type: number == 6 ? nil : StoreFixture.type) }
            try await fixture.session.execute(
                "update device set notifications_enabled = false where device_id in (select max(device_id) from device)")
            try await fixture.addDevice(7, type: nil)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            var record = StoreFixture.record(chunk, .start) { _ in .unregistered }
            record.deadTokens = [DeliveryReason.unregistered, .badDeviceToken, .deviceTokenNotForTopic].enumerated().map {
                DeadToken(device: chunk.devices[$0], token: chunk.tokens[$0], reason: $1, since: nil)
            }
            // A batch may tell the same twice.
            record.deadTokens.append(record.deadTokens[0])
            #expect(try await fixture.store.record([record], worker: worker) == [])
            let everybody = Audience.segments(included: ["All"], excluded: [])
            let list = Audience.subscriptions(try await Self.subscriptions(fixture))
            let expected = AudiencePreview(
                matchedCount: 7, productionCount: 2, sandboxCount: 0, wrongEnvironmentCount: 1, removedCount: 2, disabledCount: 1,
                unknownEntryCount: 0)
            #expect(expected.tokenlessCount == 1)
            for audience in [everybody, list] {
                let result = try await fixture.store.preview(
                    audience, activityType: StoreFixture.type, application: fixture.application.id)
                #expect(result == .counted(expected), "\(audience)")
            }
            // One registers another token, one takes over what a reachable device had, and one takes its new token back.
            for (number, token) in [(1, "new"), (2, "start-5"), (3, "newer")] {
                let isStored = try await fixture.store.setStartToken(
                    Array(token.utf8), activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(number)),
                    application: fixture.application.id)
                #expect(isStored)
            }
            let isRemoved = try await fixture.store.removeStartToken(
                activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(3)),
                application: fixture.application.id)
            #expect(isRemoved)
            #expect(try await fixture.number("select count(*) from removed_start_token") == 0)
            let after = try await fixture.store.preview(
                everybody, activityType: StoreFixture.type, application: fixture.application.id)
            #expect(
                after
                    == .counted(
                        AudiencePreview(
                            matchedCount: 7, productionCount: 3, sandboxCount: 0, disabledCount: 1, unknownEntryCount: 0)))
        }
    }

    private static func subscriptions(_ fixture: StoreFixture) async throws -> [UUID] {
        let found = try await fixture.session.queryUnprepared("select public_id from device")
        return (0..<found.rowCount).map { found.uuid(row: $0, column: 0) }
    }

    @Test("names segments that do not exist, and sees no device of another app")
    func bounds() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            let everybody = Audience.segments(included: ["All"], excluded: [])
            let result = try await fixture.store.preview(everybody, activityType: StoreFixture.type, application: other.id)
            #expect(
                result
                    == .counted(
                        AudiencePreview(matchedCount: 0, productionCount: 0, sandboxCount: 0, unknownEntryCount: 0)))
            let unknown = try await fixture.store.preview(
                .segments(included: ["All", "No"], excluded: ["Nor"]), activityType: nil,
                application: fixture.application.id)
            #expect(unknown == .unknownSegments(["No", "Nor"]))
        }
    }
}
