import Gateway
import HTTP
import Observability
import Testing

@testable import API

@Suite("A database that fails") struct StorageFailureTests {
    /// A valid request of every route that needs the database.
    static let requests: [(method: String, target: String, body: Body)] = [
        ("POST", TestAPI.startPath, .start), ("POST", TestAPI.pushPath, .update),
        (
            "POST", "/apps/\(TestAPI.app)/segments",
            Body([("name", #""F""#), ("filters", #"[{"field":"country","relation":"exists"}]"#)])
        ),
        ("GET", "/apps/\(TestAPI.app)/segments", Body([])), ("GET", "/v1/segments/\(TestAPI.identifier)", Body([])),
        ("PATCH", "/v1/segments/\(TestAPI.identifier)", Body([])), ("DELETE", "/v1/segments/\(TestAPI.identifier)", Body([])),
        ("POST", "/v1/audiences/preview", Body([("activity_type", #""T""#), ("included_segments", #"["All"]"#)])),
        ("POST", "/v1/devices", .device),
        (
            "POST", "/v1/live-activities/update-tokens",
            Body([("push_token", #""ab""#), ("activity_id", #""m""#), ("token", #""ab""#)])
        ),
        (
            "POST", "/v1/live-activities/start-tokens",
            Body([("push_token", #""ab""#), ("activity_type", #""T""#), ("token", #""ab""#)])
        ),
        ("DELETE", "/v1/live-activities/start-tokens", Body([("push_token", #""ab""#), ("activity_type", #""T""#)])),
        ("POST", "/v1/live-activities/clicks", Body([("push_token", #""ab""#), ("activity_id", #""m""#)])),
        ("POST", "/v1/live-activities/ends", Body([("push_token", #""ab""#), ("activity_id", #""m""#)])),
        ("POST", "/v1/activities/m/subscribe", Body([("push_token", #""ab""#)])),
        ("GET", "/v1/notifications", Body([])), ("GET", "/v1/notifications/\(TestAPI.identifier)", Body([])),
        ("GET", "/v1/activities/m", Body([])), ("GET", "/v1/activities", Body([])),
        ("GET", "/v1/devices/\(TestAPI.identifier)", Body([])), ("GET", "/v1/stats", Body([])),
        ("GET", "/v1/devices/\(TestAPI.identifier)/pushes", Body([])),
        ("GET", "/v1/notifications/\(TestAPI.identifier)/deliveries", Body([])),
        ("GET", "/notifications/\(TestAPI.identifier)?app_id=\(TestAPI.app)", Body([])),
        ("POST", "/v1/live_notifications/start", .liveStart), ("POST", "/v1/live_notifications/update", .liveUpdate),
        ("POST", "/v1/live_notifications/end", .liveUpdate), ("GET", "/v1/live_notifications/types", Body([])),
        ("PATCH", "/v1/live_notifications/types/a", Body([("friendly_name", "null")])),
        ("GET", "/v1/live_notifications?profile=id:1", Body([])),
        ("GET", "/v1/live_notifications/01JZ6Q8W3N4T5V6X7Y8Z9A0B1C", Body([])),
        ("GET", "/v1/live_notifications/01JZ6Q8W3N4T5V6X7Y8Z9A0B1C/deliveries", Body([])),
    ]

    private static func message(_ text: String, for target: String) -> String {
        if target.hasSuffix("/segments") { return #"{"success":false,"errors":["\#(text)"]}"# }
        if target.hasPrefix("/v1/live_notifications") { return #"{"meta":{"error":"\#(text)"}}"# }
        return !target.hasPrefix("/v1/") ? #"{"errors":["\#(text)"]}"# : #"{"detail":"\#(text)"}"#
    }

    @Test("is answered 503 in the shape of the route when it is away", arguments: requests)
    func unavailable(method: String, target: String, body: Body) async {
        for isBehindDirectory in [true, false] {
            let api = TestAPI()
            api.ports.with {
                if isBehindDirectory { $0.failureBehindDirectory = .unavailable } else { $0.failure = .unavailable }
            }
            let response = await api.send(method, target, body.text)
            #expect(response.status == 503)
            #expect(response.headers["retry-after"] == "1")
            #expect(response.text == Self.message("The service is temporarily unavailable. Try again.", for: target))
        }
    }

    @Test("is answered 500 without details, and logged with its state, when it refuses", arguments: requests)
    func refused(method: String, target: String, body: Body) async {
        let api = TestAPI()
        api.ports.with { $0.failureBehindDirectory = .refused(sqlState: "23514") }
        let response = await api.send(method, target, body.text)
        #expect(response.status == 500)
        #expect(response.text == Self.message("The server failed to do this.", for: target))
        #expect(api.log.all.contains { $0.contains("sql_state=23514") })
    }

    @Test("never makes keys or tokens appear in an answer, a log line or a metric", arguments: requests)
    func secrets(method: String, target: String, body: Body) async {
        let token = "5ec2e7" + String(repeating: "0f", count: 29)
        let state = #"{"private":"p4yl04d"}"#
        var body = body
        for field in ["push_token", "token", "device_id"] where body.text.contains("\"\(field)\"") {
            body = body.with(field, "\"\(token)\"")
        }
        for field in ["event_updates", "content_state"] where body.text.contains(field) { body = body.with(field, state) }
        for failure in [nil, StorageError.unavailable, .refused(sqlState: "XX000")] {
            let api = TestAPI()
            api.ports.with { $0.failureBehindDirectory = failure }
            for text in [body.text, body.with("x", "1").text, String(body.text.dropLast())] {
                let response = await api.send(method, target, text)
                let everything =
                    ([response.text] + api.log.all).joined() + String(decoding: api.metrics.prometheusText(), as: UTF8.self)
                for secret in [token, "p4yl04d", FakePorts.keys[.rest] ?? ""] { #expect(!everything.contains(secret)) }
            }
        }
    }
}
