import Testing

@testable import APNsSimulator

@Suite("Payload shape") struct LiveActivityShapeTests {
    static let now = TestSimulator.seconds
    static let start = #"""
        {"timestamp":1800000000,"event":"start","attributes-type":"Match","attributes":{"home":"A"},"content-state":{"s":0},
        "alert":{"title":"Kick-off","body":{"loc-key":"K","loc-args":["A"]},"sound":"bell.caf"},"input-push-token":1,
        "stale-date":1800000600,"relevance-score":75.5}
        """#
    static let end = #"{"timestamp":1800000001,"event":"end","content-state":{"s":2},"dismissal-date":1800000000}"#
    static let update = #"{"timestamp":1800000000,"event":"update","content-state":{}}"#

    private func reading(_ aps: String) -> PayloadReading {
        PayloadReading(payload: Array(#"{"aps":\#(aps),"own":{"any":["thing"]}}"#.utf8), isLiveActivity: true, now: Self.now)
    }

    @Test("is right for start, update and end", arguments: [start, update, end])
    func accepts(aps: String) { #expect(reading(aps).shapeErrors == []) }

    @Test("tells event and timestamp")
    func tells() {
        #expect(reading(Self.end).event == .end)
        #expect(reading(Self.end).timestamp == 1_800_000_001)
    }

    @Test(
        "is wrong, and the sentence says where",
        arguments: [
            (update, #""event":"update""#, #""event":"stop""#, "event is not start, update or end"),
            (update, #""timestamp":1800000000,"#, "", "timestamp is missing"),
            (update, "1800000000", "1800000000.5", "timestamp is not whole seconds"),
            (update, "1800000000", "1800000000.0", "timestamp is not whole seconds"),
            (update, "1800000000", "1800000000000", "timestamp is far from now"),
            (update, "1800000000", "1799913599", "timestamp is far from now"),
            (update, #","content-state":{}"#, "", "content-state is missing"),
            (update, #""content-state":{}"#, #""content-state":[]"#, "content-state is not an object"),
            (update, #""event""#, #""sound":"x","event""#, "sound does not belong to update"),
            (update, #""event""#, #""dismissal-date":1800000000,"event""#, "dismissal-date does not belong to update"),
            (update, #""event""#, #""attributes":{},"event""#, "attributes does not belong to update"),
            (update, #""event""#, #""event":"update","event""#, "event comes twice"),
            (update, #""event""#, #""stale-date":1800000000000,"event""#, "stale-date is not in seconds"),
            (update, #""event""#, #""relevance-score":"high","event""#, "relevance-score is not a number"),
            (update, #""event""#, #""alert":"text","event""#, "alert is not an object"),
            (end, "1800000000}", #""now"}"#, "dismissal-date is not a number"),
            (start, #""Match""#, #""""#, "attributes-type is not a name"),
            (start, #""attributes":{"home":"A"},"#, "", "attributes is missing"),
            (start, #""title":"Kick-off","#, "", "alert.title is neither text nor a localisation key"),
            (start, #""loc-key""#, #""key""#, "alert.body is neither text nor a localisation key"),
            (start, #""bell.caf""#, #"{}"#, "alert.sound is not a name"),
            (start, #""input-push-token":1"#, #""input-push-token":true"#, "input-push-token is not 1"),
        ])
    func refuses(aps: String, part: String, replacement: String, sentence: String) throws {
        let range = try #require(aps.firstRange(of: part))
        #expect(reading(aps.replacingCharacters(in: range, with: replacement)).shapeErrors == [sentence])
    }

    @Test("of a start needs an alert")
    func needsAlert() {
        let aps = #"{"timestamp":1800000000,"event":"start","attributes-type":"M","attributes":{},"content-state":{}}"#
        #expect(reading(aps).shapeErrors == ["alert is missing"])
    }

    @Test(
        "is wrong without JSON or without aps",
        arguments: [
            ("{", "the payload is not JSON"), ("[]", "aps is not an object"), (#"{"aps":1}"#, "aps is not an object"),
        ])
    func refusesPayload(payload: String, sentence: String) {
        #expect(PayloadReading(payload: Array(payload.utf8), isLiveActivity: true, now: Self.now).shapeErrors == [sentence])
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<String.Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
