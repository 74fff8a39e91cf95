import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("Broadcast channels", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct ChannelTests {
    private static func bytes(_ kind: String, _ number: Int) -> [UInt8] {
        Hexadecimal.decode(Deployment.token(kind, number)) ?? []
    }

    /// The member of `aps` of the latest start that a device got.
    private static func aps(_ gateway: Deployment, _ device: Int, _ member: String) throws -> JSONValue? {
        let request = try #require(gateway.simulator.requests(RequestQuery(token: bytes("start", device))).last?.request)
        return try JSONDocument(parsing: request.body).root["aps"]?[member]
    }

    @Test("one activity goes both ways: iOS 18 by channels, older ones by token, in both environments, from start to end")
    func bothWays() async throws {
        try await Deployment.run { gateway in
            for (number, version, environment) in [
                (1, "17.6", "production"), (2, "18.0", "production"), (3, "17.0", "sandbox"), (4, "26.1", "sandbox"),
            ] {
                try await gateway.registerDevice(number, os: version, environment: environment)
            }
            try await gateway.switchChannels()
            // A first start that goes to the sandbox has channels kept ready there as well.
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-0")["id"]))
            try await gateway.waitForFreeChannels(4)
            let start = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(start.number("accepted") == 4)
            let production = try #require(try await gateway.channel(of: "match-1"))
            let sandbox = try #require(try await gateway.channel(of: "match-1", in: "sandbox"))
            for (device, channel) in [(1, nil), (2, production), (3, nil), (4, sandbox)] as [(Int, String?)] {
                #expect(try Self.aps(gateway, device, "input-push-channel")?.string == channel)
                #expect(try Self.aps(gateway, device, "input-push-token")?.integer == (channel == nil ? 1 : nil))
            }
            let joined = try await gateway.send(
                "GET", "/v1/notifications/\(start["id"] ?? "")/deliveries", key: gateway.app.restKey)
            #expect(
                joined.json?["deliveries"]?.elements.map { $0["joined_channel"]?.bool } == [false, true, false, true])

            for device in [1, 3] { try await gateway.registerUpdateTokens(device...device, activity: "match-1") }
            let update = try await gateway.waitUntilFinished(try #require(try await gateway.push("update", "match-1")["id"]))
            let end = try await gateway.waitUntilFinished(try #require(try await gateway.push("end", "match-1")["id"]))
            for totals in [update, end] {
                #expect(totals.number("targeted") == 4)
                #expect(totals.number("accepted") == 4)
            }
            for device in [2, 4] {
                let channel = device == 2 ? production : sandbox
                let subscriptions = gateway.simulator.subscriptions(of: Self.bytes("start", device))
                    .filter { $0.channelID == channel }
                #expect(subscriptions.flatMap { $0.messages.map(\.event) } == [.update, .end])
            }
            for device in [1, 3] {
                let events = gateway.simulator.requests(RequestQuery(token: Self.bytes("update", device))).map(\.reading.event)
                #expect(events == [.update, .end])
            }
            let deliveries = try await gateway.send(
                "GET", "/v1/notifications/\(end["id"] ?? "")/deliveries", key: gateway.app.restKey)
            #expect(
                deliveries.json?["deliveries"]?.elements.map { $0["recipient"]?.string }
                    == ["channel", "channel", "device", "device"])
            #expect(gateway.simulator.requests().allSatisfy { $0.reading.shapeErrors.isEmpty })
            #expect(gateway.simulator.channels().allSatisfy { $0.fallingTimestampCount == 0 })
        }
    }

    @Test("go when their activity is over, and the pool makes others")
    func lifetime() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevice(1, os: "18.0")
            try await gateway.switchChannels()
            try await gateway.waitForFreeChannels()
            _ = try await gateway.start("match-1")
            let channel = try #require(try await gateway.channel(of: "match-1"))
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.push("end", "match-1")["id"]))
            try await gateway.letActivitiesAge()
            try await gateway.expectNoLeak(used: 0)
            #expect(gateway.simulator.channels().first { $0.identifier == channel }?.isDeleted == true)
            try await gateway.switchChannels("off")
            try await gateway.waitUntil("select count(*) = 0 from channel")
            #expect(gateway.liveChannels.isEmpty)
        }
    }

    @Test("are made on the spot for a start that finds none")
    func onTheSpot() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevice(1, os: "18.0", environment: "sandbox")
            try await gateway.switchChannels()
            // The app's own environment is production: nothing was ready in the other one.
            #expect(try await gateway.start("match-1").status == 201)
            #expect(try await gateway.channel(of: "match-1", in: "sandbox") != nil)
            #expect(try await gateway.channel(of: "match-1") != nil)
        }
    }

    @Test("are done without while Apple's management is out of reach, and come back")
    func outOfReach() async throws {
        try await Deployment.run { gateway in
            try await gateway.simulator.changeSettings { $0.takesManagement = false }
            try await gateway.registerDevice(1, os: "18.0")
            try await gateway.switchChannels()
            let start = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(start.number("accepted") == 1)
            #expect(try Self.aps(gateway, 1, "input-push-token")?.integer == 1)
            #expect(try await gateway.channel(of: "match-1") == nil)
            try await gateway.waitForLog("A start goes on with update tokens only")
            let metrics = try await gateway.send("GET", "/metrics", key: nil)
            #expect(metrics.text.contains("openpush_channel_starts_without_total 1"))
            try await gateway.simulator.changeSettings { $0.takesManagement = true }
            try await gateway.waitForFreeChannels()
            #expect(try await gateway.start("match-2").status == 201)
            #expect(try await gateway.channel(of: "match-2") != nil)
        }
    }

    @Test("are told to a device that joins a running activity, which then gets what all get")
    func joins() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevice(1, os: "18.0")
            try await gateway.switchChannels()
            try await gateway.waitForFreeChannels()
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            _ = try await gateway.push("update", "match-1")
            try await gateway.registerDevice(2, os: "18.4")
            let answer = try await gateway.send(
                "POST", "/v1/activities/match-1/subscribe", key: gateway.app.clientKey,
                body: #"{"push_token":"\#(Deployment.token("device", 2))"}"#)
            #expect(answer.status == 200)
            let channel = try #require(answer["channel_id"])
            #expect(try await gateway.channel(of: "match-1") == channel)
            // The app begins the activity with this channel; Apple has kept the latest state.
            #expect(gateway.simulator.subscribe(Self.bytes("start", 2), to: channel, environment: .production))
            _ = try await gateway.push("update", "match-1", state: #"{"score":2}"#)
            let messages = gateway.simulator.subscriptions(of: Self.bytes("start", 2)).flatMap(\.messages)
            #expect(messages.map(\.number) == [1, 2])
            try await gateway.waitUntil("select count(*) = 1 from channel_member")
        }
    }

    @Test("let devices on them report taps and receipts of the start and of what the channel gets")
    func reports() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevice(1, os: "18.0")
            try await gateway.switchChannels()
            try await gateway.waitForFreeChannels()
            let start = try #require(try await gateway.start("match-1")["id"])
            _ = try await gateway.waitUntilFinished(start)
            #expect(try await gateway.channel(of: "match-1") != nil)
            let begun = try await gateway.tap(1, activity: "match-1")
            #expect(begun.status == 200 && begun["notification_id"] == start, "\(begun.text)")
            let update = try #require(try await gateway.push("update", "match-1")["id"])
            _ = try await gateway.waitUntilFinished(update)
            for named in [update, nil] {
                let tapped = try await gateway.tap(1, activity: "match-1", notification: named)
                #expect(tapped.status == 200 && tapped["notification_id"] == update, "\(tapped.text)")
            }
            let device = try await gateway.send(
                "POST", "/v1/devices", key: gateway.app.clientKey,
                body: #"{"push_token":"\#(Deployment.token("device", 1))","platform":"ios"}"#)
            let report =
                #""app_id":"\#(gateway.app.id)","player_id":"\#(try #require(device["subscription_id"]))","device_type":0,"#
                + #""live_activity_id":"match-1","live_activity_type":"\#(Deployment.activityType)""#
            for notification in [start, update] {
                let receipt = try await gateway.send(
                    "PUT", "/notifications/\(notification)/report_received", key: gateway.app.clientKey, body: "{\(report)}")
                #expect(receipt.status == 200, "\(receipt.text)")
            }
            let click = try await gateway.send(
                "POST", "/apps/\(gateway.app.id)/live_activities/match-1/click", key: gateway.app.clientKey,
                body: #"{\#(report),"click_id":"6f0f3d5e-7d9c-4c1b-8a4b-1d2e3f405162","notificationId":"\#(update)"}"#)
            #expect(click.status == 200 && click["notification_id"] == update, "\(click.text)")
            let message = try await gateway.send(
                "GET", "/notifications/\(update)?app_id=\(gateway.app.id)", key: gateway.app.restKey)
            #expect(message.number("received") == 1 && message.number("converted") == 1, "\(message.text)")
            #expect(try await gateway.summary(of: update).number("clicks") == 3)
        }
    }

    @Test("leave their room in what a preview measures: what it says fits is accepted, and one byte more is not")
    func previewedSize() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevice(1, os: "18.0")
            try await gateway.switchChannels()
            func content(_ count: Int) -> String {
                #""event_attributes":{"home":"A"},"event_updates":{"p":"\#(String(repeating: "x", count: count))"},"#
                    + #""headings":{"en":"Go"},"contents":{"en":"Now"},"included_segments":["All"]"#
            }
            func preview(_ count: Int) async throws -> Int64 {
                let answer = try await gateway.send(
                    "POST", "/v1/audiences/preview", key: gateway.app.restKey,
                    body: #"{"activity_type":"\#(Deployment.activityType)",\#(content(count))}"#)
                #expect(answer.status == 200, "\(answer.text)")
                return try #require(answer.number("payload_bytes"))
            }
            func start(_ count: Int, _ activity: String) async throws -> Answer {
                try await gateway.send(
                    "POST", "/apps/\(gateway.app.id)/activities/activity/\(Deployment.activityType)", key: gateway.app.restKey,
                    body: #"{"event":"start","activity_id":"\#(activity)","name":"n",\#(content(count))}"#)
            }
            let fitting = try await 4_096 - Int(preview(0))
            #expect(try await preview(fitting) == 4_096)
            #expect(try await start(fitting, "fits").status == 201)
            #expect(try await preview(fitting + 1) == 4_097)
            let refused = try await start(fitting + 1, "does-not")
            #expect(refused.status == 400 && refused.text.contains("4097"), "\(refused.text)")
        }
    }

    @Test("of others with the same key are left alone and counted")
    func foreign() async throws {
        try await Deployment.run { gateway in
            let foreign = gateway.simulator.makeChannel(bundleID: Deployment.bundleID, environment: .production)
            try await gateway.switchChannels()
            try await gateway.waitForFreeChannels()
            #expect(gateway.liveChannels.count == 3)
            try await gateway.waitUntil("select count(*) = 1 from channel where state = 4 and channel_id = '\(foreign)'")
            let deadline = ContinuousClock.now + .seconds(30)
            var metrics = ""
            while !metrics.contains(#"state="foreign"} 1"#), ContinuousClock.now < deadline {
                metrics = try await gateway.send("GET", "/metrics", key: nil).text
            }
            #expect(metrics.contains("openpush_channels_left{"))
            #expect(gateway.simulator.requests(RequestQuery(operation: .delete)).isEmpty)
        }
    }

    @Test("that Apple has lost stop updates of nobody else")
    func lost() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevice(1, os: "17.0")
            try await gateway.switchChannels()
            try await gateway.waitForFreeChannels()
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            gateway.simulator.deleteChannel(try #require(try await gateway.channel(of: "match-1")))
            let update = try await gateway.waitUntilFinished(try #require(try await gateway.push("update", "match-1")["id"]))
            #expect(update.number("accepted") == 1)
            #expect(update.json?["reasons"]?["ChannelNotRegistered"]?.integer == 1)
            let next = try await gateway.waitUntilFinished(try #require(try await gateway.push("update", "match-1")["id"]))
            #expect(next.number("targeted") == 1)
            #expect(next.number("accepted") == 1)
            #expect(try await gateway.channel(of: "match-1") == nil)
        }
    }
}
