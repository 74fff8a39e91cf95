import HTTP
import Testing

@testable import APNsSimulator

@Suite("Channel management", .timeLimit(.minutes(1))) struct ChannelManagementTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: Reason
        /// Spoils a request for the channel that exists.
        let make: @Sendable (TestSimulator, String) -> TestPush

        init(_ reason: Reason, _ description: String, _ make: @escaping @Sendable (TestSimulator, String) -> TestPush) {
            testDescription = description
            self.reason = reason
            self.make = make
        }
    }

    static let rows: [Row] = [
        Row(.badPath, "another path") { test, _ in
            var call = test.creation()
            call.path = "/1/apps/com.example.app/topics"
            return call
        },
        Row(.badPath, "a push to a device") { test, _ in test.push() },
        Row(.methodNotAllowed, "PUT") { test, _ in
            var call = test.creation()
            call.method = "PUT"
            return call
        },
        Row(.methodNotAllowed, "POST to the list") { test, _ in
            var call = test.listing()
            call.method = "POST"
            return call
        },
        Row(.duplicateHeaders, "two channels") { test, id in
            var call = test.reading(id)
            call.headers.append(("apns-channel-id", id))
            return call
        },
        Row(.missingProviderToken, "no authorization") { test, _ in test.creation().with("authorization", nil) },
        Row(.invalidProviderToken, "a bad signature") { test, _ in
            test.creation().with("authorization", test.authorization + "AA")
        },
        Row(.badMessageID, "a request id that is no UUID") { test, _ in test.creation().with("apns-request-id", "1") },
        Row(.payloadEmpty, "no body") { test, _ in test.creation().with(body: "") },
        Row(.badRequestPayload, "a body that is no JSON") { test, _ in test.creation().with(body: "{") },
        Row(.badRequestParameters, "policy 2") { test, _ in test.creation(policy: 2) },
        Row(.missingPushType, "no push type") { test, _ in test.creation().with(body: #"{"message-storage-policy":1}"#) },
        Row(.invalidPushType, "the push type of a push") { test, _ in
            test.creation().with(body: #"{"message-storage-policy":1,"push-type":"liveactivity"}"#)
        },
        Row(.missingChannelID, "no channel to read") { test, id in test.reading(id).with("apns-channel-id", nil) },
        Row(.missingChannelID, "no channel to delete") { test, id in test.deletion(id).with("apns-channel-id", nil) },
        Row(.badChannelID, "a channel that is no base64") { test, _ in test.reading("?") },
        Row(.badChannelID, "a channel that never was, to read") { test, _ in test.reading("AAAAAAAAAAAAAAAAAAAAAA==") },
        Row(.badPath, "a channel that never was, to delete") { test, _ in test.deletion("AAAAAAAAAAAAAAAAAAAAAA==") },
    ]

    @Test("refuses as Apple does", arguments: rows)
    func refuses(row: Row) async throws {
        let test = try await TestSimulator.start()
        let id = test.simulator.makeChannel(bundleID: TestSimulator.bundleID, environment: .production)
        let client = try await test.connectToManagement()
        let answer = try await client.answer(to: row.make(test, id))
        #expect(answer == .init(status: row.reason.status, body: #"{"reason":"\#(row.reason.rawValue)"}"#))
        #expect(test.simulator.channels().map(\.isDeleted) == [false])
        await test.simulator.stop()
    }

    @Test("creates, reads, lists and deletes, each environment for itself")
    func manages() async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connectToManagement()
        #expect(try await client.answer(to: test.listing()).body == #"{"channels":[]}"#)
        #expect(try await client.answer(to: test.creation(policy: 0)) == .init(status: 201, body: ""))
        let first = try test.newestChannel
        #expect(first.utf8.count == 24)
        #expect(try await client.answer(to: test.creation(policy: 1)).status == 201)
        let second = try test.newestChannel
        #expect(
            try await client.answer(to: test.reading(first)).body
                == #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
        #expect(try await client.answer(to: test.listing()).body == #"{"channels":["\#(first)","\#(second)"]}"#)
        let sandbox = try await test.connectToManagement(.sandbox)
        #expect(try await sandbox.answer(to: test.listing()).body == #"{"channels":[]}"#)
        #expect(try await sandbox.answer(to: test.deletion(first)).status == 404)

        #expect(try await client.answer(to: test.deletion(first)) == .init(status: 204, body: ""))
        #expect(try await client.answer(to: test.listing()).body == #"{"channels":["\#(second)"]}"#)
        #expect(try await client.answer(to: test.deletion(first)) == .init(status: 404, body: #"{"reason":"BadPath"}"#))
        #expect(try await client.answer(to: test.reading(first)).body == #"{"reason":"ChannelNotRegistered"}"#)
        await test.simulator.stop()
    }

    @Test("answers with the identifier and the request's own number in header fields")
    func answersInHeaders() {
        let answer = PushAnswer(status: 201, headers: ["apns-channel-id": "AA=="])
        let response = AppleResponse.response(for: answer, messageID: "m", environment: .sandbox, isOfChannels: true)
        #expect(response.headers["apns-channel-id"] == "AA==")
        #expect(response.headers["apns-request-id"] == "m")
        #expect(response.headers["apns-id"] == nil)
        #expect(response.body.isEmpty)
    }

    @Test("makes no more channels than an app may have, and new ones once others are gone")
    func boundsChannels() async throws {
        let test = try await TestSimulator.start { $0.settings.channelLimit = 2 }
        let client = try await test.connectToManagement()
        for _ in 0..<2 { #expect(try await client.answer(to: test.creation()).status == 201) }
        #expect(try await client.answer(to: test.creation()).body == #"{"reason":"CannotCreateChannelConfig"}"#)
        #expect(try await client.answer(to: test.deletion(test.newestChannel)).status == 204)
        #expect(try await client.answer(to: test.creation()).status == 201)
        #expect(SimulatorSettings().channelLimit == 10_000)
        await test.simulator.stop()
    }

    @Test("says in either spelling that the capability is missing", arguments: [false, true])
    func knowsBothSpellings(isDocumented: Bool) async throws {
        let test = try await TestSimulator.start {
            $0.settings.broadcastIsEnabled = false
            $0.settings.spellsReasonsAsDocumented = isDocumented
        }
        let reason = isDocumented ? "FeatureNotEnabled" : "BroadcastFeatureNotEnabled"
        let answer = try await test.connectToManagement().answer(to: test.creation())
        #expect(answer == .init(status: 400, body: #"{"reason":"\#(reason)"}"#))
        #expect(test.simulator.channels().isEmpty)
        await test.simulator.stop()
    }

    @Test("takes a key for its own apps only")
    func bindsKeys() async throws {
        let test = try await TestSimulator.start { $0.keys[0].bundleIDs = ["com.example.other"] }
        let answer = try await test.connectToManagement().answer(to: test.creation())
        #expect(answer == .init(status: 403, body: #"{"reason":"TopicMismatch"}"#))
        await test.simulator.stop()
    }

    @Test("carries a request out that it never answers, and not one that a script refuses")
    func scripts() async throws {
        let test = try await TestSimulator.start()
        var silent = Rule(Rule.Effect())
        silent.condition.operation = .create
        silent.condition.count = 1
        silent.effect.isSilent = true
        var refusing = Rule(.answer(.internalServerError))
        refusing.condition.operation = .create
        refusing.condition.after = 1
        test.simulator.add([silent, refusing])
        let client = try await test.connectToManagement()
        // The first connection may have one stream; a list before them opens it up.
        #expect(try await client.answer(to: test.listing()).status == 200)
        _ = try await client.first { $0.settings[3] == 1000 }
        try await client.send([test.creation()])
        #expect(try await client.answer(to: test.creation()).status == 500)
        #expect(test.simulator.channels().count == 1)
        #expect(test.simulator.requests(RequestQuery(operation: .create)).map(\.outcome).first == .unanswered)
        await test.simulator.stop()
    }

    @Test("ends its connections while it is out of reach, and pushes go on")
    func isOutOfReach() async throws {
        let test = try await TestSimulator.start()
        try await test.simulator.changeSettings { $0.takesManagement = false }
        let failed = try await test.connectToManagement()
        await failed.waitUntilClosed()
        #expect(try await test.connect().answer(to: test.push()).status == 200)
        try await test.simulator.changeSettings { $0.takesManagement = true }
        #expect(try await test.connectToManagement().answer(to: test.creation()).status == 201)
        await test.simulator.stop()
    }
}
