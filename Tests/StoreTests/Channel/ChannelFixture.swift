import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

/// Broadcast channels in a store, without Apple.
extension StoreFixture {
    /// A fixture whose app has channels switched on.
    static func withChannels(_ body: (StoreFixture) async throws -> Void) async throws {
        try await with { fixture in
            var fixture = fixture
            fixture.application = try #require(
                try await fixture.store.setBroadcastChannels(true, of: fixture.application.publicID))
            try await body(fixture)
        }
    }

    func place(_ environment: PushEnvironment = .production) -> ChannelPlace {
        ChannelPlace(application: application, environment: environment)
    }

    /// Compares a place with a list of Apple's.
    @discardableResult func compare(
        _ identifiers: [String], in environment: PushEnvironment = .production
    ) async throws -> ChannelListingReport {
        let listing = try #require(try await store.beginListing(of: place(environment), seconds: 30))
        return try #require(try await store.finishListing(listing, of: place(environment), found: identifiers))
    }

    /// The intent to make a channel, in a place that was compared before.
    func intend(in environment: PushEnvironment = .production, seconds: Int = 30) async throws -> UUID {
        let intent = try await store.intendChannel(.mostRecent, in: place(environment), seconds: seconds)
        guard case .stored(let request) = intent else { throw FixtureError.unexpected("\(intent)") }
        return request
    }

    /// A free channel, in a place that was compared before.
    func addChannel(_ identifier: String, in environment: PushEnvironment = .production) async throws {
        try await store.channelWasMade(identifier, request: intend(in: environment), in: place(environment))
    }

    /// Free channels in both environments; "p" and "s" with a number.
    func addChannels(_ count: Int) async throws {
        for (environment, letter) in [(PushEnvironment.production, "p"), (.sandbox, "s")] {
            try await compare([], in: environment)
            for number in 1...count { try await addChannel("\(letter)\(number)", in: environment) }
        }
    }

    /// A start that asks for channels.
    func acceptWithChannels(_ start: StartCommand, _ demand: ChannelDemand = .required) async throws -> AcceptedNotification {
        let decision = try await store.accept(start, application: application, channels: demand)
        guard case .decided(.accepted(let notification), _) = decision else { throw FixtureError.unexpected("\(decision)") }
        return notification
    }

    func channels(of activity: String) async throws -> [String] {
        try #require(try await store.activity(activity, application: application.id)).channels.map(\.identifier)
    }

    /// State by identifier, `-` for a channel without one yet.
    func channelStates() async throws -> [String: ChannelState] {
        let rows = try await session.queryUnprepared("select coalesce(channel_id, '-'), state from channel", [])
        var states: [String: ChannelState] = [:]
        for row in 0..<rows.rowCount {
            states[rows.text(row: row, column: 0)] = ChannelState(rawValue: rows.int16(row: row, column: 1))
        }
        return states
    }

    /// Claims everything there is, and records every push as accepted; the chunks in order.
    func sendAll() async throws -> [Chunk] {
        let worker = try await store.registerWorker(node: "test")
        var chunks: [Chunk] = []
        while let chunk = try await store.claimChunk(for: worker, deviceCount: 100, excluding: []) {
            chunks.append(chunk)
            let job = try #require(try await store.job(for: chunk.id.notification))
            var record = ChunkRecord(chunk: chunk.id, event: job.content.event)
            record.deliveries = chunk.devices.map {
                DeliveryRecord(device: $0, reason: .accepted, at: UnixMilliseconds(rawValue: 1_800_000_000_000))
            }
            #expect(try await store.record([record], worker: worker).isEmpty)
        }
        return chunks
    }
}
