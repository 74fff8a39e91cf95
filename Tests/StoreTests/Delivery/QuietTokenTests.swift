import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("A token that APNs wants left alone", .enabled(if: TestDatabase.isAvailable)) struct QuietTokenTests {
    private static let later = UnixMilliseconds(rawValue: 4_000_000_000_000)

    /// Records a chunk in which APNs answered these devices with "too many requests", and the others with 200.
    private static func record(_ chunk: Chunk, quiet: [Int64], on fixture: StoreFixture, _ worker: WorkerID) async throws {
        var record = ChunkRecord(chunk: chunk.id, event: .update)
        for (index, device) in chunk.devices.enumerated() {
            if quiet.contains(device) {
                record.retries.append(RetryRecord(device: device, attempt: 1, notBefore: later))
                record.quietTokens.append(QuietToken(device: device, token: chunk.tokens[index], until: later))
            } else {
                record.deliveries.append(DeliveryRecord(device: device, reason: .accepted, at: StoreFixture.moment))
            }
        }
        #expect(try await fixture.store.record([record], worker: worker) == [])
    }

    /// Three devices hold an activity, and APNs wants the second to be left alone.
    private static func with(_ body: (StoreFixture, WorkerID, _ devices: [Int64]) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            var devices: [Int64] = []
            for number in 1...3 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
                devices.append(try await fixture.deviceNumber(number))
            }
            let worker = try await fixture.store.registerWorker(node: "a")
            _ = try await fixture.accept(.update, of: "match-1")
            let chunk = try #require(try await fixture.claim(worker))
            #expect(chunk.devices == devices)
            try await record(chunk, quiet: [devices[1]], on: fixture, worker)
            try await body(fixture, worker, devices)
        }
    }

    private static func timePasses(_ fixture: StoreFixture) async throws {
        try await fixture.session.execute("update quiet_token set until = now(); update delivery_retry set not_before = now()")
    }

    @Test("is passed over by newer states until its time has come, and then gets the newest of them")
    func waits() async throws {
        try await Self.with { fixture, worker, devices in
            for _ in 0..<3 {
                _ = try await fixture.accept(.update, of: "match-1")
                let page = try #require(try await fixture.claim(worker))
                #expect(page.devices == [devices[0], devices[2]])
                #expect(try await fixture.claim(worker) == nil)
                try await Self.record(page, quiet: [], on: fixture, worker)
            }
            let newest = try await fixture.accept(.end, of: "match-1")
            let page = try #require(try await fixture.claim(worker))
            #expect(page.devices == [devices[0], devices[2]])
            try await Self.record(page, quiet: [], on: fixture, worker)
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.summary(newest).state == .sending)
            try await Self.timePasses(fixture)
            let due = try #require(try await fixture.claim(worker))
            #expect(due.id.notification == newest.id && due.devices == [devices[1]])
            try await Self.record(due, quiet: [], on: fixture, worker)
            #expect(try await fixture.claim(worker) == nil)
            let summary = try await fixture.summary(newest)
            #expect(summary.state == .finished && summary.targetedCount == 3 && summary.acceptedCount == 3)
        }
    }

    @Test("does not keep those behind it from their page")
    func othersGoOn() async throws {
        try await Self.with { fixture, worker, devices in
            let update = try await fixture.accept(.update, of: "match-1")
            var pushed: [Int64] = []
            while let page = try await fixture.claim(worker, 1) {
                pushed += page.devices
                try await Self.record(page, quiet: [], on: fixture, worker)
            }
            #expect(pushed == [devices[0], devices[2]])
            try await Self.timePasses(fixture)
            #expect(try await fixture.deliverEverything(worker) == [update.id: [devices[1]]])
        }
    }

    @Test("is known although the state it was tried with was superseded meanwhile")
    func superseded() async throws {
        try await Self.with { fixture, worker, devices in
            try await fixture.session.execute("delete from quiet_token")
            _ = try await fixture.accept(.update, of: "match-1")
            let old = try #require(try await fixture.claim(worker))
            _ = try await fixture.accept(.update, of: "match-1")
            try await Self.record(old, quiet: [devices[0]], on: fixture, worker)
            #expect(try await fixture.claim(worker)?.devices == [devices[1], devices[2]])
        }
    }

    @Test("makes way for another token of the device, which is pushed at once")
    func anotherToken() async throws {
        try await Self.with { fixture, worker, devices in
            try await fixture.hold("match-1", device: 2, token: Array("another".utf8))
            _ = try await fixture.accept(.update, of: "match-1")
            #expect(try await fixture.claim(worker)?.devices == devices)
        }
    }

    @Test("does not keep another token of the device waiting for a state that the first one was sent")
    func anotherTokenOfTheSameState() async throws {
        try await Self.with { fixture, worker, devices in
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.hold("match-1", device: 2, token: Array("another".utf8)).catchUp)
            let due = try #require(try await fixture.claim(worker))
            #expect(due.devices == [devices[1]] && due.tokens[0] == Array("another".utf8))
            try await Self.record(due, quiet: [], on: fixture, worker)
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.number("select count(*) from delivery where status = 200") == 3)
            #expect(try await fixture.number("select targeted from fan_out where finished_at is not null") == 3)
        }
    }

    @Test("does not keep another token waiting that was told while the first one's push was on its way")
    func anotherTokenDuringThePush() async throws {
        try await Self.with { fixture, worker, devices in
            _ = try await fixture.accept(.update, of: "match-1")
            let page = try #require(try await fixture.claim(worker))
            try await fixture.hold("match-1", device: 1, token: Array("another".utf8))
            try await Self.record(page, quiet: [devices[0]], on: fixture, worker)
            let due = try #require(try await fixture.claim(worker))
            #expect(due.devices == [devices[0]] && due.tokens[0] == Array("another".utf8))
            #expect(try await fixture.claim(worker) == nil)
        }
    }

    @Test("waits although it is told again: with another start, in its push, or after another token")
    func toldAgain() async throws {
        try await Self.with { fixture, worker, devices in
            let now = try #require(try await fixture.number("select unix_seconds(now())"))
            try await fixture.hold("match-1", device: 2, startedAt: now - 10)
            #expect(try await fixture.claim(worker) == nil)
            try await fixture.hold("match-1", device: 2, token: Array("another".utf8))
            try await fixture.hold("match-1", device: 2)
            #expect(try await fixture.claim(worker) == nil)
            #expect(try await fixture.number("select count(*) from delivery_retry where device_id = \(devices[1])") == 1)

            _ = try await fixture.accept(.update, of: "match-1")
            let page = try #require(try await fixture.claim(worker))
            #expect(page.devices == [devices[0], devices[2]])
            try await fixture.hold("match-1", device: 1, startedAt: now - 10)
            try await Self.record(page, quiet: [devices[0]], on: fixture, worker)
            #expect(try await fixture.claim(worker) == nil)
        }
    }

    @Test("is forgotten once it may be pushed again")
    func forgotten() async throws {
        try await Self.with { fixture, _, _ in
            #expect(try await fixture.number("select count(*) from quiet_token") == 1)
            try await fixture.store.maintain()
            #expect(try await fixture.number("select count(*) from quiet_token") == 1)
            try await Self.timePasses(fixture)
            try await fixture.store.maintain()
            #expect(try await fixture.number("select count(*) from quiet_token") == 0)
        }
    }
}
