import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("One instance of a campaign after the other", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(2)))
struct BroadcastSuccessionTests {
    /// So old that it makes room, although nobody ended it.
    private static func age(_ instance: String, _ fixture: StoreFixture) async throws {
        try await fixture.session.execute(
            "update broadcast_instance set started_at = started_at - 8 * 3600 where instance_id = '\(instance)'")
    }

    /// The channel's identifiers that the next chunk is for.
    private static func channels(_ worker: WorkerID, _ event: ActivityEvent, _ fixture: StoreFixture) async throws -> [String] {
        guard let chunk = try await fixture.claim(worker) else { return [] }
        _ = try await fixture.store.record([StoreFixture.record(chunk, event)], worker: worker)
        return chunk.devices.indices.filter { chunk.devices[$0] < 0 }.map { String(decoding: chunk.tokens[$0], as: UTF8.self) }
    }

    @Test("gets a channel that is made, or made anew, while it runs, with the next state")
    func lateChannel() async throws {
        try await CampaignChannelTests.with { fixture, campaign in
            let worker = try await fixture.store.registerWorker(node: "a")
            try await BroadcastTests.start(campaign, "a", fixture)
            #expect(try await fixture.deliverEverything(worker).isEmpty)
            try await CampaignChannelTests.make("AAEC", campaign, fixture)
            try await BroadcastTests.push(.update, campaign, fixture)
            #expect(try await Self.channels(worker, .update, fixture) == ["AAEC"])
            // Apple's list no longer has it: another one is made.
            try await fixture.session.execute("update channel set made_at = made_at - interval '1 hour'")
            try await CampaignChannelTests.compare(fixture)
            try await CampaignChannelTests.make("AAED", campaign, fixture)
            try await BroadcastTests.push(.end, campaign, score: 2, fixture)
            #expect(try await Self.channels(worker, .end, fixture) == ["AAED"])
        }
    }

    @Test("stops all that is still to be sent of the one whose place it takes")
    func supersedes() async throws {
        try await CampaignChannelTests.with { fixture, campaign in
            try await CampaignChannelTests.make("AAEC", campaign, fixture)
            for number in 1...2 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            try await BroadcastTests.start(campaign, "a", fixture)
            try await BroadcastTests.push(.update, campaign, fixture)
            // Its start and its update wait for another try.
            try await fixture.session.execute(
                """
                insert into delivery_retry (notification_id, device_id, attempt, is_targeted, not_before)
                select notification_id, case event when 0 then (select min(device_id) from device) else -1 end, 1, true, now()
                from notification
                """)
            try await Self.age("a", fixture)
            try await BroadcastTests.start(campaign, "b", fixture)
            let wanted = try await fixture.text("select max(activity_id) from activity where ended_at is null")
            #expect(wanted == "b")
            let starts = try #require(try await fixture.claim(worker))
            #expect(try await fixture.text(Self.activityOf, [.notification(starts.id.notification)]) == "b")
            _ = try await fixture.store.record([StoreFixture.record(starts, .start)], worker: worker)
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.number("select count(*) from fan_out where finished_at is null") == 0)
            #expect(try await fixture.number("select count(*) from delivery_retry") == 0)
        }
    }

    private static let activityOf = """
        select activity_id from notification join activity using (activity_number) where notification_id = $1
        """

    @Test("has the channel to itself from its first update on: a late end of the one before goes to devices only")
    func lateEnd() async throws {
        try await CampaignChannelTests.with { fixture, campaign in
            try await CampaignChannelTests.make("AAEC", campaign, fixture)
            try await fixture.addDevice(1)
            let worker = try await fixture.store.registerWorker(node: "a")
            try await BroadcastTests.start(campaign, "a", fixture)
            _ = try await fixture.deliverEverything(worker)
            try await fixture.hold("a", device: 1)
            try await BroadcastTests.push(.end, campaign, fixture)
            let end = try #require(try await fixture.claim(worker))
            let device = try await fixture.deviceNumber(1)
            #expect(end.devices == [-1, device])
            // Apple could take neither.
            var record = ChunkRecord(chunk: end.id, event: .end)
            record.retries = end.devices.map { RetryRecord(device: $0, attempt: 1, notBefore: UnixMilliseconds(rawValue: 0)) }
            _ = try await fixture.store.record([record], worker: worker)
            try await BroadcastTests.start(campaign, "b", fixture)
            try await BroadcastTests.push(.update, campaign, score: 2, fixture)
            let sent = try await fixture.deliverEverything(worker)
            #expect(sent[end.id.notification] == [device])
            #expect(sent.values.count { $0 == [-1] } == 1)
        }
    }

    @Test("waits for an update that is being accepted of the one whose place it takes")
    func locksNames() async throws {
        try await BroadcastTests.with { fixture, campaign in
            try await BroadcastTests.start(campaign, "a", fixture)
            try await Self.age("a", fixture)
            try await fixture.session.execute(
                "begin; select pg_advisory_xact_lock(\(fixture.application.id), hashtext('a'))")
            async let started = BroadcastTests.start(campaign, "b", fixture)
            try await fixture.waitUntilBlocked()
            try await fixture.session.execute("commit")
            #expect(try await started == "b")
        }
    }

    @Test("is not undone by an update that looked at the activity before: what is over stays over")
    func staysOver() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("m"))
            let activity = try #require(try await fixture.number("select activity_number from activity"))
            try await fixture.session.execute("update activity set ended_at = clock_timestamp()")
            let application = fixture.application.id
            let (store, update) = (
                fixture.store, UpdateCommand(activityID: "m", name: "n", content: StoreFixture.content(.update))
            )
            _ = try await store.transaction { connection in
                try await store.store(update, of: activity, application: application, on: connection)
            }
            #expect(try await fixture.number("select count(*) from activity where ended_at is null") == 0)
        }
    }

    @Test("takes a name that another campaign is taking for a duplicate")
    func sameName() async throws {
        try await BroadcastTests.with { fixture, campaign in
            let other = try await CampaignTests.create(CampaignTests.campaign("cup"), fixture)
            // Its token makes the type known: else one start would wait for the other on the way.
            try await fixture.addDevice(1)
            try await fixture.session.execute(
                "begin; select pg_advisory_xact_lock(\(fixture.application.id), hashtext('a'))")
            let application = fixture.application
            let flow = BroadcastTests.flow(fixture)
            async let first = flow.start(BroadcastTests.request("a", of: campaign), application: application)
            async let second = flow.start(BroadcastTests.request("a", of: other), application: application)
            try await fixture.waitUntilBlocked(2)
            try await fixture.session.execute("commit")
            let decisions = try await [first, second]
            #expect(decisions.contains(.accepted(instanceID: "a")))
            #expect(decisions.contains(.refused(.duplicate)))
        }
    }
}
