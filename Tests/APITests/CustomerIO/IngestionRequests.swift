import Gateway
import HTTP
import Observability
import Security

@testable import API

/// What SDKs send in tests.
enum Told {
    static let user = "fan-1"
    static let pushToken = "ab01"
    static let instance = "01JDZ6V1Y8W3V5N7QK9X2M4R6T"
    static let type = "io.customer.livenotifications.segments"
    static let context =
        #"{"device":{"token":"AB01","type":"ios","id":"x"},"app":{"version":"4.2","build":"7"},"os":{"name":"iOS","version":"18.1"},"#
        + #""locale":"de-AT","timezone":"Europe/Vienna"}"#

    /// A track event.
    static func track(_ event: String, _ properties: String = "{}", user: String? = user, more: String = "") -> String {
        let user = user.map { #","userId":"\#($0)""# } ?? #","anonymousId":"a-1""#
        return #"{"type":"track","event":"\#(event)","messageId":"m-1","properties":\#(properties)\#(user)\#(more)}"#
    }
    static func identify(_ traits: String = "{}", user: String? = user, context: String = context) -> String {
        let user = user.map { #","userId":"\#($0)""# } ?? ""
        return #"{"type":"identify","messageId":"m-1","anonymousId":"a-1","traits":\#(traits),"context":\#(context)\#(user)}"#
    }

    static let startProperties = Body([
        ("registrationType", #""push_to_start""#), ("notificationType", "\"\(type)\""), ("platform", #""ios""#),
        ("deviceId", "\"\(pushToken)\""), ("pushToStartToken", #""0C0d""#), ("attributesType", #""ScoreAttributes""#),
    ])
    static let updateProperties = startProperties.with("registrationType", #""instance""#).with("pushToStartToken", nil)
        .with("attributesType", nil).with("cioInstanceId", "\"\(instance)\"").with("instanceToken", #""0e0F""#)
    static let startedProperties = Body([
        ("eventType", #""start""#), ("cioInstanceId", "\"\(instance.lowercased())\""), ("deviceId", "\"\(pushToken)\""),
        ("platform", #""ios""#), ("notificationType", "\"\(type)\""), ("attributes", #"{"header":"A", "cioInstanceId":"x"}"#),
        ("contentState", #"{"status":1.0}"#),
    ])
    static let endedProperties = startedProperties.with("eventType", #""end""#).with("attributes", nil).with("contentState", nil)
    static let deliveredProperties = Body([
        ("metric", #""delivered""#), ("deliveryId", "\"\(instance)\""), ("recipient", "\"\(instance)\""),
    ])

    static func token(_ properties: Body = startProperties, user: String? = user) -> String {
        track("Live Notification Token", properties.text, user: user)
    }
    static func activity(_ properties: Body = startedProperties, user: String? = user, more: String = "") -> String {
        track("Live Notification Event", properties.text, user: user, more: more)
    }
    static func delivery(_ properties: Body = deliveredProperties, user: String? = user) -> String {
        track("Report Delivery Event", properties.text, user: user)
    }
}

extension TestAPI {
    static let clientKey = FakePorts.keys[.client] ?? ""

    /// Sends bytes as an SDK does.
    func tell(
        _ target: String, _ body: [UInt8], headers: [(String, String)] = [("content-type", "application/json; charset=utf-8")]
    ) async -> HTTPResponse {
        var fields: HTTPHeaders = [:]
        for (name, value) in headers { fields.append(name, value) }
        return await handler.respond(to: HTTPRequest(method: "POST", target: target, headers: fields, body: body))
    }

    /// Sends a batch with the key in its body.
    func tell(_ events: String..., key: String = clientKey, headers: [(String, String)] = []) async -> HTTPResponse {
        await tell(
            "/v1/b",
            Array(#"{"batch":[\#(events.joined(separator: ","))],"sentAt":"2027-01-15T08:00:00Z","writeKey":"\#(key)"}"#.utf8),
            headers: headers)
    }

    /// How many events became what.
    var outcomes: [EventOutcome: Int] {
        let counts = EventOutcome.allCases.map { outcome in
            (outcome, metrics.counter("openpush_customerio_events_total", labels: ["outcome": outcome.rawValue]).value)
        }
        return Dictionary(uniqueKeysWithValues: counts.filter { $0.1 > 0 })
    }
}
