import APNsSimulator
import HTTP
import JSON
import TestSupport
import Testing

@Suite("Segments", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct SegmentTests {
    private static let home = #"[{"field":"tag","key":"club","relation":"=","value":"home"}]"#
    private static let away = #"[{"field":"tag","key":"club","relation":"=","value":"away"}]"#

    @Test("are made, listed, read, changed and removed, and starts go to whom they name at that moment")
    func live() async throws {
        try await Deployment.run { gateway in
            let key = gateway.app.restKey
            try await gateway.registerDevices(1...3, more: #","tags":{"club":"home"}"#)
            try await gateway.registerDevices(4...5, more: #","tags":{"club":"away"}"#)
            let made = try await gateway.send(
                "POST", "/v1/segments", key: key, body: #"{"name":"Fans","description":"ours","filters":\#(Self.home)}"#)
            #expect(made.status == 201, "\(made.text)")
            let id = try #require(made["id"])
            let read = try await gateway.send("GET", "/v1/segments/\(id)", key: key)
            #expect(read.number("devices") == 3 && read["description"] == "ours", "\(read.text)")
            let listed = try await gateway.send("GET", "/apps/\(gateway.app.id)/segments", key: key)
            #expect(listed.number("total_count") == 1, "\(listed.text)")
            let changed = try await gateway.send(
                "PATCH", "/apps/\(gateway.app.id)/segments/\(id)", key: key, body: #"{"filters":\#(Self.away)}"#)
            #expect(changed.status == 200, "\(changed.text)")
            let start = try await gateway.start("match-1", targeting: #""included_segments":["Fans"]"#)
            _ = try await gateway.waitUntilFinished(try #require(start["id"]))
            #expect(Set(gateway.pushes().keys) == Set((4...5).map { Deployment.token("start", $0) }))
            #expect(try await gateway.send("DELETE", "/v1/segments/\(id)", key: key).status == 204)
            #expect(try await gateway.send("GET", "/v1/segments/\(id)", key: key).status == 404)
            #expect(try await gateway.start("match-2", targeting: #""included_segments":["Fans"]"#).status == 400)
        }
    }

    @Test("and every other targeting can be previewed: who would be reached and with which body, and nothing is sent")
    func preview() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            // A device without a start token.
            let third = try await gateway.send(
                "POST", "/v1/devices", key: gateway.app.clientKey, body: #"{"push_token":"0c0d","platform":"ios"}"#)
            #expect(third.status == 201)
            let content =
                #""event_attributes":{"home":"A"},"event_updates":{"score":0},"headings":{"en":"Go"},"#
                + #""contents":{"en":"Now"}"#
            let preview = try await gateway.send(
                "POST", "/v1/audiences/preview", key: gateway.app.restKey,
                body: #"{"activity_type":"\#(Deployment.activityType)","included_segments":["All"],\#(content)}"#)
            #expect(preview.status == 200, "\(preview.text)")
            #expect(preview.number("matched") == 3 && preview.number("reachable") == 2)
            #expect(preview.json?["unreachable"]?["no_token"]?.integer == 1)
            let body = try #require(preview.json?["payload"])
            #expect(body["aps"]?["alert"]?["title"]?.string == "Go")
            #expect(preview.number("payload_bytes") == Int64(body.rawBytes.count))
            #expect(gateway.pushes().isEmpty)
            // The real one is as large.
            let start = try await gateway.send(
                "POST", "/apps/\(gateway.app.id)/activities/activity/\(Deployment.activityType)", key: gateway.app.restKey,
                body: #"{"event":"start","activity_id":"m","name":"n","included_segments":["All"],\#(content)}"#)
            let id = try #require(start["id"], "\(start.text)")
            #expect(try await gateway.waitUntilFinished(id).number("accepted") == 2)
            #expect(gateway.simulator.requests().last?.request?.body.count == body.rawBytes.count)

            let count = try await gateway.send(
                "POST", "/notifications/count-unsaved", key: gateway.app.restKey,
                body: #"{"app_id":"\#(gateway.app.id)","include_aliases":{"external_id":["user-1","nobody"]}}"#)
            #expect(count.status == 200 && count.number("count") == 1, "\(count.text)")
        }
    }
}
