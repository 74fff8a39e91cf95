import APNsSimulator
import Foundation
import HTTP
import JSON
import PostgreSQL
import TestSupport
import Testing

/// Customer.io's own end-to-end check (github.com/customerio/mobile-e2e), with its polling: what an app that embeds the SDK, and its
/// backend, do.
@Suite("Customer.io's Live Notifications", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct CustomerIOTests {
    private static let segments = "io.customer.livenotifications.segments"
    private static let email = "maestro+e2e-1@cio.test"

    private static func with(_ body: (Deployment) async throws -> Void) async throws {
        try await Deployment.run { gateway in
            let changed = try await gateway.control("app", "set", gateway.app.id, "--live-notifications", "on")
            #expect(changed.status == 0, "\(changed.errors)")
            try await body(gateway)
        }
    }

    /// One batch of the SDK: the user is told, then the events.
    private static func tell(_ events: [String], _ gateway: Deployment) async throws {
        let device = Deployment.token("device", 1)
        let common = #""userId":"\#(email)","context":{"device":{"token":"\#(device)","type":"ios"},"locale":"de-DE"}"#
        let told = events.enumerated().map { number, event in
            #"{"type":"track","messageId":"\#(UUID().uuidString)","timestamp":"\#(Date.now.ISO8601Format())",\#(common),\#(event)}"#
        }
        let identify = #"{"type":"identify","messageId":"\#(UUID().uuidString)","traits":{"first_name":"A"},\#(common)}"#
        let body = #"{"writeKey":"\#(gateway.app.clientKey)","batch":[\#(([identify] + told).joined(separator: ","))]}"#
        let answer = try await gateway.send("POST", "/v1/b", key: nil, body: body)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private static func tokenEvent(_ properties: String) -> String {
        let device = Deployment.token("device", 1)
        return #""event":"Live Notification Token","properties":{"platform":"ios","deviceId":"\#(device)",\#(properties)}"#
    }

    private static func lifecycleEvent(_ type: String, _ id: String) -> String {
        let device = Deployment.token("device", 1)
        return """
            "event":"Live Notification Event","properties":{"eventType":"\(type)","cioInstanceId":"\(id)","deviceId":"\(device)",\
            "platform":"ios","notificationType":"\(segments)","attributes":{"header":"H"},"contentState":{"status":"S"}}
            """
    }

    private static func registerForStart(_ gateway: Deployment) async throws {
        let token = Deployment.token("start", 1)
        try await tell(
            [
                tokenEvent(
                    """
                    "registrationType":"push_to_start","notificationType":"\(segments)","pushToStartToken":"\(token)",\
                    "attributesType":"CIOSegmentsAttributes"
                    """)
            ], gateway)
    }

    private static func state(_ complete: Int) -> String {
        #"{"status":"On its way","substatus":"Soon","segmentsTotal":3,"segmentsComplete":\#(complete),"trailingText":"\#(complete)/3"}"#
    }

    /// Asks until the instance is as the check wants it; fails on what the check stops at.
    private static func poll(
        _ id: String, state: String, operation: String, status: String = "sent", source: String = "api", _ gateway: Deployment
    ) async throws {
        while true {
            let answer = try await gateway.send("GET", "/v1/live_notifications/\(id)", key: gateway.app.restKey)
            if answer.status == 429 { continue }
            try #require(answer.status == 200, "\(answer.text)")
            let delivery = answer.json?["last_delivery"]
            if answer["state"] == state, delivery?["operation"]?.string == operation, delivery?["status"]?.string == status {
                #expect(delivery?["source"]?.string == source)
                return
            }
            try #require(answer["state"] != "failed" && delivery?["status"]?.string != "failed", "\(answer.text)")
        }
    }

    private static func startBody(_ more: String = "") -> String {
        """
        {"identifiers":{"email":"\(email)"},"notification_type":"\(segments)","platform":"ios","attributes":{"header":"Order"},\
        "content_state":\(state(1)),"expiration":\(Int(Date.now.timeIntervalSince1970) + 3_600),\
        "push_payload":{"alert":{"title":"T","body":"B","sound":"default"}},"deep_link":"app://order"\(more)}
        """
    }

    @Test("are not pushed any more once they have expired, also when nobody could push them before")
    func expiredUnpushed() async throws {
        try await Self.with { gateway in
            try await Self.registerForStart(gateway)
            try await gateway.simulator.changeSettings { $0.listens = false }
            let start = try await gateway.send(
                "POST", "/v1/live_notifications/start", key: gateway.app.restKey,
                body: Self.startBody(",\"expiration\":\(Int(Date.now.timeIntervalSince1970) + 2)"))
            let id = try #require(start["instance_id"], "\(start.text)")
            // A newcomer after the expiry must not push it either.
            await gateway.daemon.crash()
            while true {
                let expired = try await gateway.withSession {
                    try await $0.queryUnprepared("select expires_at <= unix_seconds(clock_timestamp()) from live_instance", [])
                        .bool(row: 0, column: 0)
                }
                if expired { break }
            }
            try await gateway.simulator.changeSettings { $0.listens = true }
            try await gateway.startDaemon()
            try await Self.waitUntilFinished(gateway)
            #expect(gateway.simulator.requests().isEmpty)
            let answer = try await gateway.send("GET", "/v1/live_notifications/\(id)", key: gateway.app.restKey)
            // It reached nobody.
            #expect(answer["state"] == "failed", "\(answer.text)")
            #expect(answer.json?["last_delivery"]?["status"]?.string == "failed", "\(answer.text)")
        }
    }

    /// Waits until every fan-out has finished.
    private static func waitUntilFinished(_ gateway: Deployment) async throws {
        while true {
            let open = try await gateway.withSession {
                try await $0.queryUnprepared("select count(*) from fan_out where finished_at is null", []).int64(
                    row: 0, column: 0)
            }
            if open == 0 { return }
        }
    }

    @Test("pass its own check: start, poll to active and sent, update, end, poll to ended")
    func passesCheck() async throws {
        try await Self.with { gateway in
            try await Self.registerForStart(gateway)
            let start = try await gateway.send(
                "POST", "/v1/live_notifications/start", key: gateway.app.restKey, body: Self.startBody())
            #expect(start.status == 200, "\(start.text)")
            let id = try #require(start["instance_id"])
            #expect(id.count == 26)
            try await Self.poll(id, state: "active", operation: "start", gateway)

            try await Self.tell(
                [
                    Self.tokenEvent(
                        """
                        "registrationType":"instance","notificationType":"\(Self.segments)","cioInstanceId":"\(id)",\
                        "instanceToken":"\(Deployment.token("update", 1))"
                        """)
                ], gateway)
            for (operation, complete, state) in [("update", 2, "active"), ("end", 3, "ended")] {
                let answer = try await gateway.send(
                    "POST", "/v1/live_notifications/\(operation)", key: gateway.app.restKey,
                    body: #"{"instance_id":"\#(id)","content_state":\#(Self.state(complete)),"deep_link":"app://order/2"}"#)
                #expect(answer.status == 200 && answer["instance_id"] == id, "\(answer.text)")
                try await Self.poll(id, state: state, operation: operation, gateway)
            }
            let pushes = gateway.simulator.requests().compactMap(\.request).map { String(decoding: $0.body, as: UTF8.self) }
            #expect(pushes.count == 3)
            #expect(pushes.first?.contains(#""attributes-type":"CIOSegmentsAttributes""#) == true)
            #expect(pushes.first?.contains(#""attributes":{"header":"Order","cioInstanceId":"\#(id)"}"#) == true)
            #expect(pushes.first?.contains(#""input-push-token":1"#) == true)
            #expect(pushes.allSatisfy { $0.contains(#""cioMetadata":{"deliveryId":""#) })
            #expect(pushes.last?.contains(#""deepLink":"app://order/2""#) == true)
            let after = try await gateway.send(
                "POST", "/v1/live_notifications/update", key: gateway.app.restKey,
                body: #"{"instance_id":"\#(id)","content_state":\#(Self.state(3))}"#)
            #expect(after.status == 400 && after.json?["meta"]?["error"]?.string?.contains("ended") == true, "\(after.text)")
        }
    }

    @Test("show what the app did by itself, with the device as its source")
    func tellsOfDevice() async throws {
        try await Self.with { gateway in
            try await Self.registerForStart(gateway)
            let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
            try await Self.tell([Self.lifecycleEvent("start", id)], gateway)
            try await Self.poll(id, state: "active", operation: "start", source: "device", gateway)
            try await Self.tell([Self.lifecycleEvent("end", id)], gateway)
            try await Self.poll(id, state: "ended", operation: "end", source: "device", gateway)
            #expect(gateway.simulator.requests().isEmpty)
        }
    }

    @Test("fail with 'no eligible device' for a profile nobody can be started of")
    func failsForNobody() async throws {
        try await Self.with { gateway in
            let start = try await gateway.send(
                "POST", "/v1/live_notifications/start", key: gateway.app.restKey, body: Self.startBody())
            let id = try #require(start["instance_id"])
            let answer = try await gateway.send("GET", "/v1/live_notifications/\(id)", key: gateway.app.restKey)
            #expect(answer.status == 200 && answer["state"] == "failed", "\(answer.text)")
            #expect(answer["failure_reason"]?.contains("no eligible device") == true)
        }
    }

    @Test("are not there until the app has them, and one app's are not another's")
    func needsSwitch() async throws {
        try await Deployment.run { gateway in
            let start = try await gateway.send(
                "POST", "/v1/live_notifications/start", key: gateway.app.restKey, body: Self.startBody())
            #expect(start.status == 404 && start.json?["meta"]?["error"]?.string != nil, "\(start.text)")

            let other = try await gateway.createApp()
            for app in [gateway.app.id, other.id] {
                #expect(try await gateway.control("app", "set", app, "--live-notifications", "on").status == 0)
            }
            let mine = try await gateway.send(
                "POST", "/v1/live_notifications/start", key: gateway.app.restKey, body: Self.startBody())
            let id = try #require(mine["instance_id"])
            for (key, status) in [(gateway.app.readKey, 200), (other.restKey, 404), (gateway.app.clientKey, 403)] {
                let answer = try await gateway.send("GET", "/v1/live_notifications/\(id)", key: key)
                #expect(answer.status == status, "\(answer.text)")
            }
        }
    }
}
