import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Click", .enabled(if: TestDatabase.isAvailable)) struct ClickTests {
    private func click(
        _ number: Int, _ activityID: String, _ notification: UUID? = nil, _ fixture: StoreFixture
    ) async throws -> String {
        let result = try await fixture.tap(number, activityID, notification)
        return switch result {
        case .counted(let notification): "\(notification)"
        case .nothingDelivered(let isOpen): isOpen ? "open" : "nothing"
        case .unknownDevice: "unknown"
        }
    }

    @Test("counts for the latest push that reached the device, or may have")
    func countsForLatest() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            #expect(try await click(1, "match-1", nil, fixture) == "nothing")
            #expect(try await click(9, "match-1", nil, fixture) == "unknown")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let chunk = try #require(try await fixture.claim(worker))
            #expect(try await click(1, "match-1", nil, fixture) == "open")
            let reasons: [DeliveryReason] = [.accepted, .unknown, .badTopic]
            let record = StoreFixture.record(chunk, .start) { reasons[chunk.devices.firstIndex(of: $0) ?? 0] }
            _ = try await fixture.store.record([record], worker: worker)
            #expect(try await click(1, "match-1", nil, fixture) == "\(start.publicID)")
            #expect(try await click(2, "match-1", nil, fixture) == "\(start.publicID)")
            #expect(try await click(3, "match-1", nil, fixture) == "nothing")
            #expect(try await click(1, "match-2", nil, fixture) == "nothing")

            try await fixture.hold("match-1", device: 1)
            let update = try await fixture.accept(.update, of: "match-1")
            try await fixture.deliverEverything(worker)
            #expect(try await click(1, "match-1", nil, fixture) == "\(update.publicID)")
            #expect(try await click(2, "match-1", nil, fixture) == "\(start.publicID)")
            #expect(try await click(1, "match-1", start.publicID, fixture) == "\(start.publicID)")
            #expect(try await click(2, "match-1", update.publicID, fixture) == "nothing")
            #expect(try await click(1, "match-2", start.publicID, fixture) == "nothing")
            let summary = try await fixture.summary(start)
            #expect(summary.clickCount == 4 && summary.clickedDeviceCount == 2)
        }
    }

    @Test("counts every tap and keeps the time of the first")
    func countsEveryTap() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevice(1)
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.deliverEverything(worker)
            _ = try await click(1, "match-1", nil, fixture)
            let first = try await fixture.text("select first_at::text from click")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 { group.addTask { _ = try await click(1, "match-1", nil, fixture) } }
                try await group.waitForAll()
            }
            #expect(try await fixture.text("select first_at::text from click") == first)
            let summary = try await fixture.summary(start)
            #expect(summary.clickCount == 31 && summary.clickedDeviceCount == 1)
        }
    }

    @Test("of many apps, devices and activities are counted in one statement, each as it would be alone")
    func countsBatch() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let first = try await fixture.accept(StoreFixture.start("match-1"))
            let second = try await fixture.accept(StoreFixture.start("match-2"))
            try await fixture.deliverEverything(worker)
            _ = try await fixture.accept(StoreFixture.start("match-3"))
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            func tap(_ number: Int, _ activityID: String, _ notification: UUID? = nil, app: Application? = nil) -> Tap {
                Tap(
                    application: (app ?? fixture.application).id, device: .pushToken(StoreFixture.pushToken(number)),
                    activityID: activityID, notification: notification)
            }
            let results = try await fixture.store.count([
                tap(1, "match-1"), tap(9, "match-1"), tap(2, "match-2"), tap(1, "match-1", first.publicID), tap(1, "match-3"),
                tap(1, "match-1", app: other), tap(1, "match-2", first.publicID), tap(1, "match-1"), tap(1, "match-4"),
            ])
            #expect(
                results == [
                    .counted(notification: first.publicID), .unknownDevice, .counted(notification: second.publicID),
                    .counted(notification: first.publicID), .nothingDelivered(fanOutIsOpen: true), .unknownDevice,
                    .nothingDelivered(fanOutIsOpen: false), .counted(notification: first.publicID),
                    .nothingDelivered(fanOutIsOpen: false),
                ])
            let summary = try await fixture.summary(first)
            #expect(summary.clickCount == 3 && summary.clickedDeviceCount == 1)
            #expect(try await fixture.store.count([]).isEmpty)
        }
    }

    @Test("are counted exactly, and never in a deadlock, when batches of the same devices meet in any order")
    func countsCrossingBatches() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevices(40)
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.deliverEverything(worker)
            let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
            let before = try await fixture.number(deadlocks)
            let taps = (1...40).map { number in
                Tap(
                    application: fixture.application.id, device: .pushToken(StoreFixture.pushToken(number)),
                    activityID: "match-1",
                    notification: nil)
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<60 {
                    let batch = taps.shuffled()
                    group.addTask { try await fixture.store.count(batch).filter { $0 != .unknownDevice }.count }
                }
                for try await count in group { #expect(count == 40) }
            }
            let summary = try await fixture.summary(start)
            #expect(summary.clickCount == 60 * 40 && summary.clickedDeviceCount == 40)
            #expect(try await fixture.number("select min(taps) from click") == 60)
            #expect(try await fixture.number("select max(taps) from click") == 60)
            // The server tells of deadlocks some time after them; one would also have been a wait of its deadlock_timeout, 1 s.
            _ = try await fixture.session.execute("select pg_stat_force_next_flush()")
            #expect(try await fixture.number(deadlocks) == before)
        }
    }

    @Test("are counted once, although the server cut their first attempt off to end a deadlock")
    func survivesDeadlock() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.deliverEverything(worker)
            for number in 1...2 { _ = try await fixture.tap(number, "match-1") }
            let touch = "update click set taps = taps where device_id = "
            // The other side never looks for deadlocks itself: the store's statement is the one that is cut off.
            _ = try await fixture.session.execute("set deadlock_timeout = '60 s'")
            _ = try await fixture.session.execute("begin")
            _ = try await fixture.session.execute("\(touch)(select max(device_id) from click)")
            let taps = (1...2).map { number in
                Tap(
                    application: fixture.application.id, device: .pushToken(StoreFixture.pushToken(number)),
                    activityID: "match-1",
                    notification: nil)
            }
            let counting = Task { try await fixture.store.count(taps) }
            try await fixture.waitUntilBlocked()
            // Waits for the first row, which the store's statement holds: a circle.
            _ = try await fixture.session.execute("\(touch)(select min(device_id) from click)")
            _ = try await fixture.session.execute("commit")
            #expect(try await counting.value == [ClickResult](repeating: .counted(notification: start.publicID), count: 2))
            let summary = try await fixture.summary(start)
            #expect(summary.clickCount == 4 && summary.clickedDeviceCount == 2)
        }
    }
}
