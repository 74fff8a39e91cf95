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
