import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Late joiner", .enabled(if: TestDatabase.isAvailable)) struct LateJoinerTests {
    @Test("is sent nothing when there is no state yet")
    func nothingYet() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            #expect(try await !fixture.hold("match-1", device: 1).catchUp)
            #expect(try await fixture.number("select count(*) from delivery_retry") == 0)
        }
    }

    @Test("is sent the latest state once the fan-out is over, and counts")
    func afterFinish() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 { try await fixture.addDevice(number) }
            try await fixture.hold("match-1", device: 1)
            let worker = try await fixture.store.registerWorker(node: "a")
            let old = try await fixture.accept(.update, of: "match-1")
            try await fixture.deliverEverything(worker)
            let update = try await fixture.accept(.update, of: "match-1")
            try await fixture.deliverEverything(worker)
            #expect(try await fixture.hold("match-1", device: 2).catchUp)
            let late = try #require(try await fixture.claim(worker))
            #expect(late.id.notification == update.id && !late.isRetry)
            #expect(try await late.devices == [fixture.deviceNumber(2)])
            #expect(try await fixture.summary(update).state == .sending)
            // Known and on its way: not again. Known and recorded: not again either.
            #expect(try await !fixture.hold("match-1", device: 2).catchUp)
            #expect(try await fixture.store.record([StoreFixture.record(late, .update)], worker: worker) == [])
            #expect(try await !fixture.hold("match-1", device: 2).catchUp)
            #expect(try await fixture.claim(worker) == nil)
            let summary = try await fixture.summary(update)
            #expect(summary.state == .finished && summary.targetedCount == 2 && summary.acceptedCount == 2)
            #expect(try await fixture.summary(old).targetedCount == 1)
        }
    }

    @Test("is reached by the page when the fan-out has not passed it")
    func beforeThePage() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 { try await fixture.addDevice(number) }
            for number in [1, 2, 4] { try await fixture.hold("match-1", device: number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let update = try await fixture.accept(.update, of: "match-1")
            let first = try #require(try await fixture.claim(worker, 2))
            #expect(try await fixture.hold("match-1", device: 3).catchUp)
            #expect(try await fixture.store.millisecondsUntilNextRetry(excluding: []) == nil)
            let second = try #require(try await fixture.claim(worker, 10))
            #expect(try await second.devices == [fixture.deviceNumber(3), fixture.deviceNumber(4)])
            #expect(try await fixture.number("select count(*) from delivery_retry") == 0)
            let records = [first, second].map { StoreFixture.record($0, .update) }
            #expect(try await fixture.store.record(records, worker: worker) == [])
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.summary(update).targetedCount == 4)
        }
    }

    @Test("is sent the state by itself when the fan-out has passed it")
    func behindThePage() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 { try await fixture.addDevice(number) }
            for number in [2, 3, 4] { try await fixture.hold("match-1", device: number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let update = try await fixture.accept(.update, of: "match-1")
            let first = try #require(try await fixture.claim(worker, 2))
            #expect(try await fixture.hold("match-1", device: 1).catchUp)
            let late = try #require(try await fixture.claim(worker, 2))
            #expect(try await late.devices == [fixture.deviceNumber(1)])
            let rest = try #require(try await fixture.claim(worker, 2))
            #expect(try await rest.devices == [fixture.deviceNumber(4)])
            let records = [first, late, rest].map { StoreFixture.record($0, .update) }
            #expect(try await fixture.store.record(records, worker: worker) == [])
            let summary = try await fixture.summary(update)
            #expect(summary.state == .finished && summary.targetedCount == 4 && summary.acceptedCount == 4)
        }
    }

    @Test("of an ended activity is sent the end, within its window")
    func afterTheEnd() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 { try await fixture.addDevice(number) }
            try await fixture.hold("match-1", device: 1)
            let worker = try await fixture.store.registerWorker(node: "a")
            let end = try await fixture.accept(.end, of: "match-1")
            try await fixture.deliverEverything(worker)
            let now = try #require(try await fixture.number("select unix_seconds(now())"))
            #expect(try await fixture.hold("match-1", device: 2, startedAt: now - 11 * 3600).catchUp)
            #expect(try await !fixture.hold("match-1", device: 3, startedAt: now - 13 * 3600).catchUp)
            let pushed = try await fixture.deliverEverything(worker)
            #expect(try await pushed == [end.id: [fixture.deviceNumber(2)]])
            // Long after the end the name is free for an activity the app starts itself.
            try await fixture.session.execute("update activity set ended_at = ended_at - interval '12 hours'")
            #expect(try await !fixture.hold("match-1", device: 4).catchUp)
            #expect(try await fixture.number("select count(*) from activity where ended_at is null") == 1)
        }
    }

    @Test("gives way to a newer state")
    func givesWay() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            try await fixture.hold("match-1", device: 1)
            let worker = try await fixture.store.registerWorker(node: "a")
            let old = try await fixture.accept(.update, of: "match-1")
            try await fixture.deliverEverything(worker)
            try await fixture.hold("match-1", device: 2)
            let new = try await fixture.accept(.update, of: "match-1")
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed.keys.sorted() == [new.id] && pushed[new.id]?.count == 2)
            #expect(try await fixture.summary(old).targetedCount == 1)
        }
    }

    @Test("gets the latest state whatever happens at once")
    func racesWithUpdates() async throws {
        try await StoreFixture.with(connections: 12) { fixture in
            for number in 0...20 { try await fixture.addDevice(number, type: nil) }
            try await fixture.hold("match-1", device: 0)
            let worker = try await fixture.store.registerWorker(node: "a")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...20 { group.addTask { try await fixture.hold("match-1", device: number) } }
                for _ in 1...5 { group.addTask { _ = try await fixture.accept(.update, of: "match-1") } }
                group.addTask { try await fixture.deliverEverything(worker, deviceCount: 3) }
                try await group.waitForAll()
            }
            try await fixture.deliverEverything(worker, deviceCount: 3)
            let reached = try await fixture.number(
                """
                select count(distinct delivery.device_id)
                from activity join delivery on delivery.notification_id = activity.latest_notification
                """)
            #expect(reached == 21)
            #expect(try await fixture.number("select count(*) from fan_out where finished_at is null") == 0)
            #expect(try await fixture.number("select count(*) from delivery_retry") == 0)
        }
    }
}
