import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Lease", .enabled(if: TestDatabase.isAvailable)) struct LeaseTests {
    @Test("is extended until another worker takes the chunks")
    func isExtended() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let first = try await fixture.store.registerWorker(node: "a")
            let second = try await fixture.store.registerWorker(node: "b")
            #expect(first != second)
            #expect(try await fixture.claim(first) != nil)
            try await fixture.expire(first)
            #expect(try await fixture.store.extendLease(of: first, seconds: 15))
            #expect(try await fixture.claim(second) == nil)
            try await fixture.expire(first)
            #expect(try await fixture.claim(second) == nil)
            #expect(try await !fixture.store.extendLease(of: first, seconds: 15))
            #expect(try await fixture.store.extendLease(of: second, seconds: 15))
        }
    }

    @Test("is extended, and readiness looked at, before requests that wait for a connection")
    func goesFirst() async throws {
        try await StoreFixture.with { fixture in
            let worker = try await fixture.store.registerWorker(node: "a")
            let pool = DatabasePool(
                loop: TestDatabase.loop, options: fixture.database.options, size: 1, acquireTimeout: .seconds(30))
            let store = Store(pool: pool, sealingKey: StoreFixture.sealingKey)
            let (served, both) = AsyncStream.makeStream(of: Void.self)
            let waiting: @Sendable (Int) async -> Void = { count in
                while await pool.occupancy.waiting < count { await Task.yield() }
            }
            try await withThrowingTaskGroup { group in
                try await pool.withConnection { _ in
                    // It keeps the only connection until both were served.
                    group.addTask { try await pool.withConnection { _ in for await _ in served {} } }
                    await waiting(1)
                    group.addTask {
                        async let isExtended = store.extendLease(of: worker, seconds: 15)
                        async let reachability = store.reachability()
                        let (wasExtended, found) = (try await isExtended, await reachability)
                        #expect(wasExtended && found == .reachable)
                        both.finish()
                    }
                    await waiting(3)
                }
                try await group.waitForAll()
            }
            await pool.close()
        }
    }

    @Test("leaves an abandoned start as unknown, never to be sent again")
    func abandonedStartIsUnknown() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...5 { try await fixture.addDevice(number) }
            let subscriptions = try await fixture.session.queryUnprepared("select public_id from device")
            let list = (0..<subscriptions.rowCount).compactMap { UUID(bytes: subscriptions.uuidBytes(row: $0, column: 0)) }
            let conditions = FilterExpression(branches: [[.sessionCount(.equal, 0)]])
            let audiences: [Audience] = [
                .segments(included: ["All"], excluded: []), .subscriptions(list), .filters(conditions),
            ]
            for audience in audiences {
                let notification = try await fixture.accept(StoreFixture.start("match-1", audience))
                let first = try await fixture.store.registerWorker(node: "a")
                let second = try await fixture.store.registerWorker(node: "b")
                let chunk = try #require(try await fixture.claim(first, 3))
                try await fixture.expire(first)
                let pushed = try await fixture.deliverEverything(second, deviceCount: 3)[notification.id] ?? []
                let isListed = if case .subscriptions = audience { true } else { false }
                #expect(pushed.count == (isListed ? 0 : 2))
                #expect(Set(pushed).isDisjoint(with: chunk.devices))
                let summary = try await fixture.summary(notification)
                #expect(summary.state == .finished)
                #expect(summary.targetedCount == 5)
                #expect(summary.unknownCount == Int64(chunk.devices.count))
                let rows = try await fixture.number(
                    "select count(*) from delivery where notification_id = $1 and status = 0",
                    [.int64(notification.id.rawValue)])
                #expect(rows == Int64(chunk.devices.count))
                // The late worker's outcomes do not count any more.
                let lost = try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: first)
                #expect(lost == [chunk.id])
                #expect(try await fixture.summary(notification).unknownCount == Int64(chunk.devices.count))
            }
        }
    }

    @Test("hands an abandoned update out again, and fences off the late worker")
    func abandonedUpdateIsSentAgain() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...5 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let notification = try await fixture.accept(.update, of: "match-1")
            let first = try await fixture.store.registerWorker(node: "a")
            let second = try await fixture.store.registerWorker(node: "b")
            let chunk = try #require(try await fixture.claim(first, 3))
            // One of its devices was pushed and recorded by other means; another one went away.
            try await fixture.session.queryUnprepared(
                "insert into delivery values ($1, $2, 0, 200)", [.int64(notification.id.rawValue), .int64(chunk.devices[0])])
            #expect(
                try await fixture.store.endActivity(
                    "match-1", device: .pushToken(StoreFixture.pushToken(2)), application: fixture.application.id))
            try await fixture.store.releaseLease(of: first)
            let again = try #require(try await fixture.claim(second, 3))
            #expect(again.id.number == chunk.id.number && again.id.epoch == chunk.id.epoch + 1)
            #expect(again.devices == [chunk.devices[2]] && !again.isRetry)
            let lost = try await fixture.store.record([StoreFixture.record(chunk, .update)], worker: first)
            #expect(lost == [chunk.id])
            #expect(try await fixture.store.record([StoreFixture.record(again, .update)], worker: second) == [])
            try await fixture.deliverEverything(second)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished)
            #expect(summary.targetedCount == 3 && summary.acceptedCount == 3)
        }
    }

    @Test("that ran out is enough for others, also where the worker's journal cannot be read: nothing stays with the dead")
    func survivorWithoutJournal() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let victim = try await fixture.store.registerWorker(node: "victim", journal: .random())
            let survivor = try await fixture.store.registerWorker(node: "survivor", journal: .random())
            let start = try await fixture.accept(StoreFixture.start("match-2"))
            let update = try await fixture.accept(.update, of: "match-1")
            for _ in 0..<2 { #expect(try await fixture.claim(victim) != nil) }
            // Its lease still holds: it may be at work.
            #expect(try await fixture.claim(survivor) == nil)
            try await fixture.expire(victim)
            #expect(try await fixture.deliverEverything(survivor).keys.map { $0 } == [update.id])
            let (started, updated) = (try await fixture.summary(start), try await fixture.summary(update))
            #expect(started.state == .finished && started.unknownCount == 3)
            #expect(updated.state == .finished && updated.acceptedCount == 3)
        }
    }

    @Test(
        "that ran out while nobody could reach the database is no sign of death: the chunks stay with the one that comes back a little later"
    )
    func outage() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 { try await fixture.addDevice(number) }
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let (slow, quick) = (
                try await fixture.store.registerWorker(node: "slow"), try await fixture.store.registerWorker(node: "quick")
            )
            let chunk = try #require(try await fixture.claim(slow))
            try await fixture.expire(slow)
            try await fixture.expire(quick)
            #expect(try await fixture.store.extendLease(of: quick, seconds: 15))
            let fresh = try await fixture.store.registerWorker(node: "fresh")
            for worker in [quick, fresh] { #expect(try await fixture.claim(worker) == nil) }
            #expect(try await fixture.summary(start).unknownCount == 0)
            #expect(try await fixture.store.extendLease(of: slow, seconds: 15))
            #expect(try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: slow) == [])
            #expect(try await fixture.summary(start).acceptedCount == 3)
        }
    }

    @Test("that ran out is believed by who has held its own for the length of a lease since")
    func outageOfOne() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let gone = try await fixture.store.registerWorker(node: "gone")
            #expect(try await fixture.claim(gone) != nil)
            try await fixture.expire(gone)
            let fresh = try await fixture.store.registerWorker(node: "fresh")
            #expect(try await fixture.claim(fresh) == nil)
            #expect(try await fixture.summary(start).unknownCount == 0)
            try await fixture.session.execute(
                """
                update worker
                set lease_until = lease_until - (lost_at is null and node = 'gone')::int * interval '15 s',
                    held_since = held_since - interval '15 s'
                """)
            #expect(try await fixture.claim(fresh) == nil)
            #expect(try await fixture.summary(start).unknownCount == 1)
        }
    }

    @Test("given back takes a start's devices along whose tokens changed meanwhile: nothing was sent to them")
    func givesBackChangedTokens() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 { try await fixture.addDevice(number) }
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let claimed = try #require(try await fixture.claim(worker))
            let rotated: [UInt8] = Array(repeating: 9, count: 32)
            #expect(
                try await fixture.store.setStartToken(
                    rotated, activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(2)),
                    application: fixture.application.id))
            try await fixture.store.giveBackChunks(of: worker, except: [])
            let again = try #require(try await fixture.claim(worker))
            #expect(again.devices == claimed.devices)
            #expect(again.tokens[1] == rotated)
            #expect(try await fixture.store.record([StoreFixture.record(again, .start)], worker: worker) == [])
            let summary = try await fixture.summary(start)
            #expect(summary.targetedCount == 3 && summary.acceptedCount == 3)
        }
    }

    @Test(
        "of a dead worker hands on a page of an update without devices whose activity began too long ago for updates",
        arguments: [false, true])
    func takesOverWindow(isNewerStored: Bool) async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            try await fixture.session.execute(
                "update update_token set started_at = started_at - 9 * 3600 where device_id = (select min(device_id) + 1 from device)"
            )
            let (first, second) = (
                try await fixture.store.registerWorker(node: "a"), try await fixture.store.registerWorker(node: "b")
            )
            let update = try await fixture.accept(.update, of: "match-1")
            #expect(try await fixture.claim(first)?.devices.count == 3)
            if isNewerStored { _ = try await fixture.accept(.update, of: "match-1") }
            try await fixture.expire(first)
            try await fixture.deliverEverything(second)
            let summary = try await fixture.summary(update)
            #expect(summary.state == .finished && summary.targetedCount == 3, "\(summary)")
            #expect(isNewerStored ? summary.unknownCount == 3 : summary.acceptedCount == 3 && summary.failedCount == 0)
            let rows = try await fixture.number(
                "select count(*) from delivery where notification_id = $1", [.int64(update.id.rawValue)])
            #expect(rows == 3)
        }
    }

    @Test("leaves an abandoned update as unknown once a newer state took its place")
    func abandonedOldUpdateIsUnknown() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let first = try await fixture.store.registerWorker(node: "a")
            let second = try await fixture.store.registerWorker(node: "b")
            let update = try await fixture.accept(.update, of: "match-1")
            let chunk = try #require(try await fixture.claim(first, 2))
            let end = try await fixture.accept(.end, of: "match-1")
            try await fixture.expire(first)
            let pushed = try await fixture.deliverEverything(second)
            #expect(pushed.keys.sorted() == [end.id] && pushed[end.id]?.count == 3)
            let summary = try await fixture.summary(update)
            #expect(summary.state == .finished && summary.targetedCount == 2 && summary.unknownCount == 2)
            #expect(try await fixture.store.record([StoreFixture.record(chunk, .update)], worker: first) == [chunk.id])
        }
    }

    @Test("gives back what the worker does not hold, to be sent")
    func givesBack() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...6 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-2", device: number)
            }
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let held = try #require(try await fixture.claim(worker, 2))
            let forgotten = try #require(try await fixture.claim(worker, 2))
            // Registered after the page was carved: not of this fan-out.
            try await fixture.addDevice(7)
            try await fixture.store.giveBackChunks(of: worker, except: [held.id])
            let again = try #require(try await fixture.claim(worker, 2))
            #expect(again.id == ChunkID(notification: start.id, number: forgotten.id.number, epoch: forgotten.id.epoch + 1))
            #expect(again.devices == forgotten.devices)
            #expect(try await fixture.store.record([StoreFixture.record(forgotten, .start)], worker: worker) == [forgotten.id])
            let records = [StoreFixture.record(held, .start), StoreFixture.record(again, .start)]
            #expect(try await fixture.store.record(records, worker: worker) == [])

            let update = try await fixture.accept(.update, of: "match-2")
            var updated: Chunk?
            while let chunk = try await fixture.claim(worker, 3) {
                if chunk.id.notification == update.id { updated = chunk }
            }
            #expect(updated != nil)
            _ = try await fixture.accept(.end, of: "match-2")
            try await fixture.store.giveBackChunks(of: worker, except: [])
            let summary = try await fixture.summary(update)
            #expect(summary.state == .finished && summary.failedCount == summary.targetedCount && summary.targetedCount > 0)
        }
    }

    @Test("of a worker long gone is forgotten")
    func forgetsWorkers() async throws {
        try await StoreFixture.with { fixture in
            let gone = try await fixture.store.registerWorker(node: "a")
            let alive = try await fixture.store.registerWorker(node: "b")
            try await fixture.store.releaseLease(of: gone)
            try await fixture.session.execute("update worker set lost_at = lost_at - interval '25 hours'")
            try await fixture.store.maintain()
            #expect(try await fixture.number("select count(*) from worker") == 1)
            #expect(try await fixture.number("select worker_id from worker") == Int64(alive.rawValue))
        }
    }
}
