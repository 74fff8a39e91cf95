import Gateway
import HTTP
import JSON
import Security
import Testing

@testable import API

@Suite("Starting an activity") struct StartActivityTests {
    private let api = TestAPI()
    private func send(_ body: Body) async -> HTTPResponse { await api.send("POST", TestAPI.startPath, body.text) }
    private var command: StartCommand? { api.ports.with { $0.starts.last } }

    @Test("answers 201 with both identifiers")
    func created() async {
        let response = await send(.start)
        #expect(response.status == 201)
        #expect(response.text == #"{"id":"\#(TestAPI.identifier)","notification_id":"\#(TestAPI.identifier)"}"#)
        #expect(response.headers["content-type"] == "application/json")
        #expect(response.headers["idempotent-replayed"] == nil)
    }

    @Test("carries attributes and state byte for byte")
    func raw() async throws {
        let state =
            #"{"a":1,"b":1.0, "c":20.1234,"t":true,"id":9007199254740993,"f":68.32,"e":1e2,"n":-0.0,"x":null,"s":"\u00e9\/"}"#
        _ = await send(.start.with("event_updates", state).with("event_attributes", #"{ "z":1,"a":[ ] }"#))
        let content = try #require(command?.content)
        #expect(String(decoding: content.contentState, as: UTF8.self) == state)
        #expect(content.attributes.map { String(decoding: $0, as: UTF8.self) } == #"{ "z":1,"a":[ ] }"#)
    }

    @Test("reads every field")
    func fields() async throws {
        let body = Body.start.with("stale_date", "\(TestAPI.now + 60).0").with("priority", "5.0").with(
            "ios_relevance_score", "0.50"
        )
        .with("ios_sound", #""  ""#).with("sound", #""bell.caf""#)
        .with("idempotency_key", #""6F9619FF-8B86-D011-B42D-00CF4FC964FF""#).with("headings", #"{"en":"Game","de":"Spiel"}"#)
        #expect(await api.send("POST", "/apps/\(TestAPI.app)/activities/activity/Odd%20Type%2Fu", body.text).status == 201)
        let command = try #require(command)
        #expect(command.activityID == "match-1")
        #expect(command.activityType == "Odd Type/u")
        #expect(command.name == "kick-off")
        #expect(command.content.event == .start)
        #expect(command.content.attributesType == "Odd Type/u")
        #expect(command.content.staleDate == TestAPI.now + 60)
        #expect(command.content.dismissalDate == nil)
        #expect(command.content.priority == 5)
        #expect(command.content.relevanceScore == Array("0.50".utf8))
        #expect(command.content.sound == "bell.caf")
        #expect(command.content.alerts.map(\.language) == ["en", "de"])
        #expect(command.idempotency?.key == UUID("6f9619ff-8b86-d011-b42d-00cf4fc964ff"))
        #expect(command.idempotency?.bodyDigest == SHA256.digest(Array(body.text.utf8)))
        guard case .segments(included: ["All"], excluded: []) = command.audience else {
            Issue.record("\(command.audience)")
            return
        }
    }

    @Test(
        "takes null for an optional field as absent",
        arguments: [
            "stale_date", "priority", "ios_relevance_score", "ios_sound", "sound", "idempotency_key", "include_aliases",
            "include_subscription_ids", "filters", "excluded_segments",
        ])
    func nullIsAbsent(field: String) async throws {
        #expect(await send(.start.with(field, "null")).status == 201)
        #expect(command?.content.priority == 10)
    }

    @Test(
        "lets the first sound that is not blank win, and nil silence",
        arguments: [
            (nil, nil, nil), ("\"a\"", "\"b\"", "a"), ("\"\\u3000\"", "\"b\"", "b"), ("null", "\"b\"", "b"),
            ("\"\"", "\" \"", nil),
            ("\"nil\"", "\"b\"", nil), ("\" \"", "\"nil\"", nil),
        ] as [(String?, String?, String?)])
    func sounds(first: String?, second: String?, sound: String?) async {
        #expect(await send(.start.with("ios_sound", first).with("sound", second)).status == 201)
        #expect(command?.content.sound == sound)
    }

    /// Field, literal (nil: absent), the error's beginning.
    static let malformed: [(String, String?, String)] = [
        ("event", nil, "event: is required"), ("event", "null", "event: is required"),
        ("event", #""update""#, "event: must be \"start\""),
        ("event", #""START""#, "event: must be"), ("event", "1", "event: must be"),
        ("activity_id", nil, "activity_id: is required"),
        ("activity_id", "null", "activity_id: is required"), ("activity_id", #""a/b""#, "activity_id: must not contain /"),
        ("activity_id", #""a\/b""#, "activity_id: must not contain /"), ("activity_id", #""""#, "activity_id: must not be empty"),
        ("activity_id", #""a\u0007""#, "activity_id: must not contain control characters"),
        ("activity_id", "5", "activity_id: must be a string"),
        ("activity_id", "\"\(String(repeating: "a", count: 129))\"", "activity_id: has 129 bytes"),
        ("event_attributes", nil, "event_attributes: is required"),
        ("event_attributes", "{}", "event_attributes: must not be empty"),
        ("event_attributes", "[1]", "event_attributes: must be an object"), ("event_updates", nil, "event_updates: is required"),
        ("event_updates", "{ }", "event_updates: must not be empty"),
        ("event_updates", #""x""#, "event_updates: must be an object"),
        ("name", nil, "name: is required"), ("name", "null", "name: is required"), ("name", #"" ""#, "name: must not be blank"),
        ("name", "\"\(String(repeating: "n", count: 129))\"", "name: has 129 characters"),
        ("name", "{}", "name: must be a string"),
        ("contents", nil, "contents: is required"), ("contents", "{}", "contents.en: is required"),
        ("contents", #"{"en":"\u2003"}"#, "contents.en: must not be blank"),
        ("contents", #"{"en":"x","de":1}"#, "contents.de: must be a string"),
        ("headings", nil, "headings: is required"), ("headings", #""x""#, "headings: must be an object"),
        ("headings", #"{"en":null}"#, "headings.en: is required"), ("stale_date", "\(now - 60)", "stale_date: lies in the past"),
        ("stale_date", "100000000000", "stale_date: looks like milliseconds"),
        ("stale_date", "1e300", "stale_date: looks like milliseconds"),
        ("stale_date", "1e19", "stale_date: looks like milliseconds"),
        ("stale_date", "1.5", "stale_date: must be a whole number"),
        ("stale_date", "-1", "stale_date: must be a whole number"),
        ("stale_date", #""1893456000""#, "stale_date: must be a whole number"),
        ("priority", "7", "priority: must be 5 or 10"), ("priority", #""10""#, "priority: must be 5 or 10"),
        ("priority", "1e300", "priority: must be 5 or 10"), ("priority", "true", "priority: must be 5 or 10"),
        ("ios_relevance_score", "1.01", "ios_relevance_score: must be a number from 0 to 1"),
        ("ios_relevance_score", "-1", "ios_relevance_score: must be"),
        ("ios_relevance_score", #""1""#, "ios_relevance_score: must be"),
        ("ios_sound", "5", "ios_sound: must be a string"), ("sound", "{}", "sound: must be a string"),
        ("idempotency_key", #""x""#, "idempotency_key: must be a UUID"),
        ("idempotency_key", "5", "idempotency_key: must be a string"),
        ("included_segments", nil, "targeting: give exactly one of"),
        ("included_segments", "null", "targeting: give exactly one of"),
        ("included_segments", "[]", "included_segments: must not be empty"),
        ("included_segments", #"[""]"#, "included_segments[0]: must not be blank"),
        ("include_aliases", #"{"external_id":["u"]}"#, "included_segments: give exactly one"),
        ("excluded_segments", #""x""#, "excluded_segments: must be a list"),
        ("dismissal_date", "1893456000", "dismissal_date: is not a known key"), ("is_ios", "true", "is_ios: is not a known key"),
        ("isAndroid", "true", "isAndroid: is not a known key"), ("ios_interruption_level", "1", "ios_interruption_level: is not"),
        ("apns_push_type_override", "1", "apns_push_type_override: is not"), ("subtitle", "{}", "subtitle: is not"),
        ("custom_data", "null", "custom_data: is not"), ("Name", "1", "Name: is not a known key"),
    ]
    private static let now = TestAPI.now

    @Test("names the field that is wrong, and stores nothing", arguments: malformed)
    func names(field: String, literal: String?, beginning: String) async {
        let response = await send(.start.with(field, literal))
        #expect(response.status == 400)
        #expect(response.errorTexts.contains { $0.hasPrefix(beginning) }, "\(response.text)")
        #expect(api.ports.with { $0.starts.isEmpty && $0.admittedCalls == 0 })
    }

    @Test("reports every field that is wrong at once")
    func reportsAll() async {
        var body = Body.start
        var expected: Set<String> = []
        for (field, literal, beginning) in Self.malformed where !expected.contains(where: { $0.hasPrefix("\(field)") }) {
            guard !["included_segments", "include_aliases"].contains(field) else { continue }
            body = body.with(field, literal)
            expected.insert(beginning)
        }
        let texts = await send(body.with("filters", #"[{"field":"nope"}]"#)).errorTexts
        for beginning in expected.union(["filters[0]: nope", "filters: give exactly one", "included_segments: give exactly one"])
        {
            #expect(texts.contains { $0.hasPrefix(beginning) }, "\(beginning) in \(texts)")
        }
    }

    @Test(
        "refuses a body that is no JSON object",
        arguments: ["", " ", "[]", "null", "\"x\"", "{", #"{"a":"\ud83d"}"#, String(repeating: "[", count: 100_000)])
    func notAnObject(body: String) async {
        let response = await api.send("POST", TestAPI.startPath, body)
        #expect(response.status == 400)
        #expect(response.errorTexts.count == 1)
        #expect(response.errorTexts.first?.hasPrefix("body: ") == true)
    }

    @Test("bounds the members of a body")
    func memberCount() async {
        let members = (0..<101).map { "\"k\($0)\":0" }.joined(separator: ",")
        let response = await api.send("POST", TestAPI.startPath, "{\(members)}")
        #expect(response.status == 400)
        #expect(response.errorTexts == ["body: has 101 members, at most 100 are allowed"])
    }

    @Test("refuses a type that is no identifier")
    func badType() async {
        let path = "/apps/\(TestAPI.app)/activities/activity/\(String(repeating: "t", count: 129))"
        #expect(
            await api.send("POST", path, Body.start.text).errorTexts == ["activity_type: has 129 bytes, at most 128 are allowed"])
        let control = await api.send("POST", "/apps/\(TestAPI.app)/activities/activity/a%0Ab", Body.start.text)
        #expect(control.errorTexts == ["activity_type: must not contain control characters"])
    }

    @Test("answers a replay as the original, marked", arguments: [true, false])
    func replay(hasSameBody: Bool) async {
        api.ports.with { $0.earlier = .replayed(publicID: FakePorts.accepted.publicID, sameBody: hasSameBody) }
        let response = await send(.start.with("idempotency_key", #""6f9619ff-8b86-d011-b42d-00cf4fc964ff""#))
        #expect(response.status == 201)
        #expect(response.headers["idempotent-replayed"] == "true")
        #expect(response.text == #"{"id":"\#(TestAPI.identifier)","notification_id":"\#(TestAPI.identifier)"}"#)
        #expect(api.log.all.contains { $0.contains("idempotency key came again") } == !hasSameBody)
        #expect(api.ports.with { $0.starts.isEmpty })
    }

    @Test("answers a replay after its stale date, and a late request that is none with 400")
    func staleReplay() async {
        let late = Body.start.with("stale_date", "\(TestAPI.now - 1)")
            .with("idempotency_key", #""6f9619ff-8b86-d011-b42d-00cf4fc964ff""#)
        #expect(await send(late).errorTexts == ["stale_date: lies in the past"])
        #expect(await send(late.with("name", "5")).errorTexts == ["name: must be a string", "stale_date: lies in the past"])
        #expect(api.ports.with { $0.starts.isEmpty })
        api.ports.with { $0.earlier = .replayed(publicID: FakePorts.accepted.publicID, sameBody: true) }
        let replay = await send(late)
        #expect(replay.status == 201)
        #expect(replay.headers["idempotent-replayed"] == "true")
    }

    @Test("answers a replay that the ledger found when storing")
    func lateReplay() async {
        api.ports.with { $0.start = .replayed(publicID: FakePorts.accepted.publicID, sameBody: true) }
        let response = await send(.start)
        #expect(response.status == 201)
        #expect(response.headers["idempotent-replayed"] == "true")
    }

    @Test("answers 400 when nobody holds a start token, naming the type")
    func nobody() async {
        api.ports.with { $0.start = .nobody }
        let response = await send(.start)
        #expect(response.status == 400)
        #expect(response.errorTexts == ["activity_type: no targeted device holds a push-to-start token for Game"])
    }

    @Test("answers 400 for segments that do not exist, naming them")
    func unknownSegments() async {
        api.ports.with { $0.start = .unknownSegments(["A", "B"]) }
        let response = await send(.start.with("included_segments", #"["A"]"#).with("excluded_segments", #"["B","A"]"#))
        #expect(response.status == 400)
        #expect(
            response.errorTexts == [
                "included_segments: there is no segment named A", "excluded_segments: there is no segment named A",
                "excluded_segments: there is no segment named B",
            ])
    }

    @Test("answers 400 with size and limit when the push would be too large")
    func tooLarge() async {
        api.ports.with { $0.bodyByteCount = 4097 }
        let response = await send(.start)
        #expect(response.status == 400)
        #expect(response.errorTexts == ["event_updates: the push would have 4097 bytes, at most 4096 are allowed"])
        #expect(api.ports.with { $0.starts.isEmpty })
    }

    @Test("answers 503 with the time to wait when too many starts are unfinished")
    func overloaded() async {
        api.ports.with { $0.start = .overloaded }
        let response = await send(.start)
        #expect(response.status == 503)
        #expect(response.headers["retry-after"] == "\(AdmissionLimits.overloadRetrySeconds)")
        #expect(response.text == #"{"errors":["Too many starts of this app have not finished yet. Try again later."]}"#)
    }

    @Test("answers 429 with the time to wait")
    func rateLimited() async {
        api.ports.with { $0.rate = .refused(retryAfterSeconds: 17) }
        let response = await send(.start)
        #expect(response.status == 429)
        #expect(response.headers["retry-after"] == "17")
        #expect(response.text == #"{"errors":["API rate limit exceeded."]}"#)
    }
}
