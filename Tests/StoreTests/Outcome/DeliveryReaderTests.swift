import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Deliveries", .enabled(if: TestDatabase.isAvailable)) struct DeliveryReaderTests {
    private func everything(
        _ notification: UUID, limit: Int, _ fixture: StoreFixture
    ) async throws -> [DeviceDelivery] {
        var deliveries: [DeviceDelivery] = []
        var begin: Int64? = 0
        while let here = begin {
            let page = try #require(
                try await fixture.store.deliveries(
                    of: notification, behind: here, limit: limit, application: fixture.application.id))
            #expect(page.deliveries.count <= limit)
            deliveries += page.deliveries
            begin = page.next
        }
        return deliveries
    }

    @Test("are read once each, with their outcome, their time and their taps")
    func reads() async throws {
        try await StoreFixture.with { fixture in
            var ids: [UUID] = []
            for number in 1...5 { ids.append(try await fixture.addDevice(number)) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let chunk = try #require(try await fixture.claim(worker))
            let reasons: [DeliveryReason] = [.accepted, .unregistered, .unknown, .accepted, .accepted]
            var record = ChunkRecord(chunk: chunk.id, event: .start)
            let storedAt = try await fixture.summary(start).createdAt
            record.deliveries = zip(chunk.devices, reasons).map { device, reason in
                DeliveryRecord(device: device, reason: reason, at: UnixMilliseconds(rawValue: storedAt.rawValue + 1_234))
            }
            _ = try await fixture.store.record([record], worker: worker)
            for _ in 0..<3 { _ = try await fixture.tap(4, "match-1") }
            // Another notification to the same devices, whose rows must not come in between.
            _ = try await fixture.accept(StoreFixture.start("match-2"))
            try await fixture.deliverEverything(worker)

            for limit in [1, 2, 5, 100] {
                let rows = try await everything(start.publicID, limit: limit, fixture)
                #expect(rows.map(\.subscriptionID) == ids)
                #expect(rows.map(\.reason) == reasons)
                #expect(rows.map(\.tapCount) == [0, 0, 0, 3, 0])
                #expect(rows.filter { $0.firstClickAt != nil }.map(\.subscriptionID) == [ids[3]])
                #expect(rows.allSatisfy { abs($0.endedAt.rawValue - storedAt.rawValue - 1_234) <= 1_000 })
                #expect(Set(rows.map(\.apnsID)).count == 5)
            }
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            let foreign = try await fixture.store.deliveries(
                of: start.publicID, behind: 0, limit: 5, application: other.id)
            #expect(foreign == nil)
        }
    }

    @Test("by the minute tell what was accepted and who tapped for the first time")
    func minutes() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...4 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.deliverEverything(worker, deviceCount: 2)
            for number in [1, 1, 2, 3] { _ = try await fixture.tap(number, "match-1") }
            try await fixture.session.execute(
                """
                update fan_out_chunk set closed_at = timestamptz '2026-01-01 10:00:59Z' + number * interval '1 second';
                update click set first_at = '2026-01-01 10:02:30Z' where device_id = (select min(device_id) from click);
                update click set first_at = '2026-01-01 10:01:30Z' where device_id > (select min(device_id) from click)
                """)
            let minutes = try await fixture.store.minutes(
                of: start.publicID, limit: 10, application: fixture.application.id)
            let first: Int64 = 1_767_261_600_000
            #expect(
                minutes == [
                    NotificationMinute(
                        startsAt: UnixMilliseconds(rawValue: first), acceptedCount: 2, clickedDeviceCount: 0),
                    NotificationMinute(
                        startsAt: UnixMilliseconds(rawValue: first + 60_000), acceptedCount: 2, clickedDeviceCount: 2),
                    NotificationMinute(
                        startsAt: UnixMilliseconds(rawValue: first + 120_000), acceptedCount: 0, clickedDeviceCount: 1),
                ])
            let bounded = try await fixture.store.minutes(of: start.publicID, limit: 1, application: fixture.application.id)
            #expect(bounded == [minutes[0]])
        }
    }

    @Test("and activities are listed newest first, each life of an id of its own, those of other apps never")
    func activities() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            for activity in ["a", "b", "c"] { _ = try await fixture.accept(StoreFixture.start(activity)) }
            try await fixture.hold("b", device: 1)
            _ = try await fixture.accept(.end, of: "b")
            _ = try await fixture.accept(StoreFixture.start("b"))
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            var seen: [ListedActivity] = []
            while true {
                let page = try await fixture.store.activities(
                    before: seen.last?.number ?? .max, limit: 2, application: fixture.application.id)
                #expect(page.count <= 2)
                guard !page.isEmpty else { break }
                seen += page
            }
            #expect(seen.map(\.activityID) == ["b", "c", "b", "a"])
            #expect(seen.map { $0.endedAt != nil } == [false, false, true, false])
            #expect(seen.allSatisfy { $0.activityType == StoreFixture.type })
            #expect(try await fixture.store.activities(before: .max, limit: 9, application: other.id).isEmpty)
        }
    }
}
