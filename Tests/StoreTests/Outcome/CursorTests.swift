import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

/// What somebody sees who reads page by page while others write.
@Suite("Cursors", .enabled(if: TestDatabase.isAvailable)) struct CursorTests {
    @Test("of deliveries pass over nothing and repeat nothing while outcomes are recorded and devices go")
    func deliveries() async throws {
        try await StoreFixture.with { fixture in
            var ids: [UUID] = []
            for number in 1...8 { ids.append(try await fixture.addDevice(number)) }
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            let chunks = [
                try #require(try await fixture.claim(worker, 4)), try #require(try await fixture.claim(worker, 4)),
            ]
            #expect(chunks.map(\.devices.count) == [4, 4])
            func record(_ chunk: Chunk) async throws {
                #expect(try await fixture.store.record([StoreFixture.record(chunk, .start)], worker: worker).isEmpty)
            }
            func page(behind place: Int64) async throws -> DeliveryPage {
                try #require(
                    try await fixture.store.deliveries(
                        of: start.publicID, behind: place, limit: 2, application: fixture.application.id))
            }
            // Those of the second chunk end first; the first's places are before the cursor then.
            try await record(chunks[1])
            let first = try await page(behind: .min)
            #expect(first.deliveries.map(\.subscriptionID) == [ids[4], ids[5]])
            try await record(chunks[0])
            for _ in 0..<2 { _ = try await fixture.tap(7, "match-1") }
            let isRemoved = try await fixture.number(
                "with gone as (delete from device where device_id = $1 returning 1) select count(*) from gone",
                [.int64(try await fixture.deviceNumber(8))])
            #expect(isRemoved == 1)
            let second = try await page(behind: try #require(first.next))
            #expect(second.deliveries.map(\.subscriptionID) == [ids[6], nil])
            #expect(second.deliveries.map(\.tapCount) == [2, 0])
            #expect(second.next == nil)
            // Read again, all are there, as the documentation says.
            var all: [UUID?] = []
            var place: Int64? = .min
            while let here = place {
                let next = try await page(behind: here)
                all += next.deliveries.map(\.subscriptionID)
                place = next.next
            }
            #expect(all == ids.prefix(7).map { $0 } + [nil])
        }
    }

    @Test("of activities pass over nothing and repeat nothing while activities begin, end and begin again")
    func activities() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            for name in ["a", "b", "c", "d"] { _ = try await fixture.accept(StoreFixture.start(name)) }
            func page(before number: Int64) async throws -> [ListedActivity] {
                try await fixture.store.activities(before: number, limit: 2, application: fixture.application.id)
            }
            let first = try await page(before: .max)
            #expect(first.map(\.activityID) == ["d", "c"])
            _ = try await fixture.accept(StoreFixture.start("e"))
            try await fixture.hold("a", device: 1)
            _ = try await fixture.accept(.end, of: "a")
            _ = try await fixture.accept(StoreFixture.start("a"))
            let second = try await page(before: try #require(first.last).number)
            #expect(second.map(\.activityID) == ["b", "a"])
            #expect(second.map { $0.endedAt != nil } == [false, true])
            #expect(try await page(before: try #require(second.last).number).isEmpty)
            #expect(try await page(before: .max).map(\.activityID) == ["a", "e"])
        }
    }

    @Test("of a device's timeline pass over nothing and repeat nothing while it is pushed to")
    func timeline() async throws {
        try await StoreFixture.with { fixture in
            let id = try await fixture.addDevice(1)
            let worker = try await fixture.store.registerWorker(node: "a")
            var sent: [UUID] = []
            for number in 0..<4 { sent.append(try await fixture.accept(StoreFixture.start("match-\(number)")).publicID) }
            try await fixture.deliverEverything(worker)
            func page(before notification: NotificationID) async throws -> TimelinePage {
                try #require(
                    try await fixture.store.timeline(
                        of: id, before: notification, limit: 2, application: fixture.application.id))
            }
            let first = try await page(before: NotificationID(rawValue: .max))
            #expect(first.entries.map(\.notification) == [sent[3], sent[2]])
            sent.append(try await fixture.accept(StoreFixture.start("match-4")).publicID)
            try await fixture.deliverEverything(worker)
            _ = try await fixture.tap(1, "match-1")
            let second = try await page(before: try #require(first.next))
            #expect(second.entries.map(\.notification) == [sent[1], sent[0]])
            #expect(second.entries.map(\.delivery.tapCount) == [1, 0])
            #expect(second.next == nil)
            #expect(try await page(before: NotificationID(rawValue: .max)).entries.map(\.notification) == [sent[4], sent[3]])
        }
    }
}
