import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

/// What a push looks like is the APNs adapter's.
private struct NoPayload: PayloadRenderer {
    func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] { [] }
}

@Suite("Broadcasts", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(2))) struct BroadcastTests {
    static func flow(_ fixture: StoreFixture, now: Int64 = 1_000) -> Broadcasts {
        Broadcasts(ledger: fixture.store, renderer: NoPayload(), nowMilliseconds: { now * 1_000 })
    }

    static func state(_ score: Int = 0, dismissalDate: Int64? = nil) -> BroadcastState {
        BroadcastState(
            contentState: Array(#"{"score":\#(score)}"#.utf8),
            alert: LocalizedAlert(
                language: "en", title: "T", body: nil, subtitle: "S", bodyObject: Array(#"{ "loc-key" : "K" }"#.utf8)),
            sound: "default", staleDate: 7, dismissalDate: dismissalDate)
    }

    static func request(
        _ instance: String?, of campaign: Campaign, type: String = StoreFixture.type, dismissalDate: Int64? = nil
    ) -> BroadcastStart {
        BroadcastStart(
            campaign: "\(campaign.id)", instanceID: instance, attributesType: type, attributes: Array(#"{"home":1.0}"#.utf8),
            state: state(dismissalDate: dismissalDate))
    }

    @discardableResult
    static func start(
        _ campaign: Campaign, _ instance: String?, type: String = StoreFixture.type, dismissalDate: Int64? = nil,
        expecting refusal: BroadcastRefusal? = nil, _ fixture: StoreFixture
    ) async throws -> String {
        let request = request(instance, of: campaign, type: type, dismissalDate: dismissalDate)
        // The workspace's five starts a minute are not what is looked at.
        try await fixture.session.execute("delete from campaign_rate_limit")
        let decision = try await flow(fixture).start(request, application: fixture.application)
        if let refusal {
            #expect(decision == .refused(refusal))
            return ""
        }
        guard case .accepted(let id) = decision else { throw FixtureError.unexpected("\(decision)") }
        return id
    }

    @discardableResult
    static func push(
        _ event: ActivityEvent, _ campaign: Campaign, instance: String? = nil, score: Int = 1, dismissalDate: Int64? = nil,
        expecting refusal: BroadcastRefusal? = nil, _ fixture: StoreFixture
    ) async throws -> String {
        let request = BroadcastUpdate(
            campaign: "\(campaign.id)", instanceID: instance, event: event, state: state(score, dismissalDate: dismissalDate),
            digest: [UInt8](repeating: UInt8(score) &+ UInt8(event.rawValue) * 100, count: 32))
        try await fixture.session.execute("delete from campaign_rate_limit")
        let decision = try await flow(fixture).update(request, application: fixture.application)
        if let refusal {
            #expect(decision == .refused(refusal))
            return ""
        }
        guard case .accepted(let id) = decision else { throw FixtureError.unexpected("\(decision)") }
        return id
    }

    static func with(_ body: (StoreFixture, Campaign) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            try await body(fixture, try await CampaignTests.create(CampaignTests.campaign(), fixture))
        }
    }

    @Test("start on the devices of the audience, and reach who told an update token with updates and the end")
    func reaches() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 {
                try await fixture.addDevice(number) { $0.tags = ["club": number == 3 ? "away" : "home"] }
            }
            let filters = Array(#"[{"field":"tag","key":"club","relation":"=","value":"home"}]"#.utf8)
            let campaign = try await CampaignTests.create(CampaignTests.campaign(audience: .filters(filters)), fixture)
            let worker = try await fixture.store.registerWorker(node: "a")
            try await Self.start(campaign, "a", fixture)
            let (first, second) = (try await fixture.deviceNumber(1), try await fixture.deviceNumber(2))
            #expect(try await fixture.deliverEverything(worker).values.flatMap { $0 } == [first, second])
            try await fixture.hold("a", device: 2)
            #expect(try await Self.push(.update, campaign, fixture) == "a")
            #expect(try await fixture.deliverEverything(worker).values.flatMap { $0 } == [second])
            #expect(try await Self.push(.end, campaign, instance: "a", fixture) == "a")
            #expect(try await fixture.deliverEverything(worker).values.flatMap { $0 } == [second])
        }
    }

    @Test("keep what they push: both marks, the subtitle, and a body that is an object")
    func content() async throws {
        try await Self.with { fixture, campaign in
            try await Self.start(campaign, "a", dismissalDate: 9_000_000_000, fixture)
            try await Self.push(.update, campaign, fixture)
            let rows = try await fixture.session.queryUnprepared(
                "select content, event from notification order by notification_id")
            let contents = (0..<rows.rowCount).compactMap { row in
                ActivityEvent(rawValue: rows.int16(row: row, column: 1)).flatMap {
                    PushContent(stored: rows.bytes(row: row, column: 0), event: $0)
                }
            }
            try #require(contents.count == 2)
            for content in contents {
                #expect(content.alerts.first?.subtitle == "S" && content.alerts.first?.body == nil)
                #expect(content.alerts.first?.bodyObject == Array(#"{ "loc-key" : "K" }"#.utf8))
                #expect(content.sound == "default" && content.campaign?.instanceID == "a")
            }
            let mark = try #require(contents[0].campaign?.start)
            #expect(mark.campaign == campaign.id && mark.campaignName == campaign.name)
            #expect(mark.attributesType == StoreFixture.type && mark.application == fixture.application.publicID)
            #expect(contents[0].dismissalDate == 9_000_000_000 && contents[1].campaign?.start == nil)
        }
    }

    @Test("need nobody who can be started: devices come by the channel too")
    func nobody() async throws {
        try await Self.with { fixture, campaign in
            try await Self.start(campaign, "a", type: "NeverSeenAttributes", fixture)
            let worker = try await fixture.store.registerWorker(node: "a")
            #expect(try await fixture.deliverEverything(worker).isEmpty)
            #expect(try await fixture.number("select count(*) from fan_out where finished_at is not null") == 1)
            #expect(try await Self.push(.update, campaign, fixture) == "a")
        }
    }

    @Test("take an identifier once: not again after its end, in no other campaign, and not that of an activity")
    func duplicates() async throws {
        try await Self.with { fixture, campaign in
            let other = try await CampaignTests.create(CampaignTests.campaign("cup"), fixture)
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("activity"))
            try await Self.start(campaign, "activity", expecting: .duplicate, fixture)
            try await Self.start(campaign, "a", fixture)
            try await Self.start(other, "a", expecting: .duplicate, fixture)
            try await Self.push(.end, campaign, fixture)
            try await Self.start(campaign, "a", expecting: .duplicate, fixture)
            // What only a device told of was never pushed to.
            try await fixture.hold("b", device: 1)
            try await Self.start(campaign, "b", fixture)
        }
    }

    @Test("run one at a time in a campaign, and beside those of others")
    func limit() async throws {
        try await Self.with { fixture, campaign in
            let other = try await CampaignTests.create(CampaignTests.campaign("cup"), fixture)
            try await Self.start(campaign, "a", fixture)
            try await Self.start(campaign, "b", expecting: .tooManyInstances, fixture)
            try await Self.start(other, "b", fixture)
            // One that was refused for want of room is not there for the same reason.
            try await Self.push(.update, campaign, instance: "c", expecting: .tooManyInstances, fixture)
            try await Self.push(.end, campaign, instance: "a", fixture)
            try await Self.push(.update, campaign, instance: "c", expecting: .notRunning, fixture)
            #expect(try await Self.start(campaign, nil, fixture).wholeMatch(of: /1000000-[0-9a-f]{8}/) != nil)
        }
    }

    @Test("refuse the latest request again when it names its instance, and every operation when nothing runs")
    func refusals() async throws {
        try await Self.with { fixture, campaign in
            try await Self.push(.update, campaign, expecting: .notRunning, fixture)
            try await Self.start(campaign, "a", fixture)
            try await Self.push(.update, campaign, instance: "a", score: 1, fixture)
            try await Self.push(.update, campaign, instance: "a", score: 1, expecting: .duplicate, fixture)
            try await Self.push(.update, campaign, score: 1, fixture)
            try await Self.push(.update, campaign, instance: "a", score: 2, fixture)
            try await Self.push(.update, campaign, instance: "a", score: 1, fixture)
            try await Self.push(.end, campaign, instance: "a", fixture)
            try await Self.push(.end, campaign, instance: "a", expecting: .duplicate, fixture)
            try await Self.push(.update, campaign, instance: "a", expecting: .notRunning, fixture)
            try await Self.push(.end, campaign, expecting: .notRunning, fixture)
        }
    }

    @Test("end by an update whose dismissal date has come, and say so ever after")
    func dismissal() async throws {
        try await Self.with { fixture, campaign in
            try await Self.start(campaign, "a", fixture)
            try await Self.push(.update, campaign, score: 2, dismissalDate: 999, fixture)
            #expect(try await fixture.number("select event from notification order by notification_id desc limit 1") == 2)
            #expect(try await fixture.number("select count(*) from activity where ended_at is null") == 0)
            for event in [ActivityEvent.update, .end] {
                try await Self.push(event, campaign, instance: "a", score: 3, expecting: .dismissed, fixture)
                try await Self.push(event, campaign, score: 3, expecting: .dismissed, fixture)
            }
            // The date that a start or an update named has come.
            try await Self.start(campaign, "b", dismissalDate: 9_000_000_000, fixture)
            try await fixture.session.execute("update broadcast_instance set dismissal_date = 5 where instance_id = 'b'")
            try await Self.push(.update, campaign, score: 4, expecting: .dismissed, fixture)
            try await Self.start(campaign, "c", fixture)
            try await Self.push(.end, campaign, instance: "b", score: 5, expecting: .dismissed, fixture)
        }
    }

    /// Lets the dismissal date of an instance come.
    private static func letDateCome(_ instance: String, _ fixture: StoreFixture) async throws {
        try await fixture.session.execute(
            "update broadcast_instance set dismissal_date = unix_seconds(now()) - 1 where instance_id = '\(instance)'")
    }

    @Test("end by themselves at their dismissal date, once, with the state they had last")
    func dismissesItself() async throws {
        try await Self.with { fixture, campaign in
            #expect(try await fixture.store.secondsToNextDismissal() == nil)
            try await Self.start(campaign, "a", dismissalDate: 9_000_000_000, fixture)
            try await Self.push(.update, campaign, score: 7, fixture)
            #expect(try await fixture.store.dismissDue(limit: 20) == 0)
            #expect(try #require(try await fixture.store.secondsToNextDismissal()) > 1_000_000_000)
            try await Self.letDateCome("a", fixture)
            #expect(try #require(try await fixture.store.secondsToNextDismissal()) < 0)
            // Two daemons at once.
            async let other = fixture.store.dismissDue(limit: 20)
            let counts = try await (fixture.store.dismissDue(limit: 20), other)
            #expect(counts.0 + counts.1 == 1)
            #expect(try await fixture.store.secondsToNextDismissal() == nil)
            #expect(try await fixture.number("select count(*) from notification where event = 2") == 1)
            let content = try #require(
                try await fixture.text("select convert_from(content, 'UTF8') from notification where event = 2"))
            #expect(content.contains(#""content_state":{"score":7}"#) && content.contains(#""alerts":[]"#), "\(content)")
            #expect(try await fixture.number("select count(*) from activity where ended_at is null") == 0)
            try await Self.push(.end, campaign, instance: "a", score: 8, expecting: .dismissed, fixture)
        }
    }

    @Test("whose dismissal date has come are ended by the next start too")
    func dismissedByNext() async throws {
        try await Self.with { fixture, campaign in
            try await Self.start(campaign, "a", dismissalDate: 9_000_000_000, fixture)
            try await Self.letDateCome("a", fixture)
            try await Self.start(campaign, "b", fixture)
            #expect(
                try await fixture.text(
                    "select activity_id from notification join activity using (activity_number) where event = 2") == "a")
            #expect(try await fixture.store.dismissDue(limit: 20) == 0)
            #expect(try await Self.push(.update, campaign, fixture) == "b")
        }
    }

    @Test("leave the place of one that is too old to be updated to the next, and end its activity")
    func overtakes() async throws {
        try await Self.with { fixture, campaign in
            try await Self.start(campaign, "a", fixture)
            try await fixture.session.execute("update broadcast_instance set started_at = started_at - 8 * 3600")
            try await Self.push(.update, campaign, expecting: .notRunning, fixture)
            try await Self.start(campaign, "b", fixture)
            #expect(try await fixture.text("select activity_id from activity where ended_at is null") == "b")
            try await Self.push(.end, campaign, instance: "a", expecting: .notRunning, fixture)
            #expect(try await Self.push(.update, campaign, fixture) == "b")
        }
    }

    @Test("start one of many at once")
    func concurrentStarts() async throws {
        try await Self.with { fixture, campaign in
            let request = { (id: String) in
                BroadcastStart(
                    campaign: "match", instanceID: id, attributesType: StoreFixture.type, attributes: Array("{}".utf8),
                    state: Self.state())
            }
            let application = fixture.application
            let flow = Self.flow(fixture)
            let decisions = try await withThrowingTaskGroup(of: BroadcastDecision.self) { group in
                for number in 1...5 {
                    let start = request("i-\(number)")
                    group.addTask { try await flow.start(start, application: application) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(decisions.count { $0 == .refused(.tooManyInstances) } == 4)
            #expect(try await fixture.number("select count(*) from broadcast_instance") == 1)
            #expect(campaign.number > 0)
        }
    }
}
