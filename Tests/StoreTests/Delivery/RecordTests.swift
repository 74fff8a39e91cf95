import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Record", .enabled(if: TestDatabase.isAvailable)) struct RecordTests {
    @Test("writes outcomes and totals, few by INSERT and many by COPY", arguments: [10, 1_500])
    func writesOutcomes(count: Int) async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(count)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker, count))
            #expect(chunk.devices.count == count)
            let at = UnixMilliseconds(rawValue: (notification.id.rawValue >> 22) + 1_577_836_800_000 + 1_234)
            var record = ChunkRecord(chunk: chunk.id, event: .start)
            record.deliveries = chunk.devices.map { device in
                let reason: DeliveryReason =
                    switch device % 5 {
                    case 0: .unknown
                    case 1: .unregistered
                    case 2: .badDeviceToken
                    default: .accepted
                    }
                return DeliveryRecord(device: device, reason: reason, at: at)
            }
            #expect(try await fixture.store.record([record], worker: worker) == [])
            #expect(try await fixture.claim(worker) == nil)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.pendingCount == 0)
            #expect(summary.acceptedCount == Int64(count * 2 / 5))
            #expect(summary.failedCount == Int64(count * 2 / 5))
            #expect(summary.unknownCount == Int64(count / 5))
            #expect(Set(summary.reasons.map(\.reason)) == [.unregistered, .badDeviceToken])
            #expect(summary.reasons.allSatisfy { $0.count == Int64(count / 5) })
            #expect(try await fixture.number("select count(*) from delivery where at_ms = 1234") == Int64(count))
            let progress = try await fixture.store.progress(of: notification.id)
            #expect(progress == FanOutProgress(acceptedCount: Int64(count * 2 / 5), isFinished: true))
        }
    }

    @Test("writes many outcomes in the order of their key, whatever order answers came in")
    func writesInOrder() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(1_500)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            var records: [ChunkRecord] = []
            for _ in 0..<3 {
                let chunk = try #require(try await fixture.claim(worker, 500))
                var record = StoreFixture.record(chunk, .start)
                record.deliveries.reverse()
                records.insert(record, at: 0)
            }
            #expect(try await fixture.store.record(records, worker: worker) == [])
            let misplaced = """
                select count(*)
                from (select device_id, lag(device_id) over (order by ctid) as before from delivery) as stored
                where before > device_id
                """
            #expect(try await fixture.number("select count(*) from delivery") == 1_500)
            #expect(try await fixture.number(misplaced) == 0)
        }
    }

    @Test("of one lost chunk keeps the others")
    func keepsOthers() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(6)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let lost = try #require(try await fixture.claim(worker, 3))
            let kept = try #require(try await fixture.claim(worker, 3))
            try await fixture.session.execute("update fan_out_chunk set epoch = epoch + 1 where number = \(lost.id.number)")
            let records = [StoreFixture.record(lost, .start), StoreFixture.record(kept, .start)]
            #expect(try await fixture.store.record(records, worker: worker) == [lost.id])
            #expect(try await fixture.number("select count(*) from delivery") == 3)
            // Repeating it, as after a lost answer, changes nothing.
            #expect(try await fixture.store.record(records, worker: worker) == [lost.id, kept.id])
            #expect(try await fixture.number("select count(*) from delivery") == 3)
        }
    }

    @Test("survives that a device has an outcome already")
    func survivesRepeatedDevice() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(1_200)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker, 1_200))
            try await fixture.session.queryUnprepared(
                "insert into delivery values ($1, $2, 0, 0)", [.int64(notification.id.rawValue), .int64(chunk.devices[5])])
            #expect(try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: worker) == [])
            #expect(try await fixture.number("select count(*) from delivery") == 1_200)
        }
    }

    @Test("makes retries due at their time, with their attempts, and counts a device once")
    func retries() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 { try await fixture.addDevice(number) }
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            var record = ChunkRecord(chunk: chunk.id, event: .start)
            record.deliveries = [DeliveryRecord(device: chunk.devices[0], reason: .accepted, at: StoreFixture.moment)]
            let past = UnixMilliseconds(rawValue: 1_000)
            let future = UnixMilliseconds(rawValue: 4_000_000_000_000)
            record.retries = [
                RetryRecord(device: chunk.devices[1], attempt: 3, notBefore: past),
                RetryRecord(device: chunk.devices[2], attempt: 1, notBefore: future),
                RetryRecord(device: chunk.devices[3], attempt: 0, notBefore: past),
            ]
            #expect(try await fixture.store.record([record], worker: worker) == [])
            #expect(try await fixture.store.millisecondsUntilNextRetry(excluding: []) == 0)
            // An app that may not claim more now has nothing to wake up for.
            #expect(try await fixture.store.millisecondsUntilNextRetry(excluding: [fixture.application.id]) == nil)
            var summary = try await fixture.summary(notification)
            #expect(summary.state == .sending && summary.targetedCount == 4 && summary.pendingCount == 3)
            let due = try #require(try await fixture.claim(worker))
            #expect(due.isRetry && due.devices == [chunk.devices[1], chunk.devices[3]] && due.attempts == [3, 0])
            #expect(due.tokens[0] == StoreFixture.startToken(2))
            #expect(try await fixture.claim(worker) == nil)
            let wait = try #require(try await fixture.store.millisecondsUntilNextRetry(excluding: []))
            #expect(wait > 1_000_000)
            #expect(try await fixture.store.record([StoreFixture.record(due, .start)], worker: worker) == [])
            // The one that remains has lost its token by the time it is due.
            #expect(
                try await fixture.store.removeStartToken(
                    activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(3)),
                    application: fixture.application.id))
            try await fixture.session.execute("update delivery_retry set not_before = now()")
            #expect(try await fixture.claim(worker) == nil)
            summary = try await fixture.summary(notification)
            #expect(summary.state == .finished)
            #expect(summary.targetedCount == 4 && summary.acceptedCount == 3 && summary.failedCount == 1)
            #expect(summary.reasons.map(\.reason) == [.tokenGone])
        }
    }

    @Test("counts a device once that got the state under another token while its push was waiting for another try")
    func countsReplacedTokenOnce() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let notification = try await fixture.accept(.update, of: "match-1")
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            try await fixture.hold("match-1", device: 1, token: Array("another".utf8))
            let joined = try #require(try await fixture.claim(worker))
            #expect(joined.devices == [chunk.devices[0]])
            #expect(try await fixture.store.record([StoreFixture.record(joined, .update)], worker: worker) == [])
            var record = ChunkRecord(chunk: chunk.id, event: .update)
            record.deliveries = [DeliveryRecord(device: chunk.devices[1], reason: .accepted, at: StoreFixture.moment)]
            record.retries = [
                RetryRecord(device: chunk.devices[0], attempt: 1, notBefore: UnixMilliseconds(rawValue: 1_000))
            ]
            #expect(try await fixture.store.record([record], worker: worker) == [])
            #expect(try await fixture.claim(worker) == nil)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.pendingCount == 0)
            #expect(summary.targetedCount == 2 && summary.acceptedCount == 2)
        }
    }

    @Test("removes a dead token only when it is the same and not newer")
    func removesDeadTokens() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...5 { try await fixture.addDevice(number) }
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            let registered = try await fixture.session.queryUnprepared(
                "select registered_at from start_token order by device_id")
            func milliseconds(_ row: Int) -> Int64 { registered.timestampMicroseconds(row: row, column: 0) / 1_000 }
            _ = try await fixture.store.setStartToken(
                Array("rotated".utf8), activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(5)),
                application: fixture.application.id)
            var record = StoreFixture.record(chunk, .start) { _ in .unregistered }
            record.deadTokens = [
                DeadToken(device: chunk.devices[0], token: chunk.tokens[0], reason: .unregistered, since: nil),
                DeadToken(
                    device: chunk.devices[1], token: chunk.tokens[1], reason: .unregistered,
                    since: UnixMilliseconds(rawValue: milliseconds(1))),
                DeadToken(
                    device: chunk.devices[2], token: chunk.tokens[2], reason: .unregistered,
                    since: UnixMilliseconds(rawValue: milliseconds(2) - 1)),
                DeadToken(device: chunk.devices[4], token: chunk.tokens[4], reason: .unregistered, since: nil),
            ]
            #expect(try await fixture.store.record([record], worker: worker) == [])
            let left = try await fixture.session.queryUnprepared("select device_id from start_token order by device_id")
            #expect((0..<left.rowCount).map { left.int64(row: $0, column: 0) } == [2, 3, 4].map { chunk.devices[$0] })
            #expect(try await fixture.summary(notification).failedCount == 5)

            try await fixture.hold("match-1", device: 1)
            try await fixture.hold("match-1", device: 2)
            _ = try await fixture.accept(.update, of: "match-1")
            let page = try #require(try await fixture.claim(worker))
            var update = StoreFixture.record(page, .update) { _ in .expiredToken }
            update.deadTokens = [DeadToken(device: page.devices[0], token: page.tokens[0], reason: .unregistered, since: nil)]
            #expect(try await fixture.store.record([update], worker: worker) == [])
            #expect(try await fixture.number("select count(*) from update_token") == 1)
        }
    }

    @Test("of the last chunks by two workers at once finishes the fan-out")
    func finishesOnce() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevices(40)
            for round in 0..<10 {
                let notification = try await fixture.accept(StoreFixture.start("match-\(round)"))
                var chunks: [(WorkerID, Chunk)] = []
                for number in 0..<4 {
                    let worker = try await fixture.store.registerWorker(node: "\(number)")
                    chunks.append((worker, try #require(try await fixture.claim(worker, 10))))
                }
                let last = try await fixture.store.registerWorker(node: "last")
                #expect(try await fixture.claim(last) == nil)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (worker, chunk) in chunks {
                        group.addTask {
                            _ = try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: worker)
                        }
                    }
                    try await group.waitForAll()
                }
                let progress = try await fixture.store.progress(of: notification.id)
                #expect(progress == FanOutProgress(acceptedCount: 40, isFinished: true))
            }
        }
    }

    @Test("whose last worker died before it could say so is finished by the next")
    func finishesForOthers() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(4)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let worker = try await fixture.store.registerWorker(node: "a")
            try await fixture.deliverEverything(worker)
            try await fixture.session.execute("update fan_out set finished_at = null, accepted = 0")
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.store.progress(of: notification.id).isFinished)
            #expect(try await fixture.summary(notification).acceptedCount == 4)
        }
    }
}
