import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Channels as recipients", .enabled(if: TestDatabase.isAvailable)) struct ChannelUpdateTests {
    /// One activity with a channel in each environment, and a device of each that told an update token.
    static func withActivity(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.addChannels(1)
            try await fixture.addDevice(1)
            try await fixture.addDevice(2) { $0.environment = .sandbox }
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            _ = try await fixture.sendAll()
            for device in 1...2 { try await fixture.hold("m", device: device) }
            try await body(fixture)
        }
    }

    @Test("get an update first, each by its own service, and count as one each")
    func comeFirst() async throws {
        try await Self.withActivity { fixture in
            let update = try await fixture.accept(.update, of: "m")
            let chunk = try #require(try await fixture.sendAll().first)
            let numbers = try await [fixture.deviceNumber(1), fixture.deviceNumber(2)]
            #expect(chunk.devices == [-2, -1] + numbers)
            #expect(
                chunk.services.compactMap(PushService.init)
                    == [.broadcastSandbox, .broadcastProduction, .apnsProduction, .apnsSandbox])
            #expect(String(decoding: chunk.tokens[0], as: UTF8.self) == "s1")
            #expect(String(decoding: chunk.tokens[1], as: UTF8.self) == "p1")
            let summary = try await fixture.summary(update)
            #expect(summary.targetedCount == 4)
            #expect(summary.acceptedCount == 4)
            let page = try #require(
                try await fixture.store.deliveries(
                    of: update.publicID, behind: .min, limit: 10, application: fixture.application.id))
            #expect(page.deliveries.map(\.isChannel) == [true, true, false, false])
            #expect(page.deliveries.prefix(2).map(\.subscriptionID) == [nil, nil])
            let activity = try #require(try await fixture.store.activity("m", application: fixture.application.id))
            #expect(activity.deviceCount == 2)
        }
    }

    @Test("alone take updates and the end of an activity no device told of")
    func alone() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.addChannels(1)
            try await fixture.addDevice(1)
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            _ = try await fixture.sendAll()
            for event in [ActivityEvent.update, .end] {
                _ = try await fixture.accept(event, of: "m")
                #expect(try await fixture.sendAll().map(\.devices) == [[-1]])
            }
        }
    }

    @Test("that Apple no longer knows are silenced and given up")
    func dead() async throws {
        try await Self.withActivity { fixture in
            _ = try await fixture.accept(.update, of: "m")
            let worker = try await fixture.store.registerWorker(node: "test")
            let chunk = try #require(try await fixture.store.claimChunk(for: worker, deviceCount: 100, excluding: []))
            var record = ChunkRecord(chunk: chunk.id, event: .update)
            record.deliveries = chunk.devices.map {
                DeliveryRecord(
                    device: $0, reason: $0 == -1 ? .channelNotRegistered : .accepted,
                    at: UnixMilliseconds(rawValue: 1_800_000_000_000))
            }
            record.deadTokens = [DeadToken(device: -1, token: Array("p1".utf8), reason: .channelNotRegistered, since: nil)]
            #expect(try await fixture.store.record([record], worker: worker).isEmpty)
            #expect(try await fixture.channelStates() == ["p1": .leaving, "s1": .used])
            #expect(try await fixture.channels(of: "m") == ["s1"])
            _ = try await fixture.accept(.update, of: "m")
            #expect(try await fixture.sendAll().flatMap(\.devices).filter { $0 < 0 } == [-2])
        }
    }

    @Test("make room for a newer state like everybody")
    func supersede() async throws {
        try await Self.withActivity { fixture in
            let older = try await fixture.accept(.update, of: "m")
            let newer = try await fixture.accept(.update, of: "m")
            let chunks = try await fixture.sendAll()
            #expect(chunks.map(\.id.notification) == [newer.id])
            #expect(try await fixture.store.superseded(among: [older.id, newer.id]) == [older.id])
        }
    }

    @Test("are told to devices that ask, of their environment, and remembered")
    func joins() async throws {
        try await Self.withActivity { fixture in
            try await fixture.addDevice(3) { $0.osVersion = "17.5" }
            try await fixture.addDevice(4) { $0.osVersion = "18.2" }
            func join(_ device: Int, _ activity: String = "m") async throws -> ChannelMembership {
                try await fixture.store.joinChannel(
                    of: activity, device: StoreFixture.pushToken(device), application: fixture.application.id)
            }
            guard case .joined(let production, let window) = try await join(1), case .joined(let sandbox, _) = try await join(2)
            else {
                Issue.record("a device was not told its channel")
                return
            }
            #expect(production.identifier == "p1")
            #expect(sandbox.identifier == "s1")
            #expect(window.updatesUntil - window.startedAt == ActivityWindow.updateSeconds)
            guard case .joined = try await join(4), case .joined = try await join(4) else {
                Issue.record("a device of iOS 18 was not told its channel")
                return
            }
            #expect(try await join(3) == .tooOld)
            #expect(try await join(9) == .unknownDevice)
            #expect(try await join(1, "none") == .unknownActivity)
            #expect(try await fixture.number("select count(*) from channel_member") == 3)
            // Another user's device is not on it any more.
            for (user, count) in [("fan-1", 3), ("fan-1", 3), ("fan-2", 2)] as [(String, Int64)] {
                try await fixture.addDevice(4) { $0.externalID = user }
                #expect(try await fixture.number("select count(*) from channel_member") == count, "\(user)")
            }
            try await fixture.hold("own", device: 1)
            #expect(try await join(1, "own") == .noChannel)
            _ = try await fixture.accept(.end, of: "m")
            #expect(try await join(1) == .ended)
        }
    }
}
