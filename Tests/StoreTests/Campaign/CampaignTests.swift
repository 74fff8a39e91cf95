import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Campaigns", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(2))) struct CampaignTests {
    static func campaign(
        _ name: String = "match", request: String? = nil, audience: CampaignAudience = .everybody(excluded: []),
        digest: UInt8 = 1
    ) -> NewCampaign {
        NewCampaign(
            requestID: request ?? "request of \(name)", digest: [UInt8](repeating: digest, count: 32), liveActivityID: name,
            name: "Campaign \(name)", createdBy: "person@example.com", audience: audience, environments: [.production])
    }

    static func create(_ campaign: NewCampaign, _ fixture: StoreFixture) async throws -> Campaign {
        let creation = try await fixture.store.createCampaign(campaign, application: fixture.application.id)
        guard case .created(let created) = creation else { throw FixtureError.unexpected("\(creation)") }
        return created
    }

    @Test("are found by their identifier and by what their maker called them, in their own app")
    func found() async throws {
        try await StoreFixture.with { fixture in
            let created = try await Self.create(Self.campaign(), fixture)
            #expect(created.name == "Campaign match" && created.createdBy == "person@example.com")
            for name in ["match", "\(created.id)", "\(created.id)".uppercased()] {
                let found = try await fixture.store.campaign(named: name, application: fixture.application.id)
                #expect(found?.number == created.number, "\(name)")
            }
            let stranger = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            #expect(try await fixture.store.campaign(named: "match", application: stranger.id) == nil)
            #expect(try await fixture.store.campaign(named: "Match", application: fixture.application.id) == nil)
            #expect(try await fixture.store.campaigns(of: fixture.application.id).map(\.number) == [created.number])
        }
    }

    @Test("are one for one request, which is refused when it asks for something else")
    func idempotent() async throws {
        try await StoreFixture.with { fixture in
            let first = try await Self.create(Self.campaign(), fixture)
            #expect(try await Self.create(Self.campaign(), fixture).number == first.number)
            let other = try await fixture.store.createCampaign(
                Self.campaign("cup", request: "request of match", digest: 2), application: fixture.application.id)
            guard case .duplicateRequest = other else { throw FixtureError.unexpected("\(other)") }
            let taken = try await fixture.store.createCampaign(
                Self.campaign("match", request: "another"), application: fixture.application.id)
            guard case .takenLiveActivityID = taken else { throw FixtureError.unexpected("\(taken)") }
        }
    }

    @Test("for everybody reach everybody, also when a segment is called All")
    func everybody() async throws {
        try await StoreFixture.with { fixture in
            let app = fixture.application.id
            try await fixture.addDevice(1) { $0.tags = ["club": "home"] }
            try await fixture.addDevice(2)
            let definition = Array(#"[{"field":"tag","key":"club","relation":"=","value":"home"}]"#.utf8)
            for name in ["All", "home"] {
                _ = try await fixture.store.createSegment(
                    NewSegment(id: nil, name: name, note: "", definition: definition), application: app)
            }
            let excluding = SegmentReference.name("home")
            for (name, audience, count) in [
                ("all", CampaignAudience.everybody(excluded: []), 2), ("away", .everybody(excluded: [excluding]), 1),
                ("named", .segments(included: [.name("All")], excluded: []), 1),
            ] as [(String, CampaignAudience, Int64)] {
                _ = try await Self.create(Self.campaign(name, request: name, audience: audience), fixture)
                let stored = try #require(try await fixture.store.campaign(named: name, application: app)?.audience)
                guard
                    case .counted(let preview) = try await fixture.store.preview(
                        stored, activityType: StoreFixture.type, application: app)
                else { throw FixtureError.unexpected(name) }
                #expect(preview.reachableCount == count, "\(name)")
            }
        }
    }

    @Test("keep a segment that is named anew, and lose their audience with a segment that is removed")
    func segments() async throws {
        try await StoreFixture.with { fixture in
            let app = fixture.application.id
            let definition = Array(#"[{"field":"tag","key":"club","relation":"=","value":"home"}]"#.utf8)
            guard
                case .created(let id) = try await fixture.store.createSegment(
                    NewSegment(id: nil, name: "fans", note: "", definition: definition), application: app)
            else { throw FixtureError.unexpected("no segment") }
            _ = try await Self.create(
                Self.campaign(audience: .segments(included: [.name("fans"), .id(id), .name("All")], excluded: [.id(id)])),
                fixture)
            _ = try await fixture.store.changeSegment(
                id, SegmentChange(name: "supporters", note: nil, definition: nil), application: app)
            let renamed = try await fixture.store.campaign(named: "match", application: app)
            // Everybody and some others are everybody.
            guard case .everybody(let excluded)? = renamed?.audience else {
                throw FixtureError.unexpected("\(String(describing: renamed))")
            }
            #expect(excluded == ["supporters"])
            #expect(try await fixture.store.removeSegment(id, application: app))
            #expect(try await fixture.store.campaign(named: "match", application: app)?.audience == nil)

            let unknown = try await fixture.store.createCampaign(
                Self.campaign("cup", audience: .segments(included: [.name("nobody")], excluded: [.id(id)])), application: app)
            guard case .unknownSegments(let references) = unknown else { throw FixtureError.unexpected("\(unknown)") }
            #expect(references == [.name("nobody"), .id(id)])
        }
    }

    @Test("go for good, unless an instance runs")
    func removed() async throws {
        try await StoreFixture.with { fixture in
            let campaign = try await Self.create(Self.campaign(), fixture)
            try await BroadcastTests.start(campaign, "a", fixture)
            let running = try await fixture.store.removeCampaign(campaign, application: fixture.application.id)
            guard case .isRunning("a") = running else { throw FixtureError.unexpected("\(running)") }
            try await BroadcastTests.push(.end, campaign, fixture)
            _ = try await fixture.store.admit(.update, of: campaign, application: fixture.application.id)
            let gone = try await fixture.store.removeCampaign(campaign, application: fixture.application.id)
            guard case .removed = gone else { throw FixtureError.unexpected("\(gone)") }
            let again = try await fixture.store.removeCampaign(campaign, application: fixture.application.id)
            guard case .unknown = again else { throw FixtureError.unexpected("\(again)") }
            #expect(try await fixture.store.campaign(named: "match", application: fixture.application.id) == nil)
            #expect(try await fixture.number("select count(*) from campaign_rate_limit where campaign_number > 0") == 0)
        }
    }

    @Test("admit so many calls in a minute, by workspace, campaign and kind, and then say when the next one passes")
    func rates() async throws {
        try await StoreFixture.with { fixture in
            let (store, app) = (fixture.store, fixture.application.id)
            let (first, second) = (
                try await Self.create(Self.campaign("a"), fixture), try await Self.create(Self.campaign("b"), fixture)
            )
            for _ in 1...5 {
                #expect(try await store.admit(.start, of: app) == .admitted)
                #expect(try await store.admit(.update, of: first, application: app) == .admitted)
            }
            for decision in [try await store.admit(.start, of: app), try await store.admit(.update, of: first, application: app)]
            {
                guard case .refused(let seconds) = decision else { throw FixtureError.unexpected("\(decision)") }
                #expect((1...60).contains(seconds))
            }
            #expect(try await store.admit(.end, of: first, application: app) == .admitted)
            #expect(try await store.admit(.update, of: second, application: app) == .admitted)
            #expect(try await store.admit(.update, of: app) == .admitted)
            // A minute later.
            try await fixture.session.execute(
                "update campaign_rate_limit set calls = array(select unnest(calls) - interval '61 s')")
            #expect(try await store.admit(.start, of: app) == .admitted)
            #expect(try await fixture.number("select cardinality(calls) from campaign_rate_limit where kind = 0") == 5)

            try await fixture.session.execute(
                "update campaign_rate_limit set calls = array_fill(clock_timestamp(), array[499]) where kind = 1 and campaign_number = 0"
            )
            #expect(try await store.admit(.update, of: app) == .admitted)
            #expect(try await store.admit(.update, of: app) != .admitted)
        }
    }
}
