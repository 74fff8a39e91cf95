import Gateway
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import Store

/// A clock that stands still until the test moves it, and the fan-outs that were reported.
private final class Watch: Sendable {
    private let instant = Mutex(ContinuousClock.now)
    private let reported = Mutex<[NotificationID]>([])

    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
    var reports: [NotificationID] { reported.withLock { $0 } }

    func store(_ fixture: StoreFixture) -> Store {
        let setAside = SetAsideFanOuts(
            now: { self.instant.withLock { $0 } },
            report: { notification, _ in self.reported.withLock { $0.append(notification) } })
        return Store(pool: fixture.pool, sealingKey: StoreFixture.sealingKey, setAside: setAside)
    }
}

@Suite("A fan-out that cannot be used", .enabled(if: TestDatabase.isAvailable)) struct PoisonTests {
    /// What a newer version might store.
    private enum Poison: String, CaseIterable {
        case audience = #"update fan_out set audience = '{"included":[[["moon_phase","=","full"]]],"excluded":[]}'"#
        case content = #"update notification set content = '{"state":{},"priority":"highest"}'"#
        /// The next page cannot be counted any more: 22003.
        case count = "update fan_out set chunk_count = 2147483647"
    }

    private static func devices(_ store: Store, _ worker: WorkerID) async throws -> [NotificationID: Int] {
        var counts: [NotificationID: Int] = [:]
        while let chunk = try await store.claimChunk(for: worker, deviceCount: 100, excluding: []) {
            counts[chunk.id.notification, default: 0] += chunk.devices.count
            _ = try await store.record([StoreFixture.record(chunk, .start)], worker: worker)
        }
        return counts
    }

    @Test(
        "is passed over and reported once, others go on, and so does it when it can be used",
        arguments: Poison.allCases, [false, true])
    private func isPassedOver(poison: Poison, byAnotherProcess: Bool) async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(3)
            let watch = Watch()
            let store = watch.store(fixture)
            let worker = try await store.registerWorker(node: "a")
            let poisoned = try await fixture.accept(StoreFixture.start("match-1"))
            let before = try await fixture.session.queryUnprepared(
                "select content, chunk_count from notification join fan_out using (notification_id)")
            try await fixture.session.execute(poison.rawValue)
            let sound = try await fixture.accept(StoreFixture.start("match-2"))
            #expect(try await Self.devices(store, worker) == [sound.id: 3])
            #expect(watch.reports == [poisoned.id] && store.setAside.count == 1)
            let later = try await fixture.accept(StoreFixture.start("match-3"))
            #expect(try await Self.devices(store, worker) == [later.id: 3])
            // Tried again, still in vain, and not reported again.
            watch.advance(by: SetAsideFanOuts.pause)
            #expect(try await Self.devices(store, worker) == [:])
            #expect(watch.reports == [poisoned.id] && store.setAside.count == 1)
            #expect(try await fixture.summary(poisoned).state == .pending)

            try await fixture.session.queryUnprepared(
                "update notification set content = $1 where notification_id = $2",
                [.bytes(before.bytes(row: 0, column: 0)), .int64(poisoned.id.rawValue)])
            try await fixture.session.execute(
                "update fan_out set audience = null, chunk_count = 0 where notification_id = \(poisoned.id)")
            // This process waits; another one, such as that of a newer version, is not bound by what this one could not use.
            #expect(try await Self.devices(store, worker) == [:])
            if !byAnotherProcess { watch.advance(by: SetAsideFanOuts.pause) }
            #expect(try await Self.devices(byAnotherProcess ? watch.store(fixture) : store, worker) == [poisoned.id: 3])
            #expect(try await fixture.summary(poisoned).state == .finished)
            watch.advance(by: SetAsideFanOuts.pause)
            watch.advance(by: SetAsideFanOuts.pause)
            #expect(store.setAside.count == 0)
        }
    }

    @Test("does not make a worker ask again at once for its due retries")
    func waitsWithItsRetries() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let store = Watch().store(fixture)
            let worker = try await store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let chunk = try #require(try await fixture.claim(worker))
            var record = ChunkRecord(chunk: chunk.id, event: .start)
            record.retries = [RetryRecord(device: chunk.devices[0], attempt: 1, notBefore: UnixMilliseconds(rawValue: 1_000))]
            #expect(try await store.record([record], worker: worker) == [])
            try await fixture.session.execute(Poison.content.rawValue)
            #expect(try await store.millisecondsUntilNextRetry(excluding: []) == 0)
            #expect(try await store.claimChunk(for: worker, deviceCount: 10, excluding: []) == nil)
            #expect(try await store.millisecondsUntilNextRetry(excluding: []) == nil)
            #expect(try await fixture.summary(start).pendingCount == 1)
        }
    }

    @Test("forgets the oldest beyond its bound")
    func isBounded() {
        let watch = Mutex(ContinuousClock.now)
        let setAside = SetAsideFanOuts(now: { watch.withLock { $0 } })
        for number in 0..<Int64(SetAsideFanOuts.limit) + 5 {
            watch.withLock { $0 += .microseconds(1) }
            setAside.add(NotificationID(rawValue: number), .refused(sqlState: SQLStates.unreadableValue))
        }
        let passedOver = Set(setAside.passedOver().map(\.rawValue))
        #expect(passedOver == Set(5..<Int64(SetAsideFanOuts.limit) + 5))
    }
}

@Suite("Outcomes that cannot be stored", .enabled(if: TestDatabase.isAvailable)) struct RefusedRecordTests {
    @Test("count as unknown when they are given up, and nothing is sent again", arguments: [ActivityEvent.start, .update])
    func countAsUnknown(event: ActivityEvent) async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let notification =
                event == .start
                ? try await fixture.accept(StoreFixture.start("match-1")) : try await fixture.accept(.update, of: "match-1")
            let worker = try await fixture.store.registerWorker(node: "a")
            let poisoned = try #require(try await fixture.claim(worker, 2))
            let sound = try #require(try await fixture.claim(worker, 2))
            try await fixture.session.execute(
                "update fan_out_chunk set accepted = 2147483647 where number = \(poisoned.id.number)")
            let records = [poisoned, sound].map { StoreFixture.record($0, event) }
            await #expect(throws: StorageError.refused(sqlState: "22003")) {
                _ = try await fixture.store.record(records, worker: worker)
            }
            try await fixture.session.execute("update fan_out_chunk set accepted = 0 where number = \(poisoned.id.number)")
            try await fixture.store.giveUp(poisoned.id, of: worker)
            #expect(try await fixture.store.record([records[1]], worker: worker) == [])
            // What comes late does not count, and giving up twice changes nothing.
            #expect(try await fixture.store.record([records[0]], worker: worker) == [poisoned.id])
            try await fixture.store.giveUp(poisoned.id, of: worker)
            #expect(try await fixture.deliverEverything(worker).isEmpty)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.targetedCount == 3)
            #expect(summary.acceptedCount == 1 && summary.unknownCount == 2 && summary.pendingCount == 0)
            #expect(try await fixture.number("select count(*) from worker") == 2)
        }
    }

    @Test("of an update that worker after worker died with are not tried for ever")
    func endAfterManyOwners() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await fixture.hold("match-1", device: 1)
            let update = try await fixture.accept(.update, of: "match-1")
            var workers: [WorkerID] = []
            for number in 0..<10 { workers.append(try await fixture.store.registerWorker(node: "\(number)")) }
            var claims = 0
            for worker in workers {
                guard try await fixture.claim(worker) != nil else { break }
                claims += 1
                try await fixture.expire(worker)
            }
            #expect(claims == AbandonedChunkStatements.ownerLimit)
            #expect(try await fixture.summary(update).unknownCount == 1)
        }
    }

    @Test("because of a time no calendar has are stored with the nearest that it has")
    func clampTimes() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            var record = ChunkRecord(chunk: chunk.id, event: .start)
            record.deliveries = [
                DeliveryRecord(device: chunk.devices[0], reason: .unregistered, at: UnixMilliseconds(rawValue: .max))
            ]
            record.retries = [
                RetryRecord(device: chunk.devices[1], attempt: 1, notBefore: UnixMilliseconds(rawValue: .max))
            ]
            record.deadTokens = [
                DeadToken(
                    device: chunk.devices[0], token: chunk.tokens[0], reason: .unregistered,
                    since: UnixMilliseconds(rawValue: .max)),
                DeadToken(
                    device: chunk.devices[1], token: chunk.tokens[1], reason: .unregistered,
                    since: UnixMilliseconds(rawValue: .min)),
            ]
            #expect(try await fixture.store.record([record], worker: worker) == [])
            #expect(try await fixture.number("select count(*) from start_token") == 1)
            #expect(try await fixture.number("select count(*) from delivery_retry where not_before > now()") == 1)
        }
    }
}
