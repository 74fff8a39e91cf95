import HTTP
import JSON
import TestSupport
import Testing

@Suite("What Customer.io's SDKs send", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct IngestionTests {
    private static let pushToken = "c10c10c10c20"
    private static let instance = "01JDZ6V1Y8W3V5N7QK9X2M4R6T"
    private static let type = "io.customer.livenotifications.segments"

    private static func track(_ message: String, _ event: String, _ properties: String) -> String {
        #"{"type":"track","event":"\#(event)","messageId":"\#(message)","userId":"fan-9","#
            + #""context":{"device":{"token":"\#(pushToken)","type":"ios"}},"properties":{\#(properties)}}"#
    }
    private static let common = #""platform":"ios","deviceId":"\#(pushToken)","notificationType":"\#(type)""#
    private static let identify =
        #"{"type":"identify","messageId":"m-1","userId":"fan-9","traits":{"email":"fan@example.com"},"#
        + #""context":{"device":{"token":"\#(pushToken)","type":"ios"},"locale":"de-AT"}}"#
    private static let startToken = track(
        "m-2", "Live Notification Token",
        #""registrationType":"push_to_start","pushToStartToken":"c10c10c10c21","attributesType":"ScoreAttributes",\#(common)"#)
    private static let start = track(
        "m-3", "Live Notification Event",
        #""eventType":"start","cioInstanceId":"\#(instance)","attributes":{"a":1},"contentState":{"b":1},\#(common)"#)
    private static let updateToken = track(
        "m-4", "Live Notification Token",
        #""registrationType":"instance","cioInstanceId":"\#(instance)","instanceToken":"c10c10c10c22",\#(common)"#)
    private static let end = track(
        "m-5", "Live Notification Event", #""eventType":"end","cioInstanceId":"\#(instance)",\#(common)"#)
    private static let left = track("m-6", "Device Deleted", "")

    @Test("makes a device with its tokens and activity, ends it, and lets it go; twice is as good as once")
    func whole() async throws {
        try await Deployment.run { gateway in
            func tell(_ events: String...) async throws {
                for _ in 1...2 {
                    let answer = try await gateway.send(
                        "POST", "/v1/b", key: nil,
                        body: #"{"batch":[\#(events.joined(separator: ","))],"writeKey":"\#(gateway.app.clientKey)"}"#)
                    #expect(answer.status == 200, "\(answer.text)")
                }
            }
            try await tell(Self.identify, Self.startToken, Self.start, Self.updateToken)
            let known = try await gateway.send(
                "POST", "/v1/devices", key: gateway.app.restKey, body: #"{"push_token":"\#(Self.pushToken)","platform":"ios"}"#)
            #expect(known.status == 200)
            let id = try #require(known["subscription_id"])
            func device() async throws -> String {
                try await gateway.send("GET", "/v1/devices/\(id)", key: gateway.app.restKey).text
            }
            let before = try await device()
            for text in [#""fan-9""#, "fan@example.com", #""ScoreAttributes""#, Self.instance] {
                #expect(before.contains(text), "\(text) in \(before)")
            }
            try await tell(Self.end, Self.left)
            let after = try await device()
            for text in [#""fan-9""#, "fan@example.com"] { #expect(!after.contains(text), "\(text) in \(after)") }
            #expect(after.contains("ScoreAttributes"))
            let settings = try await gateway.send("GET", "/v1/projects/\(gateway.app.clientKey)/settings", key: nil)
            #expect(settings.status == 200)
        }
    }
}
