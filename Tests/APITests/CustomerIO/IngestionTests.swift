import Gateway
import HTTP
import JSON
import Security
import TestSupport
import Testing

@testable import API

@Suite("Customer.io ingestion") struct IngestionTests {
    private let api = TestAPI()
    private static let success = #"{"success":true}"#
    private static let body = Array(#"{"batch":[\#(Told.identify())],"writeKey":"\#(TestAPI.clientKey)"}"#.utf8)
    private static let bodyWithoutKey = Array(#"{"batch":[\#(Told.identify())]}"#.utf8)
    private static func basic(_ text: String) -> (String, String) {
        ("authorization", "Basic \(Base64.encode(Array(text.utf8)))")
    }
    private static let strict = ("X-Strict-Mode", "1")

    // MARK: What is read

    @Test("takes what iOS and Android upload, on both paths", arguments: ["/v1/b", "/v1/batch"])
    func uploads(path: String) async {
        let ios = await api.tell(path, Self.body)
        #expect(ios.status == 200)
        #expect(ios.text == Self.success)
        let android = await api.tell(
            path, GzipMember.holding(Self.body), headers: [("content-type", "text/plain"), ("content-encoding", "gzip")])
        #expect(android.status == 200)
        #expect(api.ports.with { $0.registrations.count } == 2)
        #expect(api.outcomes == [.applied: 2])
    }

    @Test(
        "finds the key wherever a client puts it",
        arguments: [
            basic("\(TestAPI.clientKey):"), basic("\(FakePorts.keys[.rest] ?? ""):"),
            ("authorization", "Basic \(TestAPI.clientKey)"),
            ("authorization", "Bearer \(TestAPI.clientKey)"), ("x-op-api-key", TestAPI.clientKey),
        ])
    func keys(header: (String, String)) async {
        #expect(await api.tell("/v1/batch", Self.bodyWithoutKey, headers: [header]).status == 200)
        #expect(api.outcomes == [.applied: 1])
        // The key in the body counts when that of the header is none.
        #expect(await api.tell("/v1/batch", Self.body, headers: [Self.basic("nonsense:")]).status == 200)
        #expect(api.outcomes == [.applied: 2])
    }

    @Test("takes single events on paths of their own, without a type")
    func singleEvents() async {
        let identity = #"{"userId":"fan-1","traits":{"email":"f@e.com"},"context":\#(Told.context)}"#
        let key = Self.basic("\(TestAPI.clientKey):")
        #expect(await api.tell("/v1/identify", Array(identity.utf8), headers: [key]).text == Self.success)
        #expect(api.ports.with { $0.registrations.last?.aliases } == ["email": "f@e.com"])
        let metric =
            #"{"anonymousId":"\#(Told.instance)","event":"Report Delivery Event","properties":\#(Told.deliveredProperties.text)}"#
        #expect(await api.tell("/v1/track", Array(metric.utf8), headers: [key]).text == Self.success)
        #expect(api.instances.with { $0.counts } == ["delivered \(Told.instance) delivered \(Told.instance)"])
    }

    // MARK: What the SDKs make of answers

    @Test("drops useless events, and takes those beside them")
    func permissive() async {
        let response = await api.tell(
            #"{"type":"screen","name":"x"}"#, "7", Told.token(Told.startProperties.with("deviceId", #""xyz""#)),
            Told.identify(user: nil),
            Told.track("Goal seen"), Told.identify())
        #expect(response.status == 200)
        #expect(response.text == Self.success)
        #expect(api.outcomes == [.unused: 2, .malformed: 2, .anonymous: 1, .applied: 1])
        #expect(api.ports.with { $0.registrations.count } == 1)
    }

    @Test(
        "refuses a batch with a wrong key by 400, so that both SDKs drop it",
        arguments: ["", "nonsense", FakePorts.keys[.read] ?? ""])
    func wrongKey(key: String) async {
        let response = await api.tell(Told.identify(), key: key)
        #expect(response.status == 400)
        #expect(response.text == #"{"detail":"writeKey: must be a client or rest key that is in force","field":"writeKey"}"#)
        #expect(api.outcomes == [.unknownKey: 1])
        #expect(api.ports.with { $0.registrations.isEmpty })
        #expect(await api.tell(Told.identify(), key: key, headers: [Self.strict]).status == 401)
    }

    @Test(
        "answers single events with a wrong key 200: Android would send them for ever", arguments: ["/v1/track", "/v1/identify"])
    func wrongKeyOfSingle(path: String) async {
        let event = Array(Told.identify().utf8)
        #expect(await api.tell(path, event).text == Self.success)
        #expect(api.outcomes == [.unknownKey: 1])
        #expect(await api.tell(path, event, headers: [Self.strict]).status == 401)
        #expect(api.ports.with { $0.registrations.isEmpty })
    }

    @Test(
        "refuses what is no batch by 400",
        arguments: [
            ("", "body: a JSON object is required"), ("{", "body: invalid JSON at byte 1: unexpected end"),
            ("[]", "body: must be a JSON object"), (#"{"writeKey":"x"}"#, "batch: is required"),
            (#"{"batch":{}}"#, "batch: must be a list"), (#"{"batch":null}"#, "batch: is required"),
            (
                #"{"batch":[\#(Array(repeating: "0", count: 1_001).joined(separator: ","))]}"#,
                "batch: has 1001 entries, at most 1000 are allowed"
            ), (String(repeating: " ", count: 1_048_577), "body: has more than 1048576 bytes"),
        ])
    func noBatch(body: String, text: String) async {
        for headers in [[], [("content-encoding", "identity")]] {
            let response = await api.tell("/v1/b", Array(body.utf8), headers: headers)
            #expect(response.status == 400)
            #expect(response.text.hasPrefix(#"{"detail":"\#(text)""#), "\(response.text)")
        }
    }

    @Test("refuses a body that is not what its encoding says by 400")
    func wrongEncoding() async {
        let whole = GzipMember.holding(Self.body)
        let large = GzipMember.holding([UInt8](repeating: 0x20, count: 1_048_577))
        for (bytes, encoding, text) in [
            (Self.body, "gzip", "is not gzip, as content-encoding says"),
            (whole.dropLast(9) + [], "gzip", "ends before its gzip does"),
            (large, "gzip", "has more than 1048576 bytes"), (whole, "br", "content-encoding must be gzip, or be left out"),
        ] {
            let response = await api.tell("/v1/b", bytes, headers: [("content-encoding", encoding)])
            #expect(response.status == 400)
            #expect(response.text == #"{"detail":"body: \#(text)"}"#)
        }
        #expect(api.outcomes == [:])
    }

    @Test("tells in strict mode which members are wrong, and stores nothing")
    func strict() async {
        let response = await api.tell(
            Told.identify(), Told.token(Told.startProperties.with("deviceId", #""xyz""#)), headers: [Self.strict])
        #expect(response.status == 400)
        #expect(response.field == "batch[1].properties.deviceId")
        #expect(api.ports.with { $0.registrations.isEmpty })
        // What the gateway has no use for is not wrong.
        let useless = await api.tell(Told.track("Goal seen"), Told.identify(user: nil), headers: [Self.strict])
        #expect(useless.status == 200)
    }

    @Test("answers 503 while the database is away, so that both SDKs keep the batch, and counts nothing twice")
    func databaseAway() async {
        for isBehindKey in [false, true] {
            api.ports.with { if isBehindKey { $0.failureBehindDirectory = .unavailable } else { $0.failure = .unavailable } }
            let response = await api.tell(Told.token(user: nil), Told.identify(), Told.delivery())
            #expect(response.status == 503)
            #expect(response.headers["retry-after"] == "1")
            api.ports.with { ($0.failure, $0.failureBehindDirectory) = (nil, nil) }
        }
        // The third event does not get ahead of the second.
        #expect(api.instances.with { $0.counts.isEmpty })
        #expect(api.outcomes == [:])
        #expect(await api.tell(Told.identify(), Told.delivery()).status == 200)
        #expect(api.outcomes == [.applied: 2])
    }

    @Test("passes over an event whose values PostgreSQL refuses, and keeps a batch whose statement is at fault")
    func refusedValues() async {
        let device = Told.track("Device Deleted", more: #","context":\#(Told.context)"#)
        api.instances.with { $0.failure = .refused(sqlState: "22P05") }
        #expect(await api.tell(Told.delivery(), device).status == 200)
        #expect(api.outcomes == [.refused: 1, .applied: 1])
        #expect(api.log.all.contains { $0.contains("22P05") })
        api.instances.with { $0.failure = .refused(sqlState: "42P01") }
        #expect(await api.tell(Told.delivery(), device).status == 500)
        #expect(api.outcomes == [.refused: 1, .applied: 1])
    }

    @Test("takes nothing of who a user is from devices that would have to prove it, but counts what they saw")
    func identityIsRequired() async {
        api.ports.with { $0.access = DeviceAccess(requiresIdentity: true) }
        #expect(await api.tell(Told.identify(), Told.token(), Told.activity(), Told.delivery()).status == 200)
        #expect(api.outcomes == [.unproven: 3, .applied: 1])
        #expect(api.ports.with { $0.registrations.isEmpty && $0.startTokens.isEmpty })
        #expect(await api.tell(Told.identify(), key: FakePorts.keys[.rest] ?? "").status == 200)
        #expect(api.outcomes == [.unproven: 3, .applied: 2])
    }

    @Test("holds so many bytes only, and lets go of them whatever the answer is")
    func heldBytes() async {
        var settings = APISettings()
        settings.heldEventByteCount = Self.body.count
        let api = TestAPI(settings: settings)
        let longer = Self.body + [0x20]
        let gzip = [("content-encoding", "gzip")]
        for (body, headers) in [(longer, []), (GzipMember.holding(longer), gzip)] {
            let response = await api.tell("/v1/b", body, headers: headers)
            #expect(response.status == 503)
            #expect(response.headers["retry-after"] == "1")
            #expect(response.text == #"{"detail":"Too many events wait to be stored. Try again."}"#)
        }
        for body in [Self.body, Array("[]".utf8), Self.bodyWithoutKey, Self.body] { _ = await api.tell("/v1/b", body) }
        api.ports.with { $0.failure = .unavailable }
        #expect(await api.tell("/v1/b", Self.body).text.contains("temporarily unavailable"))
        api.ports.with { $0.failure = nil }
        #expect(await api.tell("/v1/b", GzipMember.holding(Self.body), headers: gzip).status == 200)
        #expect(api.outcomes == [.applied: 3, .unknownKey: 1])
    }

    @Test("counts what is held exactly")
    func counting() {
        let held = HeldBytes(limit: 10)
        #expect(held.take(4) && held.take(6) && !held.take(1) && held.take(0))
        held.release(6)
        #expect(!held.take(7) && held.take(6))
    }

    // MARK: Settings

    private func settings(_ key: String) async -> HTTPResponse {
        await api.send("GET", "/v1/projects/\(key)/settings", key: nil)
    }

    @Test("serves the settings of a key in force, with the member that keeps SDKs on", arguments: [KeyKind.client, .rest])
    func settings(kind: KeyKind) async {
        let key = FakePorts.keys[kind] ?? ""
        let response = await settings(key)
        #expect(response.status == 200)
        #expect(
            response.text == #"{"integrations":{"Customer.io Data Pipelines":{"apiKey":"\#(key)"}},"plan":{},"edgeFunction":{}}"#)
    }

    @Test("answers other settings by errors only, after which SDKs go on with those they have")
    func noSettings() async {
        for key in ["nonsense", FakePorts.keys[.read] ?? ""] { #expect(await settings(key).status == 404) }
        // A key in a header does not make up for that of the path.
        #expect(await api.send("GET", "/v1/projects/nonsense/settings", key: .client).status == 404)
        api.ports.with { $0.failure = .unavailable }
        #expect(await settings(TestAPI.clientKey).status == 503)
    }

    @Test("logs no key") func logsNoKey() async {
        _ = await settings(TestAPI.clientKey)
        _ = await api.tell(Told.identify(), key: "op-nonsense")
        #expect(api.log.all.allSatisfy { !$0.contains(TestAPI.clientKey) && !$0.contains("op-nonsense") })
        #expect(!api.log.all.isEmpty)
    }
}
