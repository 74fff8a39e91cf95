import APNsSimulator
import Foundation
import JSON
import Security
import TestSupport
import Testing

/// An app on Android, from its credentials to what the SDK on the phone reads.
@Suite("Android", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct AndroidTests {
    private static let type = "com.example.score"
    private static let token = "fcm:registration-token-1"

    /// A gateway whose app has an Android package and a service account that the simulator knows.
    private static func with(_ body: (Deployment) async throws -> Void) async throws {
        try await Deployment.run { gateway in
            let json = GoogleAccount.makeServiceAccount(projectID: "example-project")
            gateway.simulator.google.register(try #require(GoogleAccount(serviceAccount: json)))
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("account-\(UUID().uuidString).json")
            try Data(json).write(to: path)
            defer { try? FileManager.default.removeItem(at: path) }
            let changed = try await gateway.control(
                "app", "set", gateway.app.id, "--live-notifications", "on", "--android-package", "com.example.android",
                "--fcm-key-file", path.path)
            #expect(changed.status == 0, "\(changed.errors)")
            let registered =
                #"{"type":"track","event":"Live Notification Token","messageId":"\#(UUID().uuidString)","userId":"fan-1","#
                + #""context":{"device":{"token":"\#(token)","type":"android"}},"properties":{"registrationType":"push_to_start","#
                + #""notificationType":"\#(type)","platform":"android","deviceId":"\#(token)","pushToStartToken":"\#(token)"}}"#
            let answer = try await gateway.send(
                "POST", "/v1/b", key: nil, body: #"{"writeKey":"\#(gateway.app.clientKey)","batch":[\#(registered)]}"#)
            #expect(answer.status == 200, "\(answer.text)")
            try await body(gateway)
        }
    }

    private static func send(_ operation: String, _ gateway: Deployment, _ body: String) async throws -> String {
        let answer = try await gateway.send("POST", "/v1/live_notifications/\(operation)", key: gateway.app.restKey, body: body)
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(answer["instance_id"])
    }

    private static func start(_ gateway: Deployment) async throws -> String {
        try await send(
            "start", gateway,
            #"{"identifiers":{"id":"fan-1"},"notification_type":"\#(type)","platform":"android","attributes":{"home":"A"},"#
                + #""content_state":{"score":1.50},"push_payload":{"alert":{"title":"T","body":"B"}},"deep_link":"app://m"}"#)
    }

    /// Asks until the last delivery is as wanted.
    private static func poll(_ id: String, _ operation: String, _ status: String, _ gateway: Deployment) async throws {
        while true {
            let answer = try await gateway.send("GET", "/v1/live_notifications/\(id)", key: gateway.app.restKey)
            let delivery = answer.json?["last_delivery"]
            if delivery?["operation"]?.string == operation, delivery?["status"]?.string == status { return }
            if answer.status != 429 {
                try #require(answer.status == 200 && delivery?["status"]?.string != "failed", "\(answer.text)")
            }
        }
    }

    private static func data(_ message: GoogleMessage) throws -> JSONValue {
        try #require(try JSONDocument(parsing: message.body).root["message"]?["data"])
    }

    @Test("gets start, update and end as the messages that the SDK reads")
    func wholeLife() async throws {
        try await Self.with { gateway in
            let id = try await Self.start(gateway)
            try await Self.poll(id, "start", "sent", gateway)
            for operation in ["update", "end"] {
                _ = try await Self.send(operation, gateway, #"{"instance_id":"\#(id)","content_state":{"score":2}}"#)
                try await Self.poll(id, operation, "sent", gateway)
            }
            let messages = gateway.simulator.google.messages()
            #expect(messages.map(\.status) == [200, 200, 200] && messages.allSatisfy { $0.token == Self.token })
            let all = try messages.map { try Self.data($0) }
            #expect(all.map { $0["event"]?.string } == ["start", "update", "end"])
            #expect(all.allSatisfy { $0["cioInstanceId"]?.string == id && $0["notification_type"]?.string == Self.type })
            #expect(
                all.map { $0["payload"]?.string } == [
                    #"{"home":"A","score":1.50}"#, #"{"home":"A","score":2}"#, #"{"home":"A","score":2}"#,
                ])
            #expect(Set(all.compactMap { $0["CIO-Delivery-ID"]?.string }).count == 3)
            let times = all.compactMap { Int64($0["timestamp"]?.string ?? "") }
            #expect(times.count == 3 && times == times.sorted() && Set(times).count == 3)
            #expect(gateway.simulator.google.accessTokenCount == 1)
            #expect(gateway.simulator.statistics.tally.requestCount == 0, "nothing goes to Apple")
        }
    }

    @Test("is registered by the device routes too, and gets an activity of the OpenPush routes")
    func deviceRoutes() async throws {
        try await Self.with { gateway in
            let device = #""push_token":"\#(Self.token)-2","platform":"android""#
            func tell(_ path: String, _ members: String) async throws -> Answer {
                try await gateway.send("POST", path, key: gateway.app.clientKey, body: "{\(device)\(members)}")
            }
            let registered = try await tell("/v1/devices", #","external_id":"fan-2""#)
            #expect(registered.status == 201, "\(registered.text)")
            let start = #","activity_type":"Match","token":"\#(Self.token)-2""#
            #expect(try await tell("/v1/live-activities/start-tokens", start).status == 200)
            // The other device has a token of another type.
            let preview = try await gateway.send(
                "POST", "/v1/audiences/preview", key: gateway.app.restKey,
                body: #"{"activity_type":"Match","included_segments":["All"]}"#)
            #expect(preview.number("matched") == 2 && preview.number("reachable") == 1, "\(preview.text)")
            #expect(preview.text.contains(#""environments":{"production":0,"sandbox":0},"fcm":{"android":1,"ios":0},"#))
            let started = try await gateway.send(
                "POST", "/apps/\(gateway.app.id)/activities/activity/Match", key: gateway.app.restKey,
                body: #"{"event":"start","activity_id":"m","name":"n","event_attributes":{"home":"A"},"#
                    + #""event_updates":{"score":1.50},"#
                    + #""headings":{"en":"T"},"contents":{"en":"B"},"include_aliases":{"external_id":["fan-2"]}}"#)
            #expect(started.status == 201, "\(started.text)")
            _ = try await gateway.waitUntilFinished(try #require(started["id"]))
            let told = try await tell("/v1/live-activities/update-tokens", #","activity_id":"m","token":"\#(Self.token)-2""#)
            #expect(told.status == 200, "\(told.text)")
            // Answered once FCM accepted it.
            let updated = try await gateway.send(
                "POST", "/apps/\(gateway.app.id)/live_activities/m/notifications", key: gateway.app.restKey,
                body: #"{"event":"update","name":"n","event_updates":{"score":2}}"#)
            #expect(updated.status == 201, "\(updated.text)")
            let all = try gateway.simulator.google.messages().map { try Self.data($0) }
            #expect(all.map { $0["event"]?.string } == ["start", "update"])
            #expect(all.first?["payload"]?.string == #"{"home":"A","score":1.50}"#)
            #expect(try await tell("/v1/live-activities/clicks", #","activity_id":"m""#).status == 200)
            let id = try #require(registered["subscription_id"])
            let read = try await gateway.send("GET", "/v1/devices/\(id)", key: gateway.app.restKey)
            #expect(read["platform"] == "android")
            #expect(try await tell("/v1/live-activities/ends", #","activity_id":"m""#).status == 204)
        }
    }

    @Test("fails with FCM's reason, and loses a token that FCM calls dead")
    func deadToken() async throws {
        try await Self.with { gateway in
            gateway.simulator.google.declare(Self.token, .unregistered)
            let id = try await Self.start(gateway)
            while true {
                let answer = try await gateway.send("GET", "/v1/live_notifications/\(id)", key: gateway.app.restKey)
                if answer["state"] == "failed" {
                    #expect(answer.text.contains("FcmUnregistered"), "\(answer.text)")
                    break
                }
                try #require(answer.status == 200 || answer.status == 429, "\(answer.text)")
            }
            gateway.simulator.google.declare(Self.token, .valid)
            let again = try await Self.start(gateway)
            while true {
                let answer = try await gateway.send("GET", "/v1/live_notifications/\(again)", key: gateway.app.restKey)
                if answer["state"] == "failed" {
                    #expect(answer.text.contains("no eligible device"), "\(answer.text)")
                    break
                }
                try #require(answer.status == 200 || answer.status == 429, "\(answer.text)")
            }
            #expect(gateway.simulator.google.messages().count == 1)
        }
    }
}

/// An app without a key of Apple's: its iOS devices are reached through FCM.
@Suite("iOS behind FCM", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct RelayedTests {
    private static let type = "com.example.score"
    private static let token = "fcm:registration-token-ios"

    @Test("gets start, update and end with ActivityKit's tokens beside FCM's, the payload to the byte")
    func wholeLife() async throws {
        try await Deployment.run { gateway in
            let json = GoogleAccount.makeServiceAccount(projectID: "example-project")
            gateway.simulator.google.register(try #require(GoogleAccount(serviceAccount: json)))
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("account-\(UUID().uuidString).json")
            try Data(json).write(to: path)
            defer { try? FileManager.default.removeItem(at: path) }
            let created = try await gateway.control(
                "app", "create", "--name", "Relayed", "--bundle-id", "com.example.relayed", "--fcm-key-file", path.path)
            let app = try #require(created.answer?["app_id"]?.string)
            let key = try await gateway.control("key", "create", "--app", app, "--kind", "rest")
            let rest = try #require(key.answer?["key"]?.string)
            #expect(try await gateway.control("app", "set", app, "--live-notifications", "on").status == 0)

            func tell(_ properties: String) async throws {
                let event =
                    #"{"type":"track","event":"Live Notification Token","messageId":"\#(UUID().uuidString)","userId":"fan-1","#
                    + #""context":{"device":{"token":"\#(Self.token)","type":"ios"}},"properties":{"notificationType":"\#(Self.type)","#
                    + #""platform":"ios","deviceId":"\#(Self.token)",\#(properties)}}"#
                let answer = try await gateway.send(
                    "POST", "/v1/b", key: nil, body: #"{"writeKey":"\#(rest)","batch":[\#(event)]}"#)
                #expect(answer.status == 200, "\(answer.text)")
            }
            func send(_ operation: String, _ body: String) async throws -> String {
                let answer = try await gateway.send("POST", "/v1/live_notifications/\(operation)", key: rest, body: body)
                #expect(answer.status == 200, "\(answer.text)")
                return try #require(answer["instance_id"])
            }
            func messages(_ count: Int) async -> [GoogleMessage] {
                while gateway.simulator.google.messages().count < count { await Task.yield() }
                return gateway.simulator.google.messages()
            }
            try await tell(#""registrationType":"push_to_start","pushToStartToken":"0a0b","attributesType":"ScoreAttributes""#)
            let id = try await send(
                "start",
                #"{"identifiers":{"id":"fan-1"},"notification_type":"\#(Self.type)","attributes":{"home":"A"},"#
                    + #""content_state":{"score":1.50},"push_payload":{"alert":{"title":"T","body":"B"}}}"#)
            _ = await messages(1)
            try await tell(#""registrationType":"instance","cioInstanceId":"\#(id)","instanceToken":"0c0d""#)
            for (number, operation) in ["update", "end"].enumerated() {
                _ = try await send(operation, #"{"instance_id":"\#(id)","content_state":{"score":2.0}}"#)
                _ = await messages(number + 2)
            }
            let all = try await messages(3).map { try #require(try JSONDocument(parsing: $0.body).root["message"]) }
            #expect(all.allSatisfy { $0["token"]?.string == Self.token && $0["data"] == nil })
            #expect(all.map { $0["apns"]?["live_activity_token"]?.string } == ["0a0b", "0c0d", "0c0d"])
            let payloads = all.map { $0["apns"]?["payload"]?["aps"] }
            #expect(payloads.map { $0?["event"]?.string } == ["start", "update", "end"])
            #expect(payloads[0]?["attributes-type"]?.string == "ScoreAttributes")
            let states = payloads.map { String(decoding: $0?["content-state"]?.rawBytes ?? [], as: UTF8.self) }
            #expect(states[0].hasPrefix(#"{"score":1.50,"cioMetadata""#) && states[2].hasPrefix(#"{"score":2.0,"cioMetadata""#))
            #expect(gateway.simulator.statistics.tally.requestCount == 0, "nothing goes to Apple")
        }
    }
}
