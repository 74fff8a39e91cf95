import JSON
import Testing

@testable import APNsSimulator

@Suite("Broadcasts", .timeLimit(.minutes(1))) struct BroadcastTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: Reason?
        let spoil: @Sendable (inout TestPush) -> Void

        init(_ reason: Reason?, _ description: String, _ spoil: @escaping @Sendable (inout TestPush) -> Void) {
            testDescription = description
            self.reason = reason
            self.spoil = spoil
        }
    }

    static let rows: [Row] = [
        Row(nil, "a good one") { _ in },
        Row(nil, "no priority") { $0 = $0.with("apns-priority", nil) },
        Row(nil, "the documentation's other spelling") { $0 = $0.with("apns-push-type", "Liveactivity") },
        Row(nil, "5120 bytes") { $0.body += [UInt8](repeating: 0x20, count: 5120 - $0.body.count) },
        Row(.payloadTooLarge, "5121 bytes") { $0.body += [UInt8](repeating: 0x20, count: 5121 - $0.body.count) },
        Row(.payloadEmpty, "no body") { $0.body = [] },
        Row(.badPath, "something behind the app") { $0.path += "/x" },
        Row(.methodNotAllowed, "GET") { $0.method = "GET" },
        Row(.missingProviderToken, "no authorization") { $0 = $0.with("authorization", nil) },
        Row(.missingChannelID, "no channel") { $0 = $0.with("apns-channel-id", nil) },
        Row(.badChannelID, "a channel that never was") { $0 = $0.with("apns-channel-id", "AAAAAAAAAAAAAAAAAAAAAA==") },
        Row(.missingPushType, "no push type") { $0 = $0.with("apns-push-type", nil) },
        Row(.invalidPushType, "an alert") { $0 = $0.with("apns-push-type", "alert") },
        Row(.badPriority, "priority 7") { $0 = $0.with("apns-priority", "7") },
        Row(.badExpirationDate, "no expiration") { $0 = $0.with("apns-expiration", nil) },
        Row(.badMessageID, "a request id that is no UUID") { $0 = $0.with("apns-request-id", "x") },
        Row(.badChannelID, "another app's channel") { $0.path = "/4/broadcasts/apps/com.example.other" },
    ]

    @Test("are answered as Apple does", arguments: rows)
    func areApples(row: Row) async throws {
        let test = try await TestSimulator.start()
        let id = test.simulator.makeChannel(bundleID: TestSimulator.bundleID, environment: .production)
        var push = test.publication(id)
        row.spoil(&push)
        let answer = try await test.connect().answer(to: push)
        let body = row.reason.map { #"{"reason":"\#($0.rawValue)"}"# } ?? ""
        #expect(answer == .init(status: row.reason?.status ?? 200, body: body))
        #expect(test.simulator.channels().map(\.messageCount) == [row.reason == nil ? 1 : 0])
        await test.simulator.stop()
    }

    @Test("expire at once where nothing is stored, and reach no deleted channel")
    func followsPolicies() async throws {
        let test = try await TestSimulator.start()
        let id = test.simulator.makeChannel(bundleID: TestSimulator.bundleID, environment: .sandbox, policy: .none)
        let client = try await test.connect(.sandbox)
        #expect(try await client.answer(to: test.publication(id)).body == #"{"reason":"BadExpirationDate"}"#)
        #expect(try await client.answer(to: test.publication(id, expiration: 0)).status == 200)
        #expect(try await test.connect().answer(to: test.publication(id, expiration: 0)).body == #"{"reason":"BadChannelId"}"#)
        #expect(test.simulator.deleteChannel(id))
        #expect(try await client.answer(to: test.publication(id, expiration: 0)).body == #"{"reason":"ChannelNotRegistered"}"#)
        await test.simulator.stop()
    }

    @Test("reach the devices that are on the channel then, and one that joins where the latest is stored")
    func deliver() async throws {
        let test = try await TestSimulator.start()
        let stored = test.simulator.makeChannel(bundleID: TestSimulator.bundleID, environment: .production)
        let fleeting = test.simulator.makeChannel(bundleID: TestSimulator.bundleID, environment: .production, policy: .none)
        let client = try await test.connectAuthenticated()
        func events(of token: Int) -> [[Int64?]] {
            (DeviceToken.parse(TestPush.token(token)).map(test.simulator.subscriptions) ?? [])
                .sorted { $0.channelID == stored && $1.channelID != stored }.map { $0.messages.map(\.timestamp) }
        }
        let early = try #require(DeviceToken.parse(TestPush.token(1)))
        let late = try #require(DeviceToken.parse(TestPush.token(2)))
        for id in [stored, fleeting] { #expect(test.simulator.subscribe(early, to: id, environment: .production)) }
        for (id, expiration) in [(stored, TestSimulator.seconds + 60), (fleeting, 0)] {
            for timestamp in [1, 2] as [Int64] {
                let push = test.publication(id, expiration: expiration, timestamp: TestSimulator.seconds + timestamp)
                #expect(try await client.answer(to: push).status == 200)
            }
        }
        for id in [stored, fleeting] { #expect(test.simulator.subscribe(late, to: id, environment: .production)) }
        let now = TestSimulator.seconds
        #expect(events(of: 1) == [[now + 1, now + 2], [now + 1, now + 2]])
        #expect(events(of: 2) == [[now + 2], []])
        test.clock.advance(seconds: 60)
        let later = try #require(DeviceToken.parse(TestPush.token(3)))
        #expect(test.simulator.subscribe(later, to: stored, environment: .production))
        #expect(events(of: 3) == [[]])
        #expect(!test.simulator.subscribe(later, to: stored, environment: .sandbox))
        await test.simulator.stop()
    }

    @Test("reach a device whose accepted start named the channel")
    func followsStarts() async throws {
        let test = try await TestSimulator.start()
        let id = test.simulator.makeChannel(bundleID: TestSimulator.bundleID, environment: .production)
        let client = try await test.connectAuthenticated()
        let start = test.push(token: 7).with(
            body: """
                {"aps":{"timestamp":\(TestSimulator.seconds),"event":"start","content-state":{},"attributes-type":"A","attributes":{},
                "alert":{"title":"t","body":"b"},"input-push-channel":"\(id)"}}
                """)
        #expect(try await client.answer(to: start).status == 200)
        #expect(try await client.answer(to: test.publication(id)).status == 200)
        let token = try #require(DeviceToken.parse(TestPush.token(7)))
        #expect(test.simulator.subscriptions(of: token).map(\.messages.count) == [1])
        #expect(test.simulator.requests().allSatisfy { $0.reading.shapeErrors.isEmpty })
        await test.simulator.stop()
    }

    @Test("are counted for devices that nobody asks about, and what is wrong with them is told")
    func counts() async throws {
        let test = try await TestSimulator.start()
        let id = test.simulator.makeChannel(bundleID: TestSimulator.bundleID, environment: .production)
        #expect(test.simulator.subscribe(count: 1_000_000, to: id))
        let client = try await test.connectAuthenticated()
        for (event, timestamp) in [("update", 2), ("end", 3), ("start", 1)] as [(String, Int64)] {
            let push = test.publication(id, timestamp: TestSimulator.seconds + timestamp, event: event)
            #expect(try await client.answer(to: push).status == 200)
        }
        let record = try #require(test.simulator.channels().first)
        #expect(record.deliveryCount == 3_000_000)
        #expect(record.fallingTimestampCount == 1)
        #expect(record.afterEndCount == 1)
        let wrong = test.simulator.requests(RequestQuery(operation: .publish)).filter { !$0.reading.shapeErrors.isEmpty }
        #expect(wrong.map(\.reading.event) == [.start])
        await test.simulator.stop()
    }

    @Test("and channels are steered and read by control requests")
    func areControlled() async throws {
        let test = try await TestSimulator.start()
        let made = try await ControlTests.ask(
            test, "POST", "/channels", #"{"bundle_id":"com.example.app","environment":"sandbox","policy":0}"#)
        #expect(made.status == 201)
        let id = try #require(made.root?["channel_id"]?.string)
        let subscription = #"{"token":"\#(TestPush.token(1))","channel_id":"\#(id)","environment":"sandbox"}"#
        #expect(try await ControlTests.ask(test, "POST", "/subscriptions", subscription).status == 200)
        #expect(try await ControlTests.ask(test, "POST", "/subscriptions", #"{"count":5,"channel_id":"\#(id)"}"#).status == 200)
        #expect(try await ControlTests.ask(test, "POST", "/subscriptions", #"{"channel_id":"\#(id)"}"#).status == 400)
        #expect(try await test.connect(.sandbox).answer(to: test.publication(id, expiration: 0)).status == 200)
        let channels = try await ControlTests.ask(test, "GET", "/channels?bundle_id=com.example.app&environment=sandbox")
        let channel = try #require(channels.root?["channels"]?.elements.first)
        #expect(channel["subscribers"]?.integer == 6)
        #expect(channel["messages"]?.elements.first?["event"]?.string == "update")
        let delivered = try await ControlTests.ask(test, "GET", "/subscriptions?token=\(TestPush.token(1))")
        #expect(delivered.root?["subscriptions"]?.elements.first?["messages"]?.elements.count == 1)
        let quoted = String(id.flatMap { ["+": "%2B", "/": "%2F", "=": "%3D"][$0] ?? String($0) })
        #expect(try await ControlTests.ask(test, "DELETE", "/channels?channel_id=\(quoted)").status == 204)
        #expect(try await ControlTests.ask(test, "DELETE", "/channels?channel_id=\(quoted)").status == 404)
        await test.simulator.stop()
    }
}
