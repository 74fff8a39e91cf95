import APNsSimulator
import HTTP
import JSON
import PostgreSQL
import Security
import TestSupport
import Testing

/// Campaigns as an operator and a backend see them, with their channel at Apple's.
@Suite("Broadcast campaigns", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct BroadcastCampaignTests {
    private static func bytes(_ kind: String, _ number: Int) -> [UInt8] {
        Hexadecimal.decode(Deployment.token(kind, number)) ?? []
    }

    private static func aps(_ gateway: Deployment, _ kind: String, _ number: Int) throws -> JSONValue {
        let request = try #require(gateway.simulator.requests(RequestQuery(token: bytes(kind, number))).last?.request)
        return try #require(try JSONDocument(parsing: request.body).root["aps"])
    }

    /// Waits until so many notifications are stored and all of them have finished.
    private static func waitForNotifications(_ count: Int, _ gateway: Deployment) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let finished = try await gateway.withSession {
                try await $0.queryUnprepared("select count(*) from fan_out where finished_at is not null", [])
                    .int64(row: 0, column: 0)
            }
            if finished == Int64(count) { return }
            guard ContinuousClock.now < deadline else {
                throw RunningProgram.Failure(description: "\(finished) of \(count) finished\n\(gateway.daemon.errors)")
            }
        }
    }

    @Test("run a match: start, updates and end, by the channel for iOS 18 and by token for what is older")
    func match() async throws {
        try await Deployment.run { gateway in
            let made = try await gateway.createCampaign("match")
            let channel = try #require(made)
            try await gateway.registerDevices(1...1, more: #","os_version":"17.6""#)
            try await gateway.registerDevices(2...2, more: #","os_version":"18.1""#)
            // It begins the activity by itself, outside of any audience.
            #expect(gateway.simulator.subscribe(Self.bytes("start", 9), to: channel, environment: .production))

            let start = try await gateway.broadcast(
                "start", Deployment.broadcastBody("match", isStart: true, alert: #","subtitle":"Kick-off","sound":"default""#))
            let instance = try #require(start.json?["data"]?["instance_id"]?.string, "\(start.text)")
            #expect(instance.wholeMatch(of: /[0-9]{13}-[0-9a-f]{8}/) != nil)
            try await Self.waitForNotifications(1, gateway)
            let (old, new) = (try Self.aps(gateway, "start", 1), try Self.aps(gateway, "start", 2))
            #expect(old["input-push-token"]?.integer == 1 && old["input-push-channel"] == nil)
            #expect(new["input-push-channel"]?.string == channel && new["input-push-token"] == nil)
            for aps in [old, new] {
                #expect(aps["attributes-type"]?.string == Deployment.activityType)
                #expect(aps["attributes"]?["home"]?.string == "A")
                let told = aps["attributes"]?["moengage"]
                #expect(told?["moe_campaign_name"]?.string == "match" && told?["app_id"]?.string == gateway.app.id)
                #expect(aps["content-state"]?["moengage"]?["moe_instance_id"]?.string == instance)
                #expect(aps["alert"]?["subtitle"]?.string == "Kick-off" && aps["alert"]?["sound"]?.string == "default")
            }

            try await gateway.registerUpdateTokens(1...1, activity: instance)
            for score in 1...4 {
                let update = try await gateway.broadcast("update", Deployment.broadcastBody("match", score: score))
                #expect(update.text == #"{"data":{"instance_id":"\#(instance)","message":"success"}}"#)
                try await Self.waitForNotifications(1 + score, gateway)
            }
            let body =
                #"{"broadcast_live_activity_id":"match","instance_id":"\#(instance)","ios":{"content_state":{"score":4},"#
                + #""alert":{"title":"Over","body":{"loc-key":"OVER"}},"dismissal_date":1}}"#
            #expect(try await gateway.broadcast("end", body).status == 200)
            try await Self.waitForNotifications(6, gateway)

            for device in [2, 9] {
                let messages = gateway.simulator.subscriptions(of: Self.bytes("start", device)).flatMap(\.messages)
                #expect(messages.map(\.event) == [.update, .update, .update, .update, .end], "device \(device)")
            }
            let events = gateway.simulator.requests(RequestQuery(token: Self.bytes("update", 1))).map(\.reading.event)
            #expect(events == [.update, .update, .update, .update, .end])
            let last = try #require(gateway.simulator.channels().first?.messages.last)
            let aps = try #require(try JSONDocument(parsing: last.payload).root["aps"])
            #expect(aps["alert"]?["body"]?["loc-key"]?.string == "OVER" && aps["dismissal-date"]?.integer == 1)
            #expect(gateway.simulator.requests().allSatisfy { $0.reading.shapeErrors.isEmpty })
        }
    }

    @Test("take the cards away at the dismissal date by themselves, by channel and by token")
    func dismissal() async throws {
        try await Deployment.run { gateway in
            let channel = try #require(try await gateway.createCampaign("match"))
            try await gateway.registerDevices(1...1, more: #","os_version":"17.6""#)
            #expect(gateway.simulator.subscribe(Self.bytes("start", 9), to: channel, environment: .production))
            let start = try await gateway.broadcast(
                "start", Deployment.broadcastBody("match", isStart: true, score: 3, more: #","dismissal_date":9000000000"#))
            let instance = try #require(start.json?["data"]?["instance_id"]?.string, "\(start.text)")
            try await Self.waitForNotifications(1, gateway)
            try await gateway.registerUpdateTokens(1...1, activity: instance)

            try await gateway.execute("update broadcast_instance set dismissal_date = unix_seconds(now()) - 1")
            try await Self.waitForNotifications(2, gateway)
            #expect(gateway.simulator.requests(RequestQuery(token: Self.bytes("update", 1))).map(\.reading.event) == [.end])
            let last = try #require(gateway.simulator.channels().first?.messages.last)
            let root = try JSONDocument(parsing: last.payload).root["aps"]
            #expect(root?["event"]?.string == "end" && root?["content-state"]?["score"]?.integer == 3)
            #expect(root?["dismissal-date"]?.integer != nil && root?["alert"] == nil)
            let late = try await gateway.broadcast("update", Deployment.broadcastBody("match", score: 4))
            #expect(late.status == 403 && late.text.contains("Dismissal date is already passed"), "\(late.text)")
        }
    }

    @Test("use one channel for one instance after the other, with states that rise")
    func instances() async throws {
        try await Deployment.run { gateway in
            let made = try await gateway.createCampaign("match")
            let channel = try #require(made)
            try await gateway.registerDevices(1...1, more: #","os_version":"18.1""#)
            for instance in ["first", "second"] {
                for (operation, isStart) in [("start", true), ("update", false), ("end", false)] {
                    let body = Deployment.broadcastBody("match", instance: instance, isStart: isStart)
                    let answer = try await gateway.broadcast(operation, body)
                    #expect(answer.status == 200, "\(answer.text)")
                }
            }
            try await Self.waitForNotifications(6, gateway)
            let record = try #require(gateway.simulator.channels().first)
            #expect(record.identifier == channel && record.fallingTimestampCount == 0 && !record.isDeleted)
            #expect(record.messages.last?.event == .end)
            #expect(gateway.simulator.channels().count == 1)
        }
    }

    @Test("are created, listed and removed by openpushctl, and their channel is made and deleted with them")
    func administration() async throws {
        try await Deployment.run { gateway in
            let created = try await gateway.control(
                "campaign", "create", "--app", gateway.app.id, "--name", "Final", "--live-activity-id", "match")
            #expect(created.status == 0, "\(created.errors)")
            let id = try #require(created.answer?["campaign_id"]?.string)
            var channel: String?
            let deadline = ContinuousClock.now + .seconds(60)
            while channel == nil, ContinuousClock.now < deadline {
                let listed = try await gateway.control("campaign", "list", "--app", gateway.app.id)
                let campaign = try #require(listed.answer?["campaigns"]?.elements.first)
                #expect(campaign["campaign_id"]?.string == id && campaign["broadcast_live_activity_id"]?.string == "match")
                channel = campaign["channels"]?.string.flatMap { $0 == "-" ? nil : $0 }
            }
            let live = try #require(gateway.simulator.channels().first)
            #expect(channel == "production:\(live.identifier)")
            #expect(try await gateway.broadcast("start", Deployment.broadcastBody(id, isStart: true)).status == 200)
            let refused = try await gateway.control("campaign", "remove", "--app", gateway.app.id, "--campaign", id)
            #expect(refused.status == 65 && refused.errors.contains("end it first"))
            #expect(try await gateway.broadcast("end", Deployment.broadcastBody("match")).status == 200)
            let removed = try await gateway.control("campaign", "remove", "--app", gateway.app.id, "--campaign", "match")
            #expect(removed.status == 0, "\(removed.errors)")
            while gateway.simulator.channels().contains(where: { !$0.isDeleted }), ContinuousClock.now < deadline {
                try await gateway.execute("select 1")
            }
            let isEachDeleted = gateway.simulator.channels().allSatisfy { $0.isDeleted }
            #expect(isEachDeleted)
            let unknown = try await gateway.control("campaign", "remove", "--app", gateway.app.id, "--campaign", "match")
            #expect(unknown.status == 65)
        }
    }

    @Test("get their channel later when Apple's management is out of reach, by the same request")
    func outOfReach() async throws {
        try await Deployment.run { gateway in
            try await gateway.simulator.changeSettings { $0.takesManagement = false }
            await #expect(throws: RunningProgram.Failure.self) { try await gateway.createCampaign("match") }
            try await gateway.simulator.changeSettings { $0.takesManagement = true }
            var channel: String?
            let deadline = ContinuousClock.now + .seconds(60)
            while channel == nil, ContinuousClock.now < deadline {
                try await gateway.execute("delete from campaign_rate_limit")
                channel = try? await gateway.createCampaign("match")
            }
            let live = gateway.simulator.channels().filter { !$0.isDeleted }
            let made = try #require(channel)
            #expect(live.map(\.identifier) == [made])
        }
    }

    @Test("leak no channel over a crash that loses Apple's answer")
    func crash() async throws {
        try await Deployment.run { gateway in
            var rule = Rule(Rule.Effect())
            rule.condition.operation = .create
            rule.condition.count = 1
            rule.effect.isHeld = true
            gateway.simulator.add([rule])
            let created = try await gateway.control(
                "campaign", "create", "--app", gateway.app.id, "--name", "Final", "--live-activity-id", "match")
            #expect(created.status == 0, "\(created.errors)")
            _ = await gateway.simulator.waitForRequests(1, matching: RequestQuery(operation: .create), timeout: .seconds(60))
            try await gateway.crashDaemon()
            await gateway.simulator.release()
            // What the dead daemon was about to do is over.
            try await gateway.execute(
                """
                update channel set busy_until = now() - interval '1 second' where busy_until is not null;
                update channel_place set kept_until = '-infinity', listing_until = '-infinity',
                    listed_at = now() - interval '1 hour'
                """)
            try await gateway.startDaemon()
            var channel: String?
            let deadline = ContinuousClock.now + .seconds(60)
            while channel == nil, ContinuousClock.now < deadline {
                let listed = try await gateway.control("campaign", "list", "--app", gateway.app.id)
                channel = listed.answer?["campaigns"]?.elements.first?["channels"]?.string.flatMap { $0 == "-" ? nil : $0 }
            }
            while gateway.simulator.channels().count(where: { !$0.isDeleted }) > 1, ContinuousClock.now < deadline {
                try await gateway.execute("select 1")
            }
            let live = gateway.simulator.channels().filter { !$0.isDeleted }
            let made = try #require(channel)
            #expect(live.map { "production:\($0.identifier)" } == [made])
        }
    }
}
