import HTTP
import Security
import Testing

@testable import APNsSimulator

@Suite("Answers", .timeLimit(.minutes(1))) struct AnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int
        let reason: String?
        let spoil: @Sendable (inout TestPush) -> Void

        init(_ reason: Reason?, _ description: String, _ spoil: @escaping @Sendable (inout TestPush) -> Void) {
            testDescription = description
            status = reason?.status ?? 200
            self.reason = reason?.rawValue
            self.spoil = spoil
        }
    }

    static let rows: [Row] = [
        Row(nil, "a good push") { _ in },
        Row(nil, "an ordinary alert") {
            $0 = $0.with("apns-push-type", "alert").with("apns-topic", "com.example.app").with(body: #"{"aps":{"alert":"Hi"}}"#)
        },
        Row(nil, "only what must be there") {
            $0.headers = $0.headers.filter { ["authorization", "apns-topic"].contains($0.0) }
        },
        Row(nil, "a token of 32 bytes") { $0.path = "/3/device/" + String(repeating: "ab", count: 32) },
        Row(nil, "upper case in token and id") {
            $0.path = "/3/device/" + String(repeating: "AB", count: 80)
            $0 = $0.with("apns-id", "123E4567-E89B-12D3-A456-426655440000")
        },
        Row(.methodNotAllowed, "GET") { $0.method = "GET" },
        Row(.badPath, "another path") { $0.path = "/2/device/\(TestPush.token(1))" },
        Row(.badPath, "something behind the token") { $0.path += "/x" },
        Row(.missingDeviceToken, "no token") { $0.path = "/3/device/" },
        Row(.missingDeviceToken, "no token and no slash") { $0.path = "/3/device" },
        Row(.duplicateHeaders, "two topics") { $0.headers.append(("apns-topic", "com.example.app")) },
        Row(.missingProviderToken, "no authorization") { $0 = $0.with("authorization", nil) },
        Row(.missingProviderToken, "basic authorization") { $0 = $0.with("authorization", "basic QTpC") },
        Row(.invalidProviderToken, "no token behind bearer") { $0 = $0.with("authorization", "bearer x.y.z") },
        Row(.badMessageID, "an id that is no UUID") { $0 = $0.with("apns-id", "123e4567e89b12d3a456426655440000") },
        Row(.badExpirationDate, "an expiration in words") { $0 = $0.with("apns-expiration", "tomorrow") },
        Row(.badExpirationDate, "a negative expiration") { $0 = $0.with("apns-expiration", "-1") },
        Row(.badPriority, "priority 7") { $0 = $0.with("apns-priority", "7") },
        Row(.badPriority, "priority 1 of a Live Activity") { $0 = $0.with("apns-priority", "1") },
        Row(.badCollapseID, "a collapse id of 65 bytes") { $0 = $0.with("apns-collapse-id", String(repeating: "c", count: 65)) },
        Row(nil, "a collapse id of 64 bytes") { $0 = $0.with("apns-collapse-id", String(repeating: "c", count: 64)) },
        Row(.invalidPushType, "an unknown push type") { $0 = $0.with("apns-push-type", "liveActivity") },
        Row(.missingTopic, "no topic") { $0 = $0.with("apns-topic", nil) },
        Row(.badTopic, "a topic with a space") { $0 = $0.with("apns-topic", "com example") },
        Row(.topicDisallowed, "a topic without the suffix") { $0 = $0.with("apns-topic", "com.example.app") },
        Row(.topicDisallowed, "a topic with the suffix twice") {
            $0 = $0.with("apns-topic", "com.example.app.push-type.liveactivity.push-type.liveactivity")
        },
        Row(.topicDisallowed, "an alert to the topic of activities") { $0 = $0.with("apns-push-type", "alert") },
        Row(.payloadEmpty, "no body") { $0.body = [] },
        Row(nil, "4096 bytes") { $0.body += [UInt8](repeating: 0x20, count: 4096 - $0.body.count) },
        Row(.payloadTooLarge, "4097 bytes") { $0.body += [UInt8](repeating: 0x20, count: 4097 - $0.body.count) },
        Row(.payloadTooLarge, "100 kB") { $0.body += [UInt8](repeating: 0x20, count: 10_000) },
        Row(.badDeviceToken, "an odd number of digits") { $0.path += "0" },
        Row(.badDeviceToken, "no digits") { $0.path = "/3/device/zz" },
        Row(.badDeviceToken, "all zeros") { $0.path = "/3/device/" + String(repeating: "0", count: 64) },
        Row(.badTopic, "both a bad topic and a dead token: the token comes last") {
            $0 = $0.with("apns-topic", "?")
            $0.path = "/3/device/00"
        },
        Row(.invalidProviderToken, "both a bad signature and a dead token: the signature comes first") {
            $0.path = "/3/device/00"
            $0 = $0.with("authorization", $0.headers[0].1 + "AA")
        },
    ]

    @Test("are Apple's", arguments: rows)
    func areApples(row: Row) async throws {
        let test = try await TestSimulator.start()
        let client = try await test.connect()
        var push = test.push()
        row.spoil(&push)
        let answer = try await client.answer(to: push)
        let body = row.reason.map { #"{"reason":"\#($0)"}"# } ?? ""
        #expect(answer == FrameClient.Answer(status: row.status, body: body))
        let recorded = try #require(test.simulator.requests().first)
        #expect(recorded.outcome == .answered(status: row.status, reason: row.reason))
        await test.simulator.stop()
    }

    @Test("say when a token was lost, in milliseconds")
    func datesLostTokens() async throws {
        let test = try await TestSimulator.start()
        let tokens = (1...4).map { [UInt8(0x80)] + [UInt8](repeating: 0, count: 78) + [UInt8($0)] }
        test.simulator.declare([
            DeviceTokenDeclaration(tokens[0], in: .production, state: .unregistered(since: 1_700_000_000_123)),
            DeviceTokenDeclaration(tokens[1], in: .production, state: .expired(since: 1_700_000_000_456)),
            DeviceTokenDeclaration(tokens[2], in: .production, state: .wrongTopic),
            DeviceTokenDeclaration(tokens[3], in: .production, state: .bad),
        ])
        let client = try await test.connect()
        var answers: [FrameClient.Answer] = []
        for number in 1...4 { answers.append(try await client.answer(to: test.push(token: number))) }
        #expect(
            answers == [
                .init(status: 410, body: #"{"reason":"Unregistered","timestamp":1700000000123}"#),
                .init(status: 410, body: #"{"reason":"ExpiredToken","timestamp":1700000000456}"#),
                .init(status: 400, body: #"{"reason":"DeviceTokenNotForTopic"}"#),
                .init(status: 400, body: #"{"reason":"BadDeviceToken"}"#),
            ])
        await test.simulator.stop()
    }

    @Test("keep the environments apart")
    func keepsEnvironmentsApart() async throws {
        let test = try await TestSimulator.start()
        let production = try await test.connect()
        let sandbox = try await test.connect(.sandbox)
        #expect(try await production.answer(to: test.push()).status == 200)
        #expect(try await sandbox.answer(to: test.push()).body == #"{"reason":"BadDeviceToken"}"#)
        try await test.simulator.changeSettings { $0.acceptsUnknownTokens = false }
        #expect(try await sandbox.answer(to: test.push(token: 2)).body == #"{"reason":"BadDeviceToken"}"#)
        await test.simulator.stop()
    }
}
