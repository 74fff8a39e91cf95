import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Reports of devices", .enabled(if: TestDatabase.isAvailable)) struct ReportTests {
    private static func tap(
        _ fixture: StoreFixture, _ device: UUID, _ notification: UUID?, _ kind: Tap.Kind, activity: String = "match-1"
    ) -> Tap {
        Tap(
            application: fixture.application.id, device: .subscription(device), activityID: activity,
            notification: notification, kind: kind)
    }

    /// A start that reached two devices of three, and their identifiers.
    private static func delivered(_ fixture: StoreFixture) async throws -> (AcceptedNotification, [UUID]) {
        var devices: [UUID] = []
        for number in 1...2 { devices.append(try await fixture.addDevice(number)) }
        devices.append(try await fixture.addDevice(3, type: nil))
        let start = try await fixture.accept(StoreFixture.start("match-1"))
        try await fixture.deliverEverything(try await fixture.store.registerWorker(node: "a"))
        return (start, devices)
    }

    @Test("count a tap once under its identifier, told again in the same batch or later")
    func countsTapsOnce() async throws {
        try await StoreFixture.with { fixture in
            let (start, devices) = try await Self.delivered(fixture)
            let ids = [UUID.random(), .random()]
            let first = Self.tap(fixture, devices[0], start.publicID, .tap(ids[0]))
            let counted = ClickResult.counted(notification: start.publicID)
            #expect(try await fixture.store.count([first, first]) == [counted, counted])
            #expect(try await fixture.store.count([first]) == [counted])
            #expect(try await fixture.summary(start).clickCount == 1)
            // Another tap, the same identifier on another device, and taps without one.
            _ = try await fixture.store.count([
                first, Self.tap(fixture, devices[0], start.publicID, .tap(ids[1])),
                Self.tap(fixture, devices[1], start.publicID, .tap(ids[0])),
                Self.tap(fixture, devices[1], nil, .tap(nil)), Self.tap(fixture, devices[1], nil, .tap(nil)),
                Self.tap(fixture, devices[1], nil, .tap(UUID(high: 0, low: 0))),
            ])
            let summary = try await fixture.summary(start)
            #expect(summary.clickCount == 6 && summary.clickedDeviceCount == 2 && summary.receiptCount == 0)
        }
    }

    @Test("of many batches at once count each tap once, and no batch waits in a circle")
    func countsConcurrently() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let (start, devices) = try await Self.delivered(fixture)
            let taps = (0..<40).map { number in
                Self.tap(fixture, devices[number % 2], start.publicID, .tap(UUID(high: 1, low: UInt64(number / 2 + 1))))
            }
            try await withThrowingTaskGroup(of: [ClickResult].self) { group in
                for round in 0..<12 {
                    let batch = round.isMultiple(of: 2) ? taps : taps.reversed()
                    group.addTask { try await fixture.store.count(batch) }
                }
                for try await results in group {
                    #expect(results.allSatisfy { $0 == .counted(notification: start.publicID) })
                }
            }
            #expect(try await fixture.summary(start).clickCount == 40)
        }
    }

    @Test("say once a device that a push arrived, and never without a delivery")
    func countsReceipts() async throws {
        try await StoreFixture.with { fixture in
            let (start, devices) = try await Self.delivered(fixture)
            let receipts = devices.map { Self.tap(fixture, $0, start.publicID, .receipt) }
            let unknown = Self.tap(fixture, .random(), start.publicID, .receipt)
            let counted = ClickResult.counted(notification: start.publicID)
            for _ in 0..<2 {
                #expect(
                    try await fixture.store.count(receipts + receipts + [unknown]) == [
                        counted, counted, .nothingDelivered(fanOutIsOpen: false), counted, counted,
                        .nothingDelivered(fanOutIsOpen: false), .unknownDevice,
                    ])
            }
            let summary = try await fixture.summary(start)
            #expect(summary.receiptCount == 2 && summary.acceptedCount == 2 && summary.clickCount == 0)
        }
    }

    @Test("stay in the totals when their rows are no longer kept")
    func staysInTotals() async throws {
        try await StoreFixture.with { fixture in
            let (start, devices) = try await Self.delivered(fixture)
            _ = try await fixture.store.count([
                Self.tap(fixture, devices[0], nil, .receipt), Self.tap(fixture, devices[1], nil, .receipt),
                Self.tap(fixture, devices[1], nil, .tap(.random())),
            ])
            try await fixture.session.execute("update fan_out set finished_at = now() + interval '100 days'")
            _ = try await fixture.maintain(hoursAhead: 32 * 24)
            #expect(try await fixture.number("select count(*) from device_report") == 0)
            let summary = try await fixture.summary(start)
            #expect(summary.receiptCount == 2 && summary.clickCount == 1 && summary.clickedDeviceCount == 1)
        }
    }
}
