import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Taps and receipts of devices on channels", .enabled(if: TestDatabase.isAvailable)) struct ChannelTapTests {
    /// Claims everything there is, and records a start that puts its device on a channel as one; other outcomes are as given.
    private static func deliver(
        _ fixture: StoreFixture, outcome: (Int64) -> DeliveryReason = { _ in .accepted }
    ) async throws {
        let worker = try await fixture.store.registerWorker(node: "test")
        while let chunk = try await fixture.claim(worker) {
            let job = try #require(try await fixture.store.job(for: chunk.id.notification))
            var record = ChunkRecord(chunk: chunk.id, event: job.content.event)
            for (index, device) in chunk.devices.enumerated() {
                let service = try #require(PushService(rawValue: chunk.services[index]))
                let variant = chunk.variants.isEmpty ? 0 : chunk.variants[index]
                let joins = job.joinedChannel(variant: variant, service: service) != nil
                let reason = outcome(device)
                record.deliveries.append(
                    DeliveryRecord(
                        device: device, reason: joins && reason == .accepted ? .acceptedForChannel : reason,
                        at: StoreFixture.moment))
            }
            #expect(try await fixture.store.record([record], worker: worker).isEmpty)
        }
    }

    /// Devices 1 and 2 of iOS 18, in production and the sandbox, and 3 that is too old, all of whom got the start of "m".
    private static func with(_ body: (StoreFixture, AcceptedNotification) async throws -> Void) async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.addChannels(2)
            try await fixture.addDevice(1) { $0.osVersion = "18.2" }
            try await fixture.addDevice(2) {
                $0.osVersion = "26.0"
                $0.environment = .sandbox
            }
            try await fixture.addDevice(3) { $0.osVersion = "17.6" }
            let start = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            try await deliver(fixture)
            #expect(try await fixture.number("select count(*) from delivery where status = 201") == 2)
            try await body(fixture, start)
        }
    }

    private static func counted(_ notification: AcceptedNotification) -> ClickResult {
        .counted(notification: notification.publicID)
    }
    private static let nothing = ClickResult.nothingDelivered(fanOutIsOpen: false)

    @Test("count for the start that put them there")
    func start() async throws {
        try await Self.with { fixture, start in
            for device in 1...3 {
                #expect(try await fixture.tap(device, "m") == Self.counted(start))
                #expect(try await fixture.tap(device, "m", start.publicID) == Self.counted(start))
            }
            let summary = try await fixture.summary(start)
            #expect(summary.clickCount == 6 && summary.clickedDeviceCount == 3)
        }
    }

    @Test("count for what the channel got, named or the latest, and each receipt once")
    func update() async throws {
        try await Self.with { fixture, start in
            try await fixture.hold("m", device: 3)
            let update = try await fixture.accept(.update, of: "m")
            try await Self.deliver(fixture)
            for device in 1...3 {
                #expect(try await fixture.tap(device, "m", update.publicID) == Self.counted(update))
                #expect(try await fixture.tap(device, "m") == Self.counted(update))
                #expect(try await fixture.tap(device, "m", start.publicID) == Self.counted(start))
            }
            let ids = try await fixture.session.queryUnprepared("select public_id from device order by device_id")
            let receipts = (0..<3).map { row in
                Tap(
                    application: fixture.application.id, device: .subscription(ids.uuid(row: row, column: 0)), activityID: "m",
                    notification: update.publicID, kind: .receipt)
            }
            let all = [ClickResult](repeating: Self.counted(update), count: 6)
            #expect(try await fixture.store.count(receipts + receipts) == all)
            let end = try await fixture.accept(.end, of: "m")
            try await Self.deliver(fixture)
            #expect(try await fixture.tap(1, "m", end.publicID) == Self.counted(end))
            let summary = try await fixture.summary(update)
            #expect(summary.clickCount == 6 && summary.clickedDeviceCount == 3 && summary.receiptCount == 3)
        }
    }

    @Test("are those of devices that asked for the channel, too, and of nobody else")
    func members() async throws {
        try await Self.with { fixture, start in
            for device in 4...5 { try await fixture.addDevice(device) { $0.osVersion = "18.4" } }
            let update = try await fixture.accept(.update, of: "m")
            try await Self.deliver(fixture)
            #expect(try await fixture.tap(4, "m", update.publicID) == Self.nothing)
            let joined = try await fixture.store.joinChannel(
                of: "m", device: StoreFixture.pushToken(4), application: fixture.application.id)
            guard case .joined = joined else { throw FixtureError.unexpected("\(joined)") }
            #expect(try await fixture.tap(4, "m", update.publicID) == Self.counted(update))
            #expect(try await fixture.tap(4, "m") == Self.counted(update))
            #expect(try await fixture.tap(4, "m", start.publicID) == Self.nothing)
            // One that has an update token and none of this push, and one that knows of nothing.
            for device in [3, 5] { #expect(try await fixture.tap(device, "m", update.publicID) == Self.nothing) }
            #expect(try await fixture.tap(3, "m") == Self.counted(start))
            // Another activity has another channel.
            let other = try await fixture.acceptWithChannels(
                StoreFixture.start("other", .subscriptions([try await Self.subscription(of: 1, fixture)])))
            try await Self.deliver(fixture)
            let otherUpdate = try await fixture.accept(.update, of: "other")
            try await Self.deliver(fixture)
            #expect(try await fixture.tap(1, "other") == Self.counted(otherUpdate))
            #expect(try await fixture.tap(4, "other") == Self.nothing)
            #expect(try await fixture.tap(4, "m", other.publicID) == Self.nothing)
        }
    }

    private static func subscription(of number: Int, _ fixture: StoreFixture) async throws -> UUID {
        let found = try await fixture.session.queryUnprepared(
            "select public_id from device where push_token = $1", [.bytes(StoreFixture.pushToken(number))])
        return found.uuid(column: 0)
    }

    @Test("count for nothing that the channel of their environment did not get")
    func failures() async throws {
        try await Self.with { fixture, start in
            let update = try await fixture.accept(.update, of: "m")
            try await Self.deliver(fixture) { $0 == -1 ? .tooManyRequests : .accepted }
            #expect(try await fixture.tap(1, "m", update.publicID) == Self.nothing)
            #expect(try await fixture.tap(1, "m") == Self.counted(start))
            #expect(try await fixture.tap(2, "m", update.publicID) == Self.counted(update))
            let unknown = try await fixture.accept(.update, of: "m")
            try await Self.deliver(fixture) { _ in .unknown }
            #expect(try await fixture.tap(1, "m", unknown.publicID) == Self.counted(unknown))
        }
    }

    @Test("are believed to be of a device whose start may have put it there")
    func unknownStart() async throws {
        try await Self.with { fixture, _ in
            _ = try await fixture.acceptWithChannels(StoreFixture.start("n"))
            let first = try await fixture.deviceNumber(1)
            try await Self.deliver(fixture) { $0 == first ? .unknown : .badTopic }
            let update = try await fixture.accept(.update, of: "n")
            try await Self.deliver(fixture)
            #expect(try await fixture.tap(1, "n", update.publicID) == Self.counted(update))
            #expect(try await fixture.tap(2, "n", update.publicID) == Self.nothing)
        }
    }
}
