import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Channels of campaigns", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(2)))
struct CampaignChannelTests {
    private static func place(_ fixture: StoreFixture, _ environment: PushEnvironment = .production) -> ChannelPlace {
        ChannelPlace(application: fixture.application, environment: environment)
    }

    /// Compares the place with an empty list of Apple's, so that channels may be made.
    static func compare(_ fixture: StoreFixture, found: [String] = []) async throws {
        let place = place(fixture)
        let listing = try #require(try await fixture.store.beginListing(of: place, seconds: 15))
        _ = try #require(try await fixture.store.finishListing(listing, of: place, found: found))
    }

    static func make(_ identifier: String, _ campaign: Campaign, _ fixture: StoreFixture) async throws {
        let intent = try await fixture.store.intendChannel(
            .mostRecent, ofCampaign: campaign.number, in: place(fixture), seconds: 15)
        guard case .stored(let request) = intent else { throw FixtureError.unexpected("\(intent)") }
        try await fixture.store.channelWasMade(identifier, request: request, in: place(fixture))
    }

    static func with(_ body: (StoreFixture, Campaign) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            let campaign = try await CampaignTests.create(CampaignTests.campaign(), fixture)
            try await compare(fixture)
            try await body(fixture, campaign)
        }
    }

    private static func census(_ fixture: StoreFixture) async throws -> ChannelCensus {
        try #require(try await fixture.store.channelCensus(countsOver: true).first { $0.place.environment == .production })
    }

    private static func channel(_ campaign: Campaign, _ fixture: StoreFixture) async throws -> String? {
        try await fixture.store.campaign(named: "\(campaign.id)", application: fixture.application.id)?.channels[.production]
    }

    @Test("are asked for until they are there, once, and count as used")
    func lacking() async throws {
        try await Self.with { fixture, campaign in
            #expect(try await Self.census(fixture).lackingCampaigns == [campaign.number])
            let intent = try await fixture.store.intendChannel(
                .mostRecent, ofCampaign: campaign.number, in: Self.place(fixture), seconds: 15)
            guard case .stored(let request) = intent else { throw FixtureError.unexpected("\(intent)") }
            #expect(try await Self.census(fixture).lackingCampaigns == [])
            #expect(
                try await fixture.store.intendChannel(
                    .mostRecent, ofCampaign: campaign.number, in: Self.place(fixture), seconds: 15) == .notNeeded)
            #expect(try await Self.channel(campaign, fixture) == nil)
            try await fixture.store.channelWasMade("AAEC", request: request, in: Self.place(fixture))
            #expect(try await Self.channel(campaign, fixture) == "AAEC")
            let census = try await Self.census(fixture)
            #expect(census.usedCount == 1 && census.freeCount == 0 && census.overCount == 0)
        }
    }

    @Test("are one more recipient of every instance, one instance after the other")
    func serves() async throws {
        try await Self.with { fixture, campaign in
            try await Self.make("AAEC", campaign, fixture)
            try await fixture.addDevice(1) { $0.osVersion = "18.1" }
            let worker = try await fixture.store.registerWorker(node: "a")
            let device = try await fixture.deviceNumber(1)
            func expectChannel(_ event: ActivityEvent) async throws {
                let chunk = try #require(try await fixture.claim(worker))
                #expect(chunk.devices == [-1] && chunk.tokens[0] == Array("AAEC".utf8))
                #expect(chunk.services == [PushService.broadcastProduction.rawValue])
                _ = try await fixture.store.record([StoreFixture.record(chunk, event)], worker: worker)
            }
            func expectStart() async throws {
                let chunk = try #require(try await fixture.claim(worker))
                #expect(chunk.devices == [device] && chunk.variants == [1])
                _ = try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: worker)
            }
            try await BroadcastTests.start(campaign, "a", fixture)
            try await expectStart()
            try await BroadcastTests.push(.update, campaign, fixture)
            try await expectChannel(.update)
            try await BroadcastTests.push(.end, campaign, score: 2, fixture)
            // The end is still to be sent when the next one begins.
            try await BroadcastTests.start(campaign, "b", fixture)
            try await expectChannel(.end)
            try await expectStart()
            try await BroadcastTests.push(.update, campaign, fixture)
            try await expectChannel(.update)
            #expect(try await Self.channel(campaign, fixture) == "AAEC")
        }
    }

    @Test("carry states whose timestamps rise over all instances")
    func timestamps() async throws {
        try await Self.with { fixture, campaign in
            for instance in ["a", "b", "c"] {
                try await BroadcastTests.start(campaign, instance, fixture)
                for score in 1...3 { try await BroadcastTests.push(.update, campaign, score: score, fixture) }
                try await BroadcastTests.push(.end, campaign, fixture)
            }
            let wrong = try await fixture.number(
                """
                select count(*) from (
                    select push_timestamp <= lag(push_timestamp) over (order by notification_id) as is_wrong from notification
                ) as step where is_wrong
                """)
            #expect(wrong == 0)
        }
    }

    @Test("stay when an instance is over, and go with their campaign")
    func released() async throws {
        try await Self.with { fixture, campaign in
            try await Self.make("AAEC", campaign, fixture)
            try await BroadcastTests.start(campaign, "a", fixture)
            try await BroadcastTests.push(.end, campaign, fixture)
            let worker = try await fixture.store.registerWorker(node: "a")
            _ = try await fixture.deliverEverything(worker)
            try await fixture.store.retireChannels(of: Self.place(fixture), overForSeconds: 0)
            #expect(try await Self.channel(campaign, fixture) == "AAEC")
            let removal = try await fixture.store.removeCampaign(campaign, application: fixture.application.id)
            guard case .removed = removal else { throw FixtureError.unexpected("\(removal)") }
            let census = try await Self.census(fixture)
            #expect(census.deletableCount == 1 && census.usedCount == 0)
        }
    }

    @Test("are not asked for by a campaign that goes at that moment")
    func goneMeanwhile() async throws {
        try await Self.with { fixture, campaign in
            let place = Self.place(fixture)
            try await fixture.session.execute("begin; select from campaign for update")
            async let intent = fixture.store.intendChannel(.mostRecent, ofCampaign: campaign.number, in: place, seconds: 15)
            try await fixture.waitUntilBlocked()
            try await fixture.session.execute("delete from campaign; commit")
            #expect(try await intent == .notNeeded)
        }
    }

    @Test("that are being made when their campaign goes are nobody's, and lost ones are made anew")
    func lost() async throws {
        try await Self.with { fixture, campaign in
            let other = try await CampaignTests.create(CampaignTests.campaign("cup"), fixture)
            let intent = try await fixture.store.intendChannel(
                .mostRecent, ofCampaign: other.number, in: Self.place(fixture), seconds: 15)
            guard case .stored(let request) = intent else { throw FixtureError.unexpected("\(intent)") }
            _ = try await fixture.store.removeCampaign(other, application: fixture.application.id)
            try await fixture.store.channelWasMade("AAED", request: request, in: Self.place(fixture))
            #expect(try await Self.census(fixture).freeCount == 1)
            #expect(
                try await fixture.store.intendChannel(
                    .mostRecent, ofCampaign: other.number, in: Self.place(fixture), seconds: 15) == .notNeeded)

            try await Self.make("AAEC", campaign, fixture)
            try await BroadcastTests.start(campaign, "a", fixture)
            try await fixture.session.execute("update channel set made_at = made_at - interval '1 hour'")
            try await Self.compare(fixture, found: ["AAED"])
            #expect(try await Self.channel(campaign, fixture) == nil)
            #expect(try await Self.census(fixture).lackingCampaigns == [campaign.number])
        }
    }
}
