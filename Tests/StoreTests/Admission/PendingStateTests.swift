import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("A state refused for want of a device", .enabled(if: TestDatabase.isAvailable)) struct PendingStateTests {
    /// Sends an update or end that must be refused; its name tells it from others.
    private func refuse(
        _ event: ActivityEvent, _ activityID: String, name: String, _ fixture: StoreFixture
    ) async throws {
        let command = UpdateCommand(activityID: activityID, name: name, content: StoreFixture.content(event))
        switch try await fixture.store.accept(command, application: fixture.application) {
        case .nobody, .unknownActivity: break
        case let other: throw FixtureError.unexpected("\(other)")
        }
    }

    /// Names of the notifications of an activity that are not starts, oldest first.
    private func names(_ activityID: String, _ fixture: StoreFixture) async throws -> [String] {
        let page = try #require(
            try await fixture.store.notifications(
                activityID: activityID, from: .newest, limit: 100, application: fixture.application.id))
        return page.filter { $0.event != .start }.map(\.name).reversed()
    }

    private func timestamps(_ fixture: StoreFixture) async throws -> [String: Int64] {
        let rows = try await fixture.session.queryUnprepared("select name, push_timestamp from notification")
        return Dictionary(
            uniqueKeysWithValues: (0..<rowCount(rows)).map { (rows.text(row: $0, column: 0), rows.int64(row: $0, column: 1)) })
    }
    private func rowCount(_ rows: borrowing QueryResult) -> Int { rows.rowCount }

    @Test("reaches the first device that comes, as a notification of its own, and the next ones as late joiners")
    func reachesTheFirst() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.deliverEverything(worker)
            try await refuse(.update, "match-1", name: "goal", fixture)
            #expect(try await names("match-1", fixture) == [])
            #expect(try await fixture.hold("match-1", device: 1).catchUp)
            #expect(try await names("match-1", fixture) == ["goal"])
            let first = try #require(try await fixture.claim(worker))
            #expect(try await first.devices == [fixture.deviceNumber(1)])
            let job = try #require(try await fixture.store.job(for: first.id.notification))
            #expect(job.content == StoreFixture.content(.update))
            #expect(try await fixture.store.record([StoreFixture.record(first, .update)], worker: worker) == [])
            #expect(try await fixture.hold("match-1", device: 2).catchUp)
            let second = try #require(try await fixture.claim(worker))
            #expect(second.id.notification == first.id.notification)
            #expect(try await second.devices == [fixture.deviceNumber(2)])
            #expect(try await fixture.number("select count(*) from pending_state") == 0)
            // It is used up.
            try await fixture.addDevice(3)
            #expect(try await fixture.hold("match-2", device: 3).catchUp == false)
        }
    }

    @Test("of an activity nobody knew yet reaches the device that tells of it")
    func reachesLocalActivity() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await refuse(.update, "local", name: "goal", fixture)
            #expect(try await fixture.hold("local", device: 1, type: StoreFixture.type).catchUp)
            #expect(try await names("local", fixture) == ["goal"])
            #expect(try await !fixture.hold("other", device: 1, token: [9]).catchUp)
        }
    }

    @Test("gives way to a newer one, and to an end whatever comes after it")
    func latestWins() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            _ = try await fixture.accept(StoreFixture.start("match-2"))
            for name in ["first", "second"] { try await refuse(.update, "match-1", name: name, fixture) }
            try await refuse(.update, "match-2", name: "first", fixture)
            try await refuse(.end, "match-2", name: "end", fixture)
            try await refuse(.update, "match-2", name: "second", fixture)
            #expect(try await fixture.hold("match-1", device: 1).catchUp)
            #expect(try await names("match-1", fixture) == ["second"])
            #expect(try await fixture.hold("match-2", device: 1, token: [2]).catchUp)
            #expect(try await names("match-2", fixture) == ["end"])
            let ended = try #require(try await fixture.store.activity("match-2", application: fixture.application.id))
            #expect(ended.isEnded)
            // Nothing follows the end.
            let command = UpdateCommand(activityID: "match-2", name: "late", content: StoreFixture.content(.update))
            guard case .ended = try await fixture.store.accept(command, application: fixture.application) else {
                throw FixtureError.unexpected("an update after the end")
            }
            #expect(try await fixture.number("select count(*) from pending_state") == 0)
        }
    }

    @Test("is forgotten after a minute, and so is an end")
    func isForgotten() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            try await refuse(.end, "match-1", name: "end", fixture)
            try await fixture.session.execute("update pending_state set refused_at = refused_at - interval '61 seconds'")
            #expect(try await !fixture.hold("match-1", device: 1).catchUp)
            try await fixture.session.execute("delete from update_token")
            try await refuse(.update, "match-1", name: "goal", fixture)
            #expect(try await fixture.text("select name from pending_state") == "goal")
            try await fixture.session.execute("update pending_state set refused_at = refused_at - interval '59 seconds'")
            #expect(try await fixture.hold("match-1", device: 1).catchUp)
            try await refuse(.update, "match-9", name: "goal", fixture)
            try await fixture.store.maintain()
            #expect(try await fixture.number("select count(*) from pending_state") == 1)
            try await fixture.session.execute("update pending_state set refused_at = refused_at - interval '61 seconds'")
            try await fixture.store.maintain()
            #expect(try await fixture.number("select count(*) from pending_state") == 0)
        }
    }

    @Test("never revives an activity that has ended, and gives way to a state that was accepted")
    func neverRevives() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            try await refuse(.update, "match-1", name: "refused", fixture)
            // A device whose activity is too old for an update, so that the state waits on; an end still reaches it.
            let now = try #require(try await fixture.number("select unix_seconds(now())"))
            #expect(try await !fixture.hold("match-1", device: 1, startedAt: now - 9 * 3600).catchUp)
            #expect(try await fixture.number("select count(*) from pending_state") == 1)
            let end = try await fixture.accept(.end, of: "match-1")
            #expect(try await fixture.number("select count(*) from pending_state") == 0)
            try await fixture.deliverEverything(worker)
            let command = UpdateCommand(activityID: "match-1", name: "after", content: StoreFixture.content(.update))
            guard case .ended = try await fixture.store.accept(command, application: fixture.application) else {
                throw FixtureError.unexpected("an update after the end")
            }
            #expect(try await fixture.hold("match-1", device: 2).catchUp)
            #expect(try await fixture.deliverEverything(worker).keys.sorted() == [end.id])
            #expect(try await names("match-1", fixture) == ["end"])
        }
    }

    @Test("keeps its place in time: a start that joins later stays the newer state, and does away with an end")
    func keepsItsPlace() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            try await refuse(.update, "match-1", name: "goal", fixture)
            try await fixture.session.execute("update notification set name = 'first start'")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            #expect(try await fixture.hold("match-1", device: 1).catchUp)
            let update = try await fixture.accept(.update, of: "match-1")
            let moments = try await timestamps(fixture)
            let order = try ["first start", "goal", "start match-1", "update"].map { try #require(moments[$0]) }
            #expect(order == order.sorted() && Set(order).count == 4, "\(moments)")
            #expect(try await fixture.store.superseded(among: [update.id]) == [])

            _ = try await fixture.accept(StoreFixture.start("match-2"))
            try await refuse(.end, "match-2", name: "end", fixture)
            _ = try await fixture.accept(StoreFixture.start("match-2"))
            #expect(try await !fixture.hold("match-2", device: 1, token: [2]).catchUp)
            // A start that begins a new activity shows more than what came before it.
            try await refuse(.update, "match-3", name: "early", fixture)
            _ = try await fixture.accept(StoreFixture.start("match-3"))
            #expect(try await !fixture.hold("match-3", device: 1, token: [3]).catchUp)
        }
    }

    @Test("is sent once, to everybody, when many devices come at once")
    func isSentOnce() async throws {
        try await StoreFixture.with(connections: 12) { fixture in
            for number in 1...20 { try await fixture.addDevice(number, type: nil) }
            try await refuse(.update, "match-1", name: "goal", fixture)
            let worker = try await fixture.store.registerWorker(node: "a")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...20 { group.addTask { try await fixture.hold("match-1", device: number) } }
                group.addTask { try await fixture.deliverEverything(worker, deviceCount: 3) }
                try await group.waitForAll()
            }
            try await fixture.deliverEverything(worker, deviceCount: 3)
            #expect(try await names("match-1", fixture) == ["goal"])
            #expect(try await fixture.number("select count(*) from delivery") == 20)
            #expect(try await fixture.number("select count(*) from delivery_retry") == 0)
            #expect(try await fixture.number("select sum(targeted)::bigint from fan_out") == 20)
        }
    }

    @Test("reaches a device that comes at the very moment")
    func racesWithTheDevice() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevice(1)
            let worker = try await fixture.store.registerWorker(node: "a")
            for round in 0..<20 {
                let activityID = "match-\(round)"
                _ = try await fixture.accept(StoreFixture.start(activityID))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await fixture.hold(activityID, device: 1) }
                    group.addTask {
                        let command = UpdateCommand(activityID: activityID, name: "goal", content: StoreFixture.content(.update))
                        _ = try await fixture.store.accept(command, application: fixture.application)
                    }
                    try await group.waitForAll()
                }
                #expect(try await names(activityID, fixture) == ["goal"])
            }
            try await fixture.deliverEverything(worker)
            #expect(
                try await fixture.number(
                    "select count(*) from delivery join notification using (notification_id) where event = 1") == 20)
        }
    }
}
