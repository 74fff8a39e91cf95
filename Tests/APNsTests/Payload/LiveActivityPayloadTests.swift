import Gateway
import JSON
import Testing

@testable import APNs

@Suite("Live Activity payload") struct LiveActivityPayloadTests {
    static let state = Array(
        #"{"a":1,"b":1.0,"c":20.1234,"t":true,"id":9007199254740993,"f":68.32,"e":1e2,"n":-0.0,"z":null}"#.utf8)

    private func content(
        _ event: ActivityEvent, attributesType: String? = nil, attributes: String? = nil, sound: String? = nil,
        staleDate: Int64? = nil, dismissalDate: Int64? = nil, relevanceScore: String? = nil
    ) -> PushContent {
        PushContent(
            event: event, attributesType: attributesType, attributes: attributes.map { Array($0.utf8) },
            contentState: Self.state, alerts: [], sound: sound, staleDate: staleDate, dismissalDate: dismissalDate,
            relevanceScore: relevanceScore.map { Array($0.utf8) }, priority: 10)
    }

    private func text(_ content: PushContent, alert: LocalizedAlert? = nil) -> String {
        String(
            decoding: LiveActivityPayload().render(
                content, form: PayloadForm(service: .apnsProduction), timestamp: 1_700_000_000, alert: alert), as: UTF8.self)
    }

    @Test("of an update carries the state byte for byte and nothing else")
    func update() {
        let state = String(decoding: Self.state, as: UTF8.self)
        #expect(
            text(content(.update)) == #"{"aps":{"timestamp":1700000000,"event":"update","content-state":\#(state)}}"#)
    }

    @Test("of a start has attributes, an alert with its sound, and asks for a token")
    func start() {
        let state = String(decoding: Self.state, as: UTF8.self)
        let content = content(
            .start, attributesType: "Match", attributes: #"{"home":"A/B"}"#, sound: "chime.caf", staleDate: 1_700_000_600,
            relevanceScore: "75.50")
        let alert = LocalizedAlert(language: "en", title: "Kick \"off\"", body: "a/b \\ é 😀\n\u{1}")
        #expect(
            text(content, alert: alert)
                == #"{"aps":{"timestamp":1700000000,"event":"start","content-state":\#(state),"attributes-type":"Match","#
                + #""attributes":{"home":"A/B"},"alert":{"title":"Kick \"off\"","body":"a/b \\ é 😀\n\u0001","sound":"chime.caf"},"#
                + #""stale-date":1700000600,"relevance-score":75.50,"input-push-token":1}}"#)
    }

    @Test("of an end has the dismissal date; a sound without an alert is left out")
    func end() throws {
        let body = LiveActivityPayload().render(
            content(.end, sound: "chime.caf", dismissalDate: 1_700_000_060), form: PayloadForm(service: .apnsProduction),
            timestamp: 1, alert: nil)
        let aps = try #require(try JSONDocument(parsing: body).root["aps"])
        #expect(aps["dismissal-date"]?.integer == 1_700_000_060)
        #expect(aps["event"]?.string == "end")
        #expect(aps["sound"] == nil)
        #expect(aps["alert"] == nil)
        #expect(aps["input-push-token"] == nil)
    }
}
