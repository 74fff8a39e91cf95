import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Another update token of a device", .enabled(if: TestDatabase.isAvailable)) struct RotatedTokenTests {
    private static let rotated = Array("rotated".utf8)

    /// Two devices hold an activity, and a state of it is on its way to both.
    private static func with(
        _ event: ActivityEvent = .update,
        _ body: (StoreFixture, WorkerID, _ state: AcceptedNotification, _ sent: Chunk) async throws -> Void
    ) async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let worker = try await fixture.store.registerWorker(node: "a")
            let state = try await fixture.accept(event, of: "match-1")
            let chunk = try #require(try await fixture.claim(worker))
            #expect(chunk.devices.count == 2)
            try await body(fixture, worker, state, chunk)
        }
    }

    /// The first device of a chunk got this outcome, and the other one the state; the token goes when it is called dead.
    private static func record(_ chunk: Chunk, _ reason: DeliveryReason, _ event: ActivityEvent = .update) -> ChunkRecord {
        var record = StoreFixture.record(chunk, event) { $0 == chunk.devices[0] ? reason : .accepted }
        if reason == .unregistered {
            record.deadTokens = [DeadToken(device: chunk.devices[0], token: chunk.tokens[0], reason: reason, since: nil)]
        }
        return record
    }

    private static func expectAllAccepted(_ fixture: StoreFixture, _ state: AcceptedNotification) async throws {
        let summary = try await fixture.summary(state)
        #expect(summary.state == .finished && summary.targetedCount == 2 && summary.acceptedCount == 2)
        #expect(summary.failedCount == 0 && summary.unknownCount == 0 && summary.pendingCount == 0 && summary.reasons.isEmpty)
        #expect(try await fixture.number("select count(*) from delivery where status = 200") == 2)
        #expect(try await fixture.number("select count(*) from delivery_retry") == 0)
    }

    @Test(
        "is sent the latest state when the former one was not, whatever had come of that",
        arguments: [ActivityEvent.update, .end],
        [DeliveryReason.unregistered, .badDeviceToken, .tokenGone, .payloadTooLarge, .serviceUnavailable, .unknown])
    func afterFailure(event: ActivityEvent, reason: DeliveryReason) async throws {
        try await Self.with(event) { fixture, worker, state, sent in
            #expect(try await fixture.store.record([Self.record(sent, reason, event)], worker: worker) == [])
            #expect(try await fixture.summary(state).acceptedCount == 1)
            #expect(try await fixture.hold("match-1", device: 1, token: Self.rotated).catchUp)
            let late = try #require(try await fixture.claim(worker))
            #expect(late.devices == [sent.devices[0]] && late.tokens[0] == Self.rotated)
            let open = try await fixture.summary(state)
            #expect(open.targetedCount == 2 && open.pendingCount == 1 && open.failedCount == 0 && open.unknownCount == 0)
            #expect(try await fixture.store.record([StoreFixture.record(late, event)], worker: worker) == [])
            try await Self.expectAllAccepted(fixture, state)
            // Taken now: not again, under this token or the next.
            #expect(try await !fixture.hold("match-1", device: 1, token: Self.rotated).catchUp)
            #expect(try await !fixture.hold("match-1", device: 1, token: [7]).catchUp)
            #expect(try await fixture.claim(worker) == nil)
        }
    }

    @Test("fails by itself, and the device is counted once")
    func failsToo() async throws {
        try await Self.with { fixture, worker, state, sent in
            #expect(try await fixture.store.record([Self.record(sent, .unregistered)], worker: worker) == [])
            try await fixture.hold("match-1", device: 1, token: Self.rotated)
            let late = try #require(try await fixture.claim(worker))
            let record = StoreFixture.record(late, .update) { _ in .badTopic }
            #expect(try await fixture.store.record([record], worker: worker) == [])
            let summary = try await fixture.summary(state)
            #expect(summary.state == .finished && summary.targetedCount == 2 && summary.acceptedCount == 1)
            #expect(summary.failedCount == 1 && summary.reasons.map(\.reason) == [.badTopic])
        }
    }

    @Test("is not sent an end when its window has passed")
    func keepsWindow() async throws {
        try await Self.with(.end) { fixture, worker, _, sent in
            #expect(try await fixture.store.record([Self.record(sent, .unregistered, .end)], worker: worker) == [])
            let now = try #require(try await fixture.number("select unix_seconds(now())"))
            let told = try await fixture.hold("match-1", device: 1, token: Self.rotated, startedAt: now - 13 * 3_600)
            #expect(!told.catchUp)
            #expect(try await fixture.claim(worker) == nil)
        }
    }

    @Test("that is told during the push is sent the state although that push fails")
    func duringThePush() async throws {
        try await Self.with { fixture, worker, state, sent in
            #expect(try await fixture.hold("match-1", device: 1, token: Self.rotated).catchUp)
            #expect(try await fixture.store.record([Self.record(sent, .unregistered)], worker: worker) == [])
            #expect(try await fixture.number("select count(*) from update_token") == 2)
            let late = try #require(try await fixture.claim(worker))
            #expect(late.devices == [sent.devices[0]] && late.tokens[0] == Self.rotated)
            #expect(try await fixture.store.record([StoreFixture.record(late, .update)], worker: worker) == [])
            try await Self.expectAllAccepted(fixture, state)
        }
    }

    @Test("counts its device once when both are pushed at the same time, whichever is answered first", arguments: 0..<3)
    func bothOnTheWire(order: Int) async throws {
        try await Self.with { fixture, worker, state, sent in
            try await fixture.hold("match-1", device: 1, token: Self.rotated)
            let late = try #require(try await fixture.claim(worker))
            #expect(late.devices == [sent.devices[0]])
            let (first, second) = (Self.record(sent, .unregistered), StoreFixture.record(late, .update))
            let rounds = [[[first], [second]], [[second], [first]], [[first, second]]][order]
            for records in rounds { #expect(try await fixture.store.record(records, worker: worker) == []) }
            try await Self.expectAllAccepted(fixture, state)
            #expect(try await !fixture.hold("match-1", device: 1, token: Self.rotated).catchUp)
            #expect(try await fixture.claim(worker) == nil)
        }
    }

    /// Where the push under the former token is when a newer state comes.
    enum Place: CaseIterable {
        case waitsForAnotherTry, givenBack, withDeadWorker
    }

    @Test(
        "that took the state counts its device once although the push under the former one never ended, and a newer state comes",
        arguments: Place.allCases)
    func formerNeverEnds(place: Place) async throws {
        try await Self.with { fixture, worker, state, sent in
            let other = try await fixture.store.registerWorker(node: "b")
            var deferred = Self.record(sent, .accepted)
            let first = try #require(deferred.deliveries.firstIndex { $0.device == sent.devices[0] })
            deferred.deliveries.remove(at: first)
            deferred.retries = [RetryRecord(device: sent.devices[0], attempt: 1, notBefore: UnixMilliseconds(rawValue: 1))]
            if place != .waitsForAnotherTry {
                // The first push is one of a list, as retries are.
                #expect(try await fixture.store.record([deferred], worker: worker) == [])
                #expect(try await fixture.claim(worker)?.devices == [sent.devices[0]])
            }
            try await fixture.hold("match-1", device: 1, token: Self.rotated)
            let late = try #require(try await fixture.claim(other))
            #expect(late.devices == [sent.devices[0]] && late.tokens[0] == Self.rotated)
            #expect(try await fixture.store.record([StoreFixture.record(late, .update)], worker: other) == [])
            switch place {
            case .waitsForAnotherTry: #expect(try await fixture.store.record([deferred], worker: worker) == [])
            case .givenBack: try await fixture.store.giveBackChunks(of: worker, except: [])
            case .withDeadWorker: try await fixture.expire(worker)
            }
            let newer = try await fixture.accept(.update, of: "match-1")
            #expect(try await fixture.deliverEverything(other) == [newer.id: sent.devices])
            let summary = try await fixture.summary(state)
            #expect(summary.state == .finished && summary.targetedCount == 2 && summary.acceptedCount == 2, "\(summary)")
            #expect(summary.failedCount == 0 && summary.unknownCount == 0 && summary.reasons.isEmpty, "\(summary)")
        }
    }

    @Test("takes no outcome away when it has gone before its push, or when a newer state came")
    func neverSent() async throws {
        for isGone in [true, false] {
            try await Self.with { fixture, worker, state, sent in
                #expect(try await fixture.store.record([Self.record(sent, .unregistered)], worker: worker) == [])
                #expect(try await fixture.hold("match-1", device: 1, token: Self.rotated).catchUp)
                if isGone {
                    try await fixture.session.execute("delete from update_token where device_id = \(sent.devices[0])")
                    #expect(try await fixture.claim(worker) == nil)
                } else {
                    let newer = try await fixture.accept(.update, of: "match-1")
                    #expect(try await fixture.deliverEverything(worker) == [newer.id: sent.devices])
                }
                let summary = try await fixture.summary(state)
                #expect(summary.state == .finished && summary.targetedCount == 2 && summary.acceptedCount == 1)
                #expect(summary.failedCount == 1 && summary.reasons.map(\.reason) == [.unregistered])
            }
        }
    }

    @Test("is pushed once when its device's retry comes due as well")
    func retriedToo() async throws {
        try await Self.with { fixture, worker, state, sent in
            var record = StoreFixture.record(sent, .update)
            record.deliveries.removeFirst()
            record.retries = [RetryRecord(device: sent.devices[0], attempt: 1, notBefore: UnixMilliseconds(rawValue: 1_000))]
            #expect(try await fixture.store.record([record], worker: worker) == [])
            try await fixture.hold("match-1", device: 1, token: Self.rotated)
            let due = try #require(try await fixture.claim(worker))
            #expect(due.isRetry && due.devices == [sent.devices[0]] && due.tokens[0] == Self.rotated)
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.store.record([StoreFixture.record(due, .update)], worker: worker) == [])
            try await Self.expectAllAccepted(fixture, state)
        }
    }
}
