import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Update and end", .enabled(if: TestDatabase.isAvailable)) struct UpdateTests {
    private func refusal(_ event: ActivityEvent, _ activityID: String, _ fixture: StoreFixture) async throws -> String {
        let command = UpdateCommand(activityID: activityID, name: "n", content: StoreFixture.content(event))
        return switch try await fixture.store.accept(command, application: fixture.application) {
        case .accepted: "accepted"
        case .unknownActivity: "unknown"
        case .ended: "ended"
        case .nobody: "nobody"
        }
    }

    @Test("say why they reach nobody, and store nothing then")
    func sayWhy() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            #expect(try await refusal(.update, "match-1", fixture) == "unknown")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            #expect(try await refusal(.update, "match-1", fixture) == "nobody")
            #expect(try await fixture.number("select count(*) from notification") == 1)
            try await fixture.hold("match-1", device: 1)
            #expect(try await refusal(.end, "match-1", fixture) == "accepted")
            #expect(try await refusal(.update, "match-1", fixture) == "ended")
            #expect(try await refusal(.end, "match-1", fixture) == "ended")
        }
    }

    @Test("are of the newest start also when the database's clock was set back since the one before")
    func followTheNewestStart() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            // Ended, and an hour ahead of every number of now.
            try await fixture.session.execute(
                "update activity set ended_at = now(), activity_number = activity_number + (3600000::bigint << 22)")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.hold("match-1", device: 1)
            #expect(try await refusal(.update, "match-1", fixture) == "accepted")
            #expect(try await refusal(.end, "match-1", fixture) == "accepted")
            // The same where an app starts it by itself.
            try await fixture.hold("match-2", device: 1)
            try await fixture.session.execute(
                "update activity set ended_at = now(), activity_number = activity_number + (3600000::bigint << 22) "
                    + "where activity_id = 'match-2'")
            _ = try await fixture.accept(StoreFixture.start("match-2"))
            #expect(try await refusal(.update, "match-2", fixture) == "nobody")
        }
    }

    @Test("reach a device for 8 hours and 12 hours", arguments: [(8, true, true), (9, false, true), (12, false, false)])
    func keepToTheWindow(hours: Int64, takesUpdate: Bool, takesEnd: Bool) async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await fixture.hold("match-1", device: 1)
            // A minute of room for the test itself.
            try await fixture.session.execute(
                "update update_token set started_at = started_at - \(hours) * 3600 + \(takesUpdate ? 60 : 0)")
            #expect(try await refusal(.update, "match-1", fixture) == (takesUpdate ? "accepted" : "nobody"))
            #expect(try await refusal(.end, "match-1", fixture) == (takesEnd ? "accepted" : "nobody"))
        }
    }

    @Test("get rising timestamps, also when several come at once")
    func getRisingTimestamps() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevice(1)
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.hold("match-1", device: 1)
            let updates = try await withThrowingTaskGroup(of: AcceptedNotification.self) { group in
                for _ in 0..<10 { group.addTask { try await fixture.accept(.update, of: "match-1") } }
                return try await group.reduce(into: [AcceptedNotification]()) { $0.append($1) }
            }
            var timestamps = [try #require(try await fixture.store.job(for: start.id)).timestamp]
            for update in updates.sorted(by: { $0.id < $1.id }) {
                timestamps.append(try #require(try await fixture.store.job(for: update.id)).timestamp)
            }
            #expect(timestamps == timestamps.sorted() && Set(timestamps).count == 11)
        }
    }

    @Test("an update takes the place of an older one, and no device is lost or pushed twice")
    func supersedesUpdates() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...6 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let worker = try await fixture.store.registerWorker(node: "a")
            let first = try await fixture.accept(.update, of: "match-1")
            let flying = try #require(try await fixture.claim(worker, 2))
            let retried = try #require(try await fixture.claim(worker, 2))
            var record = ChunkRecord(chunk: retried.id, event: .update)
            record.retries = retried.devices.map {
                RetryRecord(device: $0, attempt: 1, notBefore: UnixMilliseconds(rawValue: 4_000_000_000_000))
            }
            #expect(try await fixture.store.record([record], worker: worker) == [])

            let second = try await fixture.accept(.update, of: "match-1")
            #expect(try await fixture.store.superseded(among: [first.id, second.id]) == [first.id])
            #expect(try await fixture.store.millisecondsUntilNextRetry(excluding: []) == nil)
            // What was on its way still ends, and a try that would come later gives way.
            record = ChunkRecord(chunk: flying.id, event: .update)
            record.deliveries = [DeliveryRecord(device: flying.devices[0], reason: .accepted, at: StoreFixture.moment)]
            record.retries = [
                RetryRecord(device: flying.devices[1], attempt: 1, notBefore: UnixMilliseconds(rawValue: 4_000_000_000_000))
            ]
            #expect(try await fixture.store.record([record], worker: worker) == [])
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed.keys.sorted() == [second.id])
            #expect(pushed[second.id]?.count == 6)
            let summary = try await fixture.summary(first)
            #expect(summary.state == .finished)
            #expect(summary.targetedCount == 4 && summary.acceptedCount == 1 && summary.failedCount == 3)
            #expect(summary.reasons.map(\.reason) == [.superseded] && summary.reasons.map(\.count) == [3])
            #expect(summary.pendingCount == 0)
        }
    }

    @Test("an update takes the place of one that a worker carves at this moment, with an older one still open")
    func supersedesWhatIsCarved() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await fixture.hold("match-1", device: 1)
            // With so many, PostgreSQL looks for the older ones by their numbers.
            try await fixture.session.execute(
                """
                insert into fan_out (notification_id, app_id, activity_number, event, has_languages, is_carved, finished_at)
                select -number, 1, -number, 1, false, true, now() from generate_series(1, 10000) as number;
                analyze fan_out
                """)
            let worker = try await fixture.store.registerWorker(node: "a")
            let first = try await fixture.accept(.update, of: "match-1")
            _ = try #require(try await fixture.claim(worker))
            let second = try await fixture.accept(.update, of: "match-1")
            try await fixture.session.execute("begin")
            try await fixture.number(
                "update fan_out set watermark = watermark where notification_id = $1", [.notification(second.id)])
            let third = Task { try await fixture.accept(.update, of: "match-1") }
            try await fixture.waitUntilBlocked()
            try await fixture.session.execute("commit")
            let last = try await third.value.id
            let superseded = try await fixture.store.superseded(among: [first.id, second.id, last])
            #expect(superseded.sorted() == [first.id, second.id])
        }
    }

    @Test("an update that another took the place of is told so, one that an end did is not")
    func overtaken() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await fixture.hold("match-1", device: 1)
            let first = try await fixture.accept(.update, of: "match-1")
            #expect(try await !fixture.store.progress(of: first.id).isOvertaken)
            let second = try await fixture.accept(.update, of: "match-1")
            let progress = try await fixture.store.progress(of: first.id)
            #expect(progress == FanOutProgress(acceptedCount: 0, isFinished: true, isOvertaken: true))
            #expect(try await !fixture.store.progress(of: second.id).isOvertaken)
            _ = try await fixture.accept(.end, of: "match-1")
            #expect(try await !fixture.store.progress(of: second.id).isOvertaken)
        }
    }

    @Test("an update leaves the start alone, and an end stops it")
    func endStopsTheStart() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let subscriptions = try await fixture.session.queryUnprepared("select public_id from device order by device_id")
            let list = (0..<subscriptions.rowCount).compactMap { UUID(bytes: subscriptions.uuidBytes(row: $0, column: 0)) }
            let listed = try await fixture.accept(StoreFixture.start("match-1", .subscriptions(list)))
            let carved = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.hold("match-1", device: 1)
            _ = try await fixture.accept(.update, of: "match-1")
            #expect(try await fixture.store.superseded(among: [carved.id]) == [])
            let end = try await fixture.accept(.end, of: "match-1")
            #expect(try await fixture.store.superseded(among: [carved.id]) == [carved.id])
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed.keys.sorted() == [end.id])
            let summary = try await fixture.summary(listed)
            #expect(summary.state == .finished && summary.targetedCount == 4 && summary.failedCount == 4)
            #expect(try await fixture.summary(carved).targetedCount == 0)
        }
    }

    @Test("an end stops every start that came before it, also one that came at the same time")
    func endStopsConcurrentStarts() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevice(1)
            for round in 0..<5 {
                _ = try await fixture.accept(StoreFixture.start("match-\(round)"))
                try await fixture.hold("match-\(round)", device: 1)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<6 { group.addTask { _ = try await fixture.accept(StoreFixture.start("match-\(round)")) } }
                    group.addTask { _ = try await fixture.accept(.end, of: "match-\(round)") }
                    try await group.waitForAll()
                }
            }
            let running = try await fixture.number(
                """
                select count(*) from fan_out join activity using (activity_number)
                where activity.ended_at is not null and event <> 2 and finished_at is null and not is_superseded
                """)
            #expect(running == 0)
            #expect(try await fixture.number("select count(*) from activity where ended_at is not null") == 5)
        }
    }
}
