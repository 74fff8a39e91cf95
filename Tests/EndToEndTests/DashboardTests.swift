import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("A dashboard", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct DashboardTests {
    @Test("reads one device with its activities and pushes, and totals with their click-through")
    func readsDevice() async throws {
        try await Deployment.run { gateway in
            let key = gateway.app.restKey
            let registered = try await gateway.send(
                "POST", "/v1/devices", key: gateway.app.clientKey,
                body: #"{"push_token":"\#(Deployment.token("device", 1))","platform":"ios","language":"de"}"#)
            let id = try #require(registered["subscription_id"])
            try await gateway.registerDevices(1...2)
            let start = try #require(try await gateway.start("match-1")["id"])
            _ = try await gateway.waitUntilFinished(start)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let update = try #require(try await gateway.push("update", "match-1")["id"])
            _ = try await gateway.waitUntilFinished(update)
            #expect(try await gateway.tap(1, activity: "match-1").status == 200)

            let device = try await gateway.send("GET", "/v1/devices/\(id)", key: key)
            #expect(device.status == 200, "\(device.text)")
            #expect(device["external_id"] == "user-1" && device["language"] == "de")
            #expect(device.json?["start_tokens"]?.elements.first?["activity_type"]?.string == Deployment.activityType)
            #expect(device.json?["activities"]?.elements.first?["activity_id"]?.string == "match-1")
            for kind in ["device", "start", "update"] { #expect(!device.text.contains(Deployment.token(kind, 1)), "\(kind)") }
            let pushes = try await gateway.send("GET", "/v1/devices/\(id)/pushes", key: key)
            #expect(
                pushes.json?["pushes"]?.elements.compactMap { $0["notification_id"]?.string } == [update, start],
                "\(pushes.text)")
            #expect(pushes.json?["pushes"]?.elements.first?["taps"]?.integer == 1)

            let statistics = try await gateway.send("GET", "/v1/stats?by=event", key: key)
            let groups = statistics.json?["groups"]?.elements ?? []
            let updates = groups.first { $0["event"]?.string == "update" }
            #expect(groups.count == 2 && updates?["accepted"]?.integer == 1, "\(statistics.text)")
            #expect(updates?["click_through"]?.double == 1)
            // A client key reads nothing, of its own device neither.
            let asClient = try await gateway.send("GET", "/v1/devices/\(id)", key: gateway.app.clientKey)
            #expect(asClient.status == 403)
        }
    }

    @Test("reads a row a device with the apns-id that APNs got, the chart, the activities, and OneSignal's view")
    func reads() async throws {
        try await Deployment.run { gateway in
            let key = gateway.app.restKey
            try await gateway.registerDevices(1...5)
            let start = try #require(try await gateway.start("match-1")["id"])
            _ = try await gateway.waitUntilFinished(start)
            #expect(try await gateway.tap(2, activity: "match-1").status == 200)
            #expect(try await gateway.tap(2, activity: "match-1").status == 200)

            var rows: [JSONValue] = []
            var cursor = ""
            repeat {
                let page = try await gateway.send(
                    "GET", "/v1/notifications/\(start)/deliveries?limit=2\(cursor)", key: key)
                #expect(page.status == 200, "\(page.text)")
                rows += page.json?["deliveries"]?.elements ?? []
                cursor = page["next_cursor"].map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(Set(rows.compactMap { $0["subscription_id"]?.string }).count == 5)
            #expect(rows.allSatisfy { $0["outcome"]?.string == "accepted" })
            #expect(rows.compactMap { $0["taps"]?.integer }.sorted() == [0, 0, 0, 0, 2])
            let sent = gateway.simulator.requests().compactMap { $0.request?.headers["apns-id"] }
            #expect(Set(rows.compactMap { $0["apns_id"]?.string }) == Set(sent) && sent.count == 5)
            let asReader = try await gateway.send(
                "GET", "/v1/notifications/\(start)/deliveries", key: gateway.app.readKey)
            #expect(asReader.status == 403)

            let chart = try await gateway.send("GET", "/v1/notifications/\(start)?per=minute", key: key)
            let minutes = try #require(chart.json?["minutes"]?.elements)
            #expect(minutes.compactMap { $0["accepted"]?.integer }.reduce(0, +) == 5)
            #expect(minutes.compactMap { $0["clicked_devices"]?.integer }.reduce(0, +) == 1)

            let activities = try await gateway.send("GET", "/v1/activities", key: key)
            #expect(activities.json?["activities"]?.elements.first?["activity_id"]?.string == "match-1")

            let message = try await gateway.send("GET", "/notifications/\(start)?app_id=\(gateway.app.id)", key: key)
            #expect(message.status == 200, "\(message.text)")
            #expect(message.number("successful") == 5 && message.number("converted") == 1)
            #expect(message.number("remaining") == 0 && message.number("completed_at") != nil)
        }
    }
}
