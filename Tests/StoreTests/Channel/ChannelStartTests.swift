import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Starts with channels", .enabled(if: TestDatabase.isAvailable)) struct ChannelStartTests {
    @Test("take a free channel where they may reach devices, and no other")
    func takesChannels() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.addChannels(2)
            try await fixture.addDevice(1)
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m1"))
            #expect(try await fixture.channels(of: "m1") == ["p1"])
            try await fixture.addDevice(2) { $0.environment = .sandbox }
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m2"))
            #expect(try await fixture.channels(of: "m2") == ["p2", "s1"])
            #expect(try await fixture.channelStates() == ["p1": .used, "p2": .used, "s1": .used, "s2": .free])
        }
    }

    @Test("store nothing when one is lacking, or go on without, as they are told")
    func lacking() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.addChannels(1)
            try await fixture.addDevice(1)
            try await fixture.addDevice(2) { $0.environment = .sandbox }
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m1"))
            let key = IdempotencyKey(key: .random(), bodyDigest: [UInt8](repeating: 1, count: 32))
            let start = StoreFixture.start("m2", key: key)
            guard
                case .lacking([.production, .sandbox]) = try await fixture.store.accept(
                    start, application: fixture.application, channels: .required)
            else {
                Issue.record("a start without a channel is stored")
                return
            }
            #expect(try await fixture.number("select count(*) from notification") == 1)
            #expect(try await fixture.number("select count(*) from idempotency") == 0)
            let decision = try await fixture.store.accept(start, application: fixture.application, channels: .asAvailable)
            guard case .decided(.accepted(let notification), without: [.production, .sandbox]) = decision else {
                throw FixtureError.unexpected("\(decision)")
            }
            #expect(try await fixture.channels(of: "m2").isEmpty)
            let job = try #require(try await fixture.store.job(for: notification.id))
            #expect(job.variants == [PushVariant()])
            #expect(job.channels.isEmpty)
        }
    }

    @Test("of an activity that runs keep its channels")
    func keepsChannels() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.addChannels(2)
            try await fixture.addDevice(1)
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            #expect(try await fixture.channels(of: "m") == ["p1"])
            _ = try await fixture.accept(.end, of: "m")
            // The name begins a new life, on a channel nobody was on.
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            #expect(try await fixture.channels(of: "m") == ["p2"])
        }
    }

    @Test("that come at once never get the same channel")
    func concurrent() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            for number in 1...6 { try await fixture.addChannel("p\(number)") }
            try await fixture.addDevice(1)
            let (store, application) = (fixture.store, fixture.application)
            let decisions = try await withThrowingTaskGroup(of: ChannelStart.self) { group in
                for number in 1...12 {
                    group.addTask {
                        try await store.accept(
                            StoreFixture.start("m\(number)"), application: application, channels: .asAvailable)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(decisions.count == 12)
            #expect(
                try await fixture.number("select count(*) from channel where state = 2")
                    == fixture.number("select count(distinct activity_number) from channel where state = 2"))
            #expect(try await fixture.number("select count(*) from update_token where device_id = -1") == 6)
        }
    }

    @Test("put each device on the channel or ask it for an update token, by its iOS")
    func choosesByVersion() async throws {
        let variants: [(version: String?, variant: UInt8)] = [
            (nil, 0), ("", 0), ("17.6.1", 0), ("9", 0), ("18", 1), ("18.0", 1), ("19.1", 1), ("26.1.2", 1), ("100", 1),
            ("180", 1),
            ("1", 0), ("iOS 18", 0), ("18beta", 0),
        ]
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            try await fixture.addChannel("p1")
            for (number, (version, _)) in variants.enumerated() {
                try await fixture.addDevice(number) { $0.osVersion = version }
            }
            let start = try await fixture.acceptWithChannels(StoreFixture.start("m"))
            let chunks = try await fixture.sendAll()
            #expect(chunks.map(\.variants) == [variants.map(\.variant)])
            let job = try #require(try await fixture.store.job(for: start.id))
            #expect(job.variants == [PushVariant(), PushVariant(joinsChannel: true)])
            #expect(
                job.channels[.production]
                    == ActivityChannel(environment: .production, identifier: "p1", policy: .mostRecent))
        }
    }

    @Test("choose in lists, conditions, pages and retries alike")
    func choosesEverywhere() async throws {
        try await StoreFixture.withChannels { fixture in
            try await fixture.compare([])
            for number in 1...3 {
                try await fixture.addChannel("p\(number)")
                try await fixture.addDevice(number) {
                    $0.osVersion = number == 2 ? "18.1" : "17.2"
                    $0.aliases = [ExactText("crm"): "\(number)"]
                    $0.sessionCount = 4
                }
            }
            let everybody = try await fixture.acceptWithChannels(StoreFixture.start("m1"))
            let chunk = try #require(try await fixture.sendAll().first)
            #expect(chunk.variants == [0, 1, 0])
            // Claimed again by a list, as after a retry.
            try await fixture.session.execute(
                """
                insert into delivery_retry select \(everybody.id), device_id, 1::smallint, true, now() from device;
                delete from delivery;
                """)
            #expect(try await fixture.sendAll().map(\.variants) == [[0, 1, 0]])

            let aliases = Audience.aliases((1...3).map { AliasReference(label: "crm", identifier: "\($0)") })
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m2", aliases))
            #expect(try await fixture.sendAll().map(\.variants) == [[0, 1, 0]])
            let filters = FilterExpression(branches: [[.sessionCount(.equal, 4)]])
            _ = try await fixture.acceptWithChannels(StoreFixture.start("m3", .filters(filters)))
            #expect(try await fixture.sendAll().map(\.variants) == [[0, 1, 0]])
        }
    }

    @Test("of an app that is switched off read no device and have no variants")
    func off() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.osVersion = "18.0" }
            _ = try await fixture.accept(StoreFixture.start("m"))
            #expect(try await fixture.sendAll().map(\.variants) == [[]])
        }
    }
}
