import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Click", .enabled(if: TestDatabase.isAvailable)) struct ClickTests {
    private func click(
        _ number: Int, _ activityID: String, _ notification: UUID? = nil, _ fixture: StoreFixture
    ) async throws -> String {
        let result = try await fixture.store.recordClick(
            activityID: activityID, notification: notification, pushToken: StoreFixture.pushToken(number),
            application: fixture.application.id)
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
}
