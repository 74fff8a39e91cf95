import Gateway
import HTTP
import Testing

@testable import API

@Suite("Starting a live notification") struct StartLiveNotificationTests {
    private let api = TestAPI()
    private func send(_ body: Body) async -> HTTPResponse { await api.send("POST", "/v1/live_notifications/start", body.text) }
    private var starts: [StoredInstanceStart] { api.instances.with { $0.starts } }

    @Test("answers a new ULID, and hands the objects on byte for byte")
    func started() async throws {
        let response = await send(.liveStart)
        #expect(response.status == 200)
        let start = try #require(starts.first)
        #expect(response.text == #"{"instance_id":"\#(start.id)"}"#)
        #expect(start.command.activityID == "\(start.id)")
        #expect(start.id.value.high >> 16 == UInt64(TestAPI.now * 1_000 + 7))
        #expect(start.delivery != start.id)
        #expect(start.request.attributes == Array(#"{"number":7.0}"#.utf8))
        #expect(start.request.contentState == Array(#"{ "step" : 1 }"#.utf8))
        #expect(start.request.profile == [AliasReference(label: "external_id", identifier: "fan-1")])
        #expect(start.request.notificationType == "com.example.order")
        #expect(start.request.pushToken == nil && start.request.platform == nil && start.request.deepLink == nil)
        #expect(start.request.alert == InstanceAlert(title: "Order", body: "On its way", sound: nil))
        #expect(start.request.expiresAt == TestAPI.now + 21_600)
        #expect(start.command.activityType == "com.example.order")
        guard case .aliases(let audience) = start.command.audience else {
            Issue.record("\(start.command.audience)")
            return
        }
        #expect(audience == start.request.profile)
    }

    @Test("takes the key as Bearer and in X-OP-API-Key, and any content type", arguments: [true, false])
    func keys(isBearer: Bool) async {
        let key = FakePorts.keys[.rest] ?? ""
        let request = HTTPRequest(
            method: "POST", target: "/v1/live_notifications/start",
            headers: isBearer ? ["authorization": "Bearer \(key)"] : ["x-op-api-key": key, "content-type": "text/plain"],
            body: Array(Body.liveStart.text.utf8))
        #expect(await api.handler.respond(to: request).status == 200)
    }

    @Test(
        "finds the profile by exactly one name",
        arguments: [
            (#"{"id":"u"}"#, [("external_id", "u")]), (#"{"email":"a@b.c"}"#, [("email", "a@b.c"), ("external_id", "a@b.c")]),
            (#"{"phone":"+49"}"#, [("phone", "+49"), ("external_id", "+49")]),
            (#"{"internal":"cio_0a"}"#, [("cio_id", "cio_0a")]),
            (#"{"id":"u","email":null,"more":1}"#, [("external_id", "u")]),
        ])
    func profiles(identifiers: String, aliases: [(String, String)]) async {
        #expect(await send(Body.liveStart.with("identifiers", identifiers)).status == 200)
        #expect(starts.first?.request.profile == aliases.map { AliasReference(label: $0.0, identifier: $0.1) })
    }

    /// A member, what it is set to (nil leaves it out), and what is said of it.
    static let wrong: [(String, String?, [String])] = [
        ("identifiers", nil, ["identifiers: is required"]), ("identifiers", "null", ["identifiers: is required"]),
        ("identifiers", "7", ["identifiers: must be an object"]),
        ("identifiers", "{}", ["identifiers: give exactly one of id, email, phone, internal"]),
        ("identifiers", #"{"anonymous_id":"a"}"#, ["identifiers: give exactly one of id, email, phone, internal"]),
        ("identifiers", #"{"id":"a","email":"b"}"#, ["identifiers: give exactly one of id, email, phone, internal"]),
        ("identifiers", #"{"id":7}"#, ["identifiers.id: must be a string"]),
        ("identifiers", #"{"email":""}"#, ["identifiers.email: must not be empty"]),
        (
            "identifiers", #"{"phone":"\#(String(repeating: "1", count: 129))"}"#,
            ["identifiers.phone: has 129 bytes, at most 128 are allowed"]
        ),
        ("identifiers", #"{"internal":"0a"}"#, ["identifiers.internal: must be cio_ followed by letters and digits"]),
        ("identifiers", #"{"internal":"cio_"}"#, ["identifiers.internal: must be cio_ followed by letters and digits"]),
        ("identifiers", #"{"internal":"cio_a!"}"#, ["identifiers.internal: must be cio_ followed by letters and digits"]),
        ("notification_type", nil, ["notification_type: is required"]),
        ("notification_type", #""""#, ["notification_type: must not be empty"]),
        ("notification_type", "1", ["notification_type: must be a string"]),
        (
            "notification_type", #""\#(String(repeating: "t", count: 129))""#,
            ["notification_type: has 129 bytes, at most 128 are allowed"]
        ),
        ("platform", #""web""#, [#"platform: must be "ios" or "android""#]),
        ("platform", "1", [#"platform: must be "ios" or "android""#]),
        ("device_id", #""""#, ["device_id: must not be empty"]), ("device_id", "1", ["device_id: must be a string"]),
        (
            "device_id", #""\#(String(repeating: "x", count: 1_025))""#,
            ["device_id: has 1025 bytes, at most 1024 are allowed"]
        ),
        ("app_identifier", #""com.example.other""#, ["app_identifier: app_identifier does not match any app"]),
        ("app_identifier", "1", ["app_identifier: must be a string"]),
        ("attributes", nil, ["attributes: is required"]), ("attributes", "{}", ["attributes: must not be empty"]),
        ("attributes", "[1]", ["attributes: must be an object"]),
        ("content_state", nil, ["content_state: is required"]), ("content_state", "{ }", ["content_state: must not be empty"]),
        ("content_state", #""x""#, ["content_state: must be an object"]),
        ("push_payload", nil, ["push_payload.alert: is required"]), ("push_payload", "{}", ["push_payload.alert: is required"]),
        ("push_payload", "[]", ["push_payload: must be an object"]),
        ("push_payload", #"{"alert":"x"}"#, ["push_payload.alert: must be an object"]),
        ("push_payload", #"{"alert":{"title":"T"}}"#, ["push_payload.alert.body: is required"]),
        (
            "push_payload", #"{"alert":{"title":"","body":1,"sound":2}}"#,
            [
                "push_payload.alert.title: must not be empty", "push_payload.alert.body: must be a string",
                "push_payload.alert.sound: must be a string",
            ]
        ),
        ("deep_link", "1", ["deep_link: must be a string"]),
        ("deep_link", #""a\u0000""#, ["deep_link: must not contain control characters"]),
        ("expiration", #""1800000001""#, ["expiration: must be a whole number of seconds since 1970"]),
    ]

    @Test("names what is wrong with a field", arguments: wrong)
    func refused(member: String, literal: String?, messages: [String]) async {
        let response = await send(Body.liveStart.with(member, literal))
        #expect(response.status == 400)
        #expect(response.metaTexts == messages)
        #expect(starts.isEmpty)
    }

    @Test("names everything that is wrong at once, and reads only objects")
    func everything() async {
        let response = await send(Body([("platform", #""android""#), ("attributes", "{}")]))
        #expect(
            response.text
                == #"{"meta":{"errors":["identifiers: is required","notification_type: is required","#
                + #""attributes: must not be empty","content_state: is required"]}}"#)
        for body in ["", "[]", "{", "7"] {
            let response = await api.send("POST", "/v1/live_notifications/start", body)
            #expect(response.status == 400)
            #expect(response.metaTexts?.first?.hasPrefix("body: ") == true)
        }
    }

    @Test(
        "expires within 6 hours",
        arguments: [
            (nil, 21_600), ("null", 21_600), ("0", 21_600), ("1800000000", 0), ("1800003600", 3_600), ("1800021600", 21_600),
            ("1799999999", nil), ("1800021601", nil), ("-1", nil), ("1800000001.5", nil), ("1800003600000", nil), ("1e30", nil),
        ] as [(String?, Int64?)])
    func expiration(literal: String?, seconds: Int64?) async {
        let response = await send(Body.liveStart.with("expiration", literal))
        #expect(response.status == (seconds == nil ? 400 : 200))
        #expect(starts.first?.request.expiresAt == seconds.map { TestAPI.now + $0 })
        if seconds == nil {
            #expect(response.metaTexts == ["expiration: must be 0, or whole seconds since 1970 within the next 6 hours"])
        }
    }

    @Test(
        "wants an alert for iOS and without a platform, and none for Android",
        arguments: [("ios", 400), (nil, 400), ("android", 200)] as [(String?, Int)])
    func alerts(platform: String?, status: Int) async {
        for payload in [nil, "null", "{}", #"{"alert":null}"#] {
            let body = Body.liveStart.with("platform", platform.map { "\"\($0)\"" }).with("push_payload", payload)
            #expect(await send(body).status == status, "\(payload ?? "none")")
        }
        let half = Body.liveStart.with("platform", #""android""#).with("push_payload", #"{"alert":{"title":"T"}}"#)
        #expect(await send(half).metaTexts == ["push_payload.alert.body: is required"])
    }

    @Test("hands on platform, device, app, sound and link, and passes over what it does not know")
    func optionals() async throws {
        let body = Body.liveStart.with("platform", #""ios""#).with("device_id", #""aB01""#).with("deep_link", #""app://1""#)
            .with("app_identifier", "\"\(FakePorts.application.bundleID ?? "")\"").with("collapse", "[1]")
            .with("push_payload", #"{"alert":{"title":"T","body":"B","sound":"ping.caf","subtitle":"S"},"badge":1}"#)
        #expect(await send(body).status == 200)
        let request = try #require(starts.first?.request)
        #expect(request.platform == .ios && request.pushToken == [0xAB, 0x01] && request.deepLink == "app://1")
        #expect(request.alert == InstanceAlert(title: "T", body: "B", sound: "ping.caf"))
        // Empty ones are none.
        #expect(await send(body.with("deep_link", #""""#)).status == 200)
        #expect(starts.last?.request.deepLink == nil)
    }

    @Test("means the devices of the platform whose app is named, and no app of another platform")
    func appIdentifier() async {
        let body = Body.liveStart.with("platform", nil).with("app_identifier", "\"\(FakePorts.application.bundleID ?? "")\"")
        #expect(await send(body).status == 200)
        #expect(starts.first?.request.platform == .ios)
        let other = await send(body.with("platform", #""android""#))
        #expect(other.metaTexts == ["app_identifier: app_identifier does not match any app"])
    }

    @Test("takes a token that is not hexadecimal, as Firebase has them", arguments: ["fcm:APA91b-_x", "abc", "é"])
    func firebaseToken(token: String) async {
        let body = Body.liveStart.with("platform", #""android""#).with("device_id", "\"\(token)\"")
        #expect(await send(body).status == 200)
        #expect(starts.first?.request.pushToken == Array(token.utf8))
    }

    @Test("answers 429 with Retry-After, and stores nothing")
    func rateLimited() async {
        api.instances.with { $0.rate = .refused(retryAfterSeconds: 1) }
        let response = await send(.liveStart)
        #expect(response.status == 429)
        #expect(response.headers["retry-after"] == "1")
        #expect(response.text == #"{"meta":{"error":"API rate limit exceeded."}}"#)
        #expect(starts.isEmpty)
    }

    @Test("answers 400 with both sizes when the push is too large")
    func tooLarge() async {
        api.ports.with { $0.bodyByteCount = 4_097 }
        let response = await send(.liveStart)
        #expect(response.status == 400)
        #expect(response.metaTexts == ["content_state: the push would have 4097 bytes, at most 4096 are allowed"])
        #expect(starts.isEmpty)
    }

    @Test("answers 503 when too many starts have not finished")
    func overloaded() async {
        api.instances.with { $0.isOverloaded = true }
        let response = await send(.liveStart)
        #expect(response.status == 503)
        #expect(response.headers["retry-after"] == "30")
        #expect(response.metaTexts == ["Too many starts of this app have not finished yet. Try again later."])
    }

    // MARK: Templates

    private static func template(_ type: String, _ attributes: String, _ state: String) -> Body {
        Body.liveStart.with("notification_type", "\"io.customer.livenotifications.\(type)\"").with("attributes", attributes)
            .with("content_state", state)
    }

    @Test("checks the built-in templates on both platforms", arguments: ["ios", "android"])
    func templates(platform: String) async {
        let header = #"{"header":"H"}"#
        let segments = #""status":"S","segmentsTotal":4,"segmentsComplete":2"#
        let cases: [(String, String, String, [String]?)] = [
            ("segments", header, "{\(segments)}", nil),
            ("segments", header, #"{\#(segments),"substatus":null,"trailingText":"5 min","more":{}}"#, nil),
            (
                "segments", #"{"x":1}"#, #"{"x":1}"#,
                [
                    "attributes.header: is required", "content_state.status: is required",
                    "content_state.segmentsTotal: is required", "content_state.segmentsComplete: is required",
                ]
            ),
            (
                "segments", #"{"header":1}"#,
                #"{"status":1,"substatus":2,"segmentsTotal":"3","segmentsComplete":1.5,"trailingText":[]}"#,
                [
                    "attributes.header: must be a string", "content_state.status: must be a string",
                    "content_state.substatus: must be a string", "content_state.segmentsTotal: must be a whole number",
                    "content_state.segmentsComplete: must be a whole number", "content_state.trailingText: must be a string",
                ]
            ),
            (
                "segments", header, #"{"status":"S","segmentsTotal":0,"segmentsComplete":0}"#,
                ["content_state.segmentsTotal: must be 1 or more"]
            ),
            ("countdowntimer", header, #"{"title":"T","statusMessage":"M","endTime":1753603600}"#, nil),
            ("countdowntimer", header, #"{"title":"T"}"#, nil),
            (
                "countdowntimer", #"{"x":1}"#, #"{"statusMessage":1,"endTime":"soon"}"#,
                [
                    "attributes.header: is required", "content_state.title: is required",
                    "content_state.statusMessage: must be a string", "content_state.endTime: must be a whole number",
                ]
            ),
            ("other", #"{"header":1}"#, #"{"segmentsTotal":0}"#, nil),
        ]
        for (type, attributes, state, messages) in cases {
            let response = await send(Self.template(type, attributes, state).with("platform", "\"\(platform)\""))
            #expect(response.status == (messages == nil ? 200 : 400), "\(type) \(state)")
            #expect(response.metaTexts == messages, "\(type) \(state)")
        }
    }

    @Test("caps segments, and nothing else of the state")
    func caps() async {
        let state = #"{ "segmentsComplete" : 30,"status":"S", "segmentsTotal":25 , "x":1.0}"#
        #expect(await send(Self.template("segments", #"{"header":"H"}"#, state)).status == 200)
        #expect(
            starts.first?.request.contentState
                == Array(#"{ "segmentsComplete" : 20,"status":"S", "segmentsTotal":20 , "x":1.0}"#.utf8))
    }

    @Test("looks for devices under the Swift type that an SDK registered, that of the template, and Android's")
    func attributesTypes() async {
        let body = Self.template("segments", #"{"header":"H"}"#, #"{"status":"S","segmentsTotal":1,"segmentsComplete":0}"#)
        #expect(await send(body).status == 200)
        api.instances.with { $0.attributesTypes["io.customer.livenotifications.segments"] = "MySegments" }
        #expect(await send(body).status == 200)
        let type = "io.customer.livenotifications.segments"
        #expect(starts.map(\.types) == [["CIOSegmentsAttributes", type], ["MySegments", "CIOSegmentsAttributes", type]])
    }
}
