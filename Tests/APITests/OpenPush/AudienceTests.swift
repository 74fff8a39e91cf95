import Gateway
import HTTP
import Testing

@testable import API

@Suite("A preview") struct AudienceTests {
    private let api = TestAPI()
    private static let body = Body([("activity_type", #""Game""#), ("included_segments", #"["All"]"#)])
    private static let counts =
        #"{"matched":21,"reachable":12,"environments":{"production":6,"sandbox":1},"fcm":{"android":3,"ios":2},"#
        + #""unreachable":{"no_token":3,"disabled":3,"wrong_environment":1,"token_removed":2},"unknown_entries":2"#

    @Test("says who matches, who would be reached and why the others would not")
    func counts() async {
        let response = await api.send("POST", "/v1/audiences/preview", Self.body.text)
        #expect(response.status == 200)
        #expect(response.text == Self.counts + #","payload":null,"payload_bytes":null,"payload_limit":4096}"#)
        #expect(api.ports.with { $0.previewTypes } == ["Game"])
        #expect(api.ports.with { $0.admittedCalls == 0 && $0.starts.isEmpty })
    }

    @Test("shows the body that would be pushed, and its size")
    func renders() async {
        api.ports.with { $0.bodyText = #"{"aps":{}}"# }
        let content = Self.body.with("event_attributes", #"{"home":"A"}"#).with("event_updates", #"{"score":0}"#)
            .with("headings", #"{"en":"Go"}"#).with("contents", #"{"en":"Now"}"#)
        let response = await api.send("POST", "/v1/audiences/preview", content.text)
        #expect(response.text == Self.counts + #","payload":{"aps":{}},"payload_bytes":10,"payload_limit":4096}"#)
    }

    @Test("measures the body with room for a channel where a start would be measured so", arguments: [false, true])
    func measures(usesChannels: Bool) async {
        api.ports.with { $0.hasBroadcastChannels = usesChannels }
        let content = Self.body.with("event_attributes", #"{"home":"A"}"#).with("event_updates", #"{"score":0}"#)
        _ = await api.send("POST", "/v1/audiences/preview", content.text)
        let room = String(repeating: "=", count: 64)
        #expect(api.ports.with { $0.forms } == [PayloadForm(service: .apnsProduction, channelID: usesChannels ? room : nil)])
    }

    @Test(
        "names what is wrong",
        arguments: [
            ("activity_type", nil, "activity_type"), ("included_segments", nil, "targeting"), ("surprise", "1", "surprise"),
            ("event_updates", #"{"score":0}"#, "event_updates"), ("event_attributes", #"{"a":0}"#, "event_attributes"),
            ("event_updates", "{}", "event_updates"), ("filters", "[]", "included_segments"),
        ] as [(String, String?, String)])
    func malformed(name: String, literal: String?, field: String) async {
        let response = await api.send("POST", "/v1/audiences/preview", Self.body.with(name, literal).text)
        #expect(response.status == 400)
        #expect(response.field == field, "\(response.text)")
    }

    @Test("is refused for segments that do not exist")
    func unknownSegments() async {
        api.ports.with { $0.preview = .unknownSegments(["All"]) }
        let response = await api.send("POST", "/v1/audiences/preview", Self.body.text)
        #expect(response.status == 400 && response.field == "included_segments")
    }

    @Test("in OneSignal's shape counts all devices that match")
    func countUnsaved() async {
        let body = Body([
            ("app_id", "\"\(TestAPI.app)\""), ("include_aliases", #"{"external_id":["a"]}"#), ("target_channel", #""push""#),
        ])
        let response = await api.send("POST", "/notifications/count-unsaved", body.text)
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"count":21,"uncapped_count":null,"cap_applied":false,"mobile_suppressed":false,"mobile_excluded_count":0}"#)
        #expect(api.ports.with { $0.previewTypes } == [nil])
        let other = await api.send(
            "POST", "/notifications/count-unsaved", body.with("app_id", "\"\(TestAPI.identifier)\"").text)
        #expect(other.status == 403)
        #expect(other.text == #"{"errors":["The key does not belong to this app."]}"#)
        let wrong = await api.send("POST", "/notifications/count-unsaved", body.with("target_channel", #""email""#).text)
        #expect(wrong.status == 400 && wrong.errorTexts == [#"target_channel: must be "push""#])
    }
}
