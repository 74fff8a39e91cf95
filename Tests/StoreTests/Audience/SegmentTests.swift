import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("A segment", .enabled(if: TestDatabase.isAvailable)) struct SegmentTests {
    private static func definition(_ country: String) -> [UInt8] {
        Array(#"[ {"field":"country","relation":"=","value":"\#(country)"} ]"#.utf8)
    }

    @discardableResult
    private func create(_ name: String, _ country: String = "DE", in fixture: StoreFixture) async throws -> UUID {
        let created = try await fixture.store.createSegment(
            NewSegment(id: nil, name: name, note: "made", definition: Self.definition(country)),
            application: fixture.application.id)
        guard case .created(let id) = created else { throw FixtureError.unexpected("\(created)") }
        return id
    }

    private func change(
        _ id: UUID, name: String? = nil, note: String? = nil, country: String? = nil, in fixture: StoreFixture
    ) async throws -> SegmentChangeResult {
        try await fixture.store.changeSegment(
            id, SegmentChange(name: name, note: note, definition: country.map(Self.definition)),
            application: fixture.application.id)
    }

    @Test("is read as it was stored, counted as it matches now, changed in part and removed")
    func lives() async throws {
        try await StoreFixture.with { fixture in
            let store = fixture.store
            let app = fixture.application.id
            for (number, country) in [(1, "DE"), (2, "DE"), (3, "FR")] {
                try await fixture.addDevice(number, type: nil) { $0.country = country }
            }
            let id = try await create("Germans", in: fixture)
            let stored = try #require(try await store.segment(id, application: app))
            #expect(stored.name == "Germans" && stored.note == "made" && stored.definition == Self.definition("DE"))
            #expect(try await store.countDevices(in: stored, application: app) == 2)

            #expect(try await change(id, country: "FR", in: fixture) == .changed)
            let changed = try #require(try await store.segment(id, application: app))
            #expect(changed.name == "Germans" && changed.note == "made" && changed.createdAt == stored.createdAt)
            #expect(changed.changedAt >= stored.changedAt)
            #expect(try await store.countDevices(in: changed, application: app) == 1)

            let other = try await StoreFixture.makeApplication(store, name: "Other")
            #expect(try await store.segment(id, application: other.id) == nil)
            #expect(try await !store.removeSegment(id, application: other.id))
            #expect(try await store.removeSegment(id, application: app))
            #expect(try await !store.removeSegment(id, application: app))
            #expect(try await change(id, name: "Back", in: fixture) == .unknown)
        }
    }

    @Test("stored by an earlier version goes on to match nobody where a new one would be refused")
    func storedEarlier() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.tags = ["level": "7"] }
            for (name, filter) in [
                ("Levels", #"{"field":"tag","key":"level","relation":">","value":"1e-100"}"#),
                ("Versions", #"{"field":"app_version","relation":"<","value":"latest"}"#),
            ] {
                _ = try await fixture.store.createSegment(
                    NewSegment(id: nil, name: name, note: "", definition: Array("[\(filter)]".utf8)),
                    application: fixture.application.id)
                let result = try await fixture.store.preview(
                    .segments(included: [name], excluded: []), activityType: StoreFixture.type,
                    application: fixture.application.id)
                guard case .counted(let preview) = result else { throw FixtureError.unexpected("\(result)") }
                #expect(preview.matchedCount == 0)
            }
        }
    }

    @Test("has a name of its own in its app, also after a change")
    func names() async throws {
        try await StoreFixture.with { fixture in
            try await create("A", in: fixture)
            let second = try await create("B", in: fixture)
            #expect(try await change(second, name: "A", in: fixture) == .conflict)
            #expect(try await change(second, name: "B", note: "same", in: fixture) == .changed)
            #expect(try await change(second, name: "C", in: fixture) == .changed)
            try await create("B", in: fixture)
        }
    }

    @Test("is listed once, oldest first, whatever is made and removed between two pages")
    func pages() async throws {
        try await StoreFixture.with { fixture in
            var ids: [UUID] = []
            for number in 0..<7 { ids.append(try await create("S\(number)", in: fixture)) }
            // Some of the same moment, which the order must tell apart.
            try await fixture.session.execute("update segment set created_at = '2026-01-01' where name in ('S2', 'S3', 'S4')")
            var seen: [String] = []
            var start: SegmentPageStart? = .offset(0)
            while let here = start {
                let page = try await fixture.store.segments(from: here, limit: 2, application: fixture.application.id)
                #expect(page.segments.count <= 2)
                seen += page.segments.map(\.name)
                start = page.next
                if seen.count == 2 {
                    // The page's own last segment goes, and one comes.
                    let last = try #require(page.segments.last)
                    #expect(try await fixture.store.removeSegment(last.id, application: fixture.application.id))
                    try await create("new", in: fixture)
                }
            }
            #expect(Set(seen.prefix(3)) == ["S2", "S3", "S4"])
            #expect(Array(seen.dropFirst(3)) == ["S0", "S1", "S5", "S6", "new"])
            let offset = try await fixture.store.segments(from: .offset(6), limit: 5, application: fixture.application.id)
            #expect(offset.totalCount == 7 && offset.segments.map(\.name) == ["new"] && offset.next == nil)
        }
    }

    @Test("that is changed or removed leaves a fan-out that runs the audience it was accepted with")
    func leavesFanOutsAlone() async throws {
        try await StoreFixture.with { fixture in
            for (number, country) in [(1, "DE"), (2, "FR"), (3, "DE"), (4, "FR")] {
                try await fixture.addDevice(number) { $0.country = country }
            }
            let id = try await create("Fans", in: fixture)
            let changed = try await fixture.accept(
                StoreFixture.start("match-1", .segments(included: ["Fans"], excluded: [])))
            let worker = try await fixture.store.registerWorker(node: "a")
            // It has begun: one of its two devices is claimed.
            let chunk = try #require(try await fixture.claim(worker, 1))
            #expect(chunk.devices == [try await fixture.deviceNumber(1)])
            #expect(try await change(id, country: "FR", in: fixture) == .changed)
            let later = try await fixture.accept(StoreFixture.start("match-2", .segments(included: ["Fans"], excluded: [])))
            #expect(try await fixture.store.removeSegment(id, application: fixture.application.id))
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed[changed.id] == [try await fixture.deviceNumber(3)])
            #expect(pushed[later.id] == [try await fixture.deviceNumber(2), try await fixture.deviceNumber(4)])
        }
    }
}
