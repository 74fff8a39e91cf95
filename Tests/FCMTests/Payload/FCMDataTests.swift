import Gateway
import JSON
import Testing

@testable import FCM

@Suite("FCM data") struct FCMDataTests {
    private static let instance = InstanceID(UUID(high: 1, low: 2))
    private static let delivery = InstanceID(UUID(high: 1, low: 3))

    private func content(
        _ event: ActivityEvent = .start, attributes: String? = "{}", state: String = "{}", mark: Bool = true, link: String? = nil,
        type: String? = nil
    ) -> PushContent {
        PushContent(
            event: event, attributesType: type, attributes: attributes.map { Array($0.utf8) }, contentState: Array(state.utf8),
            alerts: [], sound: nil, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10,
            instance: mark
                ? InstanceMark(
                    instance: Self.instance, delivery: Self.delivery, notificationType: "com.example.score", deepLink: link)
                : nil)
    }

    private func render(_ content: PushContent, alert: LocalizedAlert? = nil) -> String {
        String(
            decoding: FCMData().render(content, form: PayloadForm(service: .fcm), timestamp: 1_700_000_000, alert: alert),
            as: UTF8.self)
    }

    @Test("is what Customer.io's Android SDK reads, to the byte")
    func start() {
        let text = render(
            content(attributes: #"{"header":"H \"1\""}"#, state: #"{"status":"Go","endTime":1.70e9}"#, link: "app://x/1"),
            alert: LocalizedAlert(language: "en", title: "Title", body: "Body"))
        #expect(
            text == #"{"CIO-Delivery-ID":"\#(Self.delivery)","CIO-Delivery-Token":"\#(Self.delivery)","#
                + #""cioInstanceId":"\#(Self.instance)","event":"start","notification_type":"com.example.score","#
                + #""timestamp":"1700000000","payload":"{\"header\":\"H \\\"1\\\"\",\"status\":\"Go\",\"endTime\":1.70e9}","#
                + #""link":"app://x/1","title":"Title","body":"Body"}"#)
    }

    @Test("leaves the alert's texts out where the content has such names: the SDK would hand on the alert's for them")
    func alertBehindContent() throws {
        let alert = LocalizedAlert(language: "en", title: "Alert", body: "Text")
        let text = render(content(attributes: #"{"title":"A"}"#, state: #"{"score":1}"#), alert: alert)
        let data = try JSONDocument(parsing: Array(text.utf8)).root
        #expect(data["title"] == nil && data["body"]?.string == "Text")
        let other = try JSONDocument(parsing: Array(render(content(state: #"{"body":"B"}"#), alert: alert).utf8)).root
        #expect(other["title"]?.string == "Alert" && other["body"] == nil)
    }

    @Test("is counted as FCM counts: names and values, not what JSON puts around them")
    func counted() {
        let body = Array(#"{"payload":"{\"a\":\"\u00e9\"}"}"#.utf8)
        #expect(FCMData().countedByteCount(body, form: PayloadForm(service: .fcm)) == 7 + 10)
    }

    @Test("names the event", arguments: [(ActivityEvent.start, "start"), (.update, "update"), (.end, "end")])
    func events(event: ActivityEvent, name: String) throws {
        let data = try JSONDocument(parsing: Array(render(content(event)).utf8)).root
        #expect(data["event"]?.string == name)
        #expect(data["link"] == nil && data["title"] == nil && data["body"] == nil)
    }

    @Test("holds strings only, and every literal of the payload as it came")
    func literals() throws {
        let data = try JSONDocument(
            parsing: Array(render(content(attributes: #"{"a":1.50,"b":[1, 2]}"#, state: #"{"c":{"d":null},"e":"\u00e9"}"#)).utf8)
        ).root
        #expect(data.members.allSatisfy { $0.value.kind == .string })
        #expect(data["payload"]?.string == #"{"a":1.50,"b":[1, 2],"c":{"d":null},"e":"\u00e9"}"#)
    }

    @Test(
        "writes a name once, the content state's value where both have it",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"b":3,"c":4}"#, #"{"a":1,"b":3,"c":4}"#),
            (#"{"a":1,"a":2}"#, #"{"b":3,"b":4}"#, #"{"a":2,"b":4}"#), (#"{"\u0061":1}"#, #"{"a":2}"#, #"{"a":2}"#),
            // One letter and an accent are another name than the accented letter.
            ("{\"e\u{301}\":1}", "{\"\u{e9}\":2}", "{\"e\u{301}\":1,\"\u{e9}\":2}"), ("{}", "{}", "{}"),
        ])
    func flattening(attributes: String, state: String, payload: String) throws {
        let data = try JSONDocument(parsing: Array(render(content(attributes: attributes, state: state)).utf8)).root
        #expect(data["payload"]?.string.map { Array($0.utf8) } == Array(payload.utf8))
    }

    @Test("of another dialect has no keys of Customer.io's, but the type, the event and the content")
    func otherDialect() {
        #expect(
            render(content(.update, attributes: nil, state: #"{"a":1}"#, mark: false, type: "Score"))
                == #"{"event":"update","notification_type":"Score","timestamp":"1700000000","payload":"{\"a\":1}"}"#)
    }

    @Test("is counted as FCM counts: names and values, not the JSON around them")
    func counting() {
        #expect(FCMData.countedByteCount(Array(#"{"ab":"c\"d","e":""}"#.utf8)) == 2 + 3 + 1)
        #expect(FCMData.countedByteCount(Array(#"{"a":1}"#.utf8)) == nil)
        #expect(FCMData.countedByteCount(Array("[]".utf8)) == nil)
    }
}
