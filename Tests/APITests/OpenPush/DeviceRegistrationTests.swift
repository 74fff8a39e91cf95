import Gateway
import HTTP
import Testing

@testable import API

@Suite("Registering a device") struct DeviceRegistrationTests {
    private let api = TestAPI()
    private func send(_ body: Body) async -> HTTPResponse { await api.send("POST", "/v1/devices", body.text, key: .client) }
    private var device: DeviceRegistration? { api.ports.with { $0.registrations.last } }

    @Test("answers 201 for a new device and 200 for a known one")
    func answers() async {
        let new = await send(.device)
        #expect(new.status == 201)
        #expect(new.text == #"{"subscription_id":"\#(TestAPI.identifier)"}"#)
        api.ports.with { $0.registration = FakePorts.registered(isNew: false) }
        #expect(await send(.device).status == 200)
        #expect(device?.pushToken == [0xAB, 0x01])
        #expect(device?.environment == nil)
    }

    @Test("reads every field")
    func fields() async throws {
        let body = Body.device.with("environment", #""sandbox""#).with("external_id", #""u1""#)
            .with("aliases", #"{"crm":"c1","old":null}"#)
            .with("tags", #"{"team":"A","level":1.50,"vip":true,"empty":"","gone":null}"#).with("language", #""pt-BR""#)
            .with("country", #""de""#).with("app_version", #""1.2.3""#).with("os_version", #""18.1""#)
            .with("timezone", #""Europe/Berlin""#).with("session_count", "7.0").with("first_session", "1700000000")
            .with("last_session", "1700000001").with("session_time", "3600").with("lat", "-33.5").with("long", "151.25")
        #expect(await send(body).status == 201)
        let device = try #require(device)
        #expect(device.environment == .sandbox)
        #expect(device.externalID == "u1")
        #expect(device.aliases == ["crm": "c1", "old": nil])
        #expect(device.tags == ["team": "A", "level": "1.50", "vip": "true", "empty": "", "gone": nil])
        #expect(device.language == "pt-BR")
        #expect(device.country == "DE")
        #expect(device.appVersion == "1.2.3")
        #expect(device.osVersion == "18.1")
        #expect(device.timeZone == "Europe/Berlin")
        #expect(device.sessionCount == 7)
        #expect(device.firstSession == 1_700_000_000)
        #expect(device.lastSession == 1_700_000_001)
        #expect(device.sessionSeconds == 3_600)
        #expect(device.location == DeviceLocation(latitude: -33.5, longitude: 151.25))
    }

    @Test(
        "takes null as absent",
        arguments: [
            "environment", "aliases", "tags", "language", "country", "app_version", "os_version", "timezone",
            "session_count", "first_session", "last_session", "session_time", "lat", "long",
        ])
    func nullIsAbsent(field: String) async {
        #expect(await send(.device.with(field, "null")).status == 201)
        #expect(device?.tags.isEmpty == true)
    }

    @Test("keeps external_id in one place, even when it comes as an alias")
    func externalID() async {
        #expect(await send(.device.with("aliases", #"{"external_id":"u2"}"#)).status == 201)
        #expect(device?.externalID == "u2")
        #expect(device?.aliases.isEmpty == true)
        for (field, alias) in [(#""u1""#, #""u2""#), (#""u1""#, "null"), ("null", #""u2""#)] {
            let conflict = await send(.device.with("external_id", field).with("aliases", #"{"external_id":\#(alias)}"#))
            #expect(conflict.status == 400)
            #expect(conflict.field == "aliases.external_id")
        }
    }

    @Test(
        "takes a null external_id, in its place or as an alias, for who leaves, and leaves it alone when it is absent",
        arguments: [("null", nil), (nil, #"{"external_id":null}"#), ("null", #"{"external_id":null}"#)]
            as [(String?, String?)])
    func leaves(field: String?, aliases: String?) async throws {
        #expect(await send(.device).status == 201)
        #expect(device?.toldAliases.isEmpty == true)
        #expect(await send(.device.with("external_id", field).with("aliases", aliases)).status == 201)
        #expect(device?.toldAliases == ["external_id": nil] as [ExactText: ExactText?])
    }

    @Test(
        "names what the device has too much of",
        arguments: [(RegistrationResult.tooManyTags, "tags", 100), (.tooManyAliases, "aliases", 20)])
    func tooMany(result: RegistrationResult, field: String, limit: Int) async {
        api.ports.with { $0.registration = result }
        let response = await send(.device)
        #expect(response.status == 400)
        #expect(
            response.text
                == #"{"detail":"\#(field): with those it has, the device would have more than \#(limit)","field":"\#(field)"}"#)
    }

    @Test("may name as many tags as it may have, and others that go")
    func removedTags() async throws {
        let told = (0..<100).map { "\"t\($0)\":\"v\"" } + ["\"old\":null"]
        #expect(await send(.device.with("tags", "{\(told.joined(separator: ","))}")).status == 201)
        #expect(device?.tags.count == 101)
    }

    private static let tooManyAliases = "{\((0..<21).map { "\"a\($0)\":\"v\"" }.joined(separator: ","))}"
    private static let longName = String(repeating: "n", count: 129)
    private static let tooManyTags = "{\((0..<101).map { "\"t\($0)\":\"v\"" }.joined(separator: ","))}"

    @Test(
        "names the field that is wrong, and stores nothing",
        arguments: [
            ("push_token", nil, "push_token"), ("push_token", "null", "push_token"), ("push_token", #""""#, "push_token"),
            ("push_token", #""abc""#, "push_token"), ("push_token", #""zz""#, "push_token"),
            ("push_token", #""<ab cd>""#, "push_token"), ("push_token", #""not:hex""#, "push_token"),
            ("push_token", "\"\(String(repeating: "a", count: 402))\"", "push_token"), ("push_token", "12", "push_token"),
            ("platform", nil, "platform"), ("platform", #""android""#, "platform"), ("environment", #""prod""#, "environment"),
            ("environment", "1", "environment"), ("external_id", #""""#, "external_id"),
            ("external_id", #""a\u0000""#, "external_id"),
            ("aliases", "[]", "aliases"), ("aliases", #"{"":"x"}"#, "aliases."), ("aliases", #"{"crm":5}"#, "aliases.crm"),
            ("aliases", #"{"crm":""}"#, "aliases.crm"), ("tags", #""x""#, "tags"), ("tags", #"{"k":{}}"#, "tags.k"),
            ("tags", #"{"k":["a"]}"#, "tags.k"), ("tags", "{\"k\":\"\(String(repeating: "v", count: 257))\"}", "tags.k"),
            ("tags", #"{"k":"\u0000"}"#, "tags.k"), ("tags", tooManyTags, "tags"), ("aliases", tooManyAliases, "aliases"),
            ("tags", "{\"\(longName)\":\"v\"}", "tags.\(longName.prefix(32))…"),
            ("aliases", "{\"\(longName)\":\"v\"}", "aliases.\(longName.prefix(32))…"),
            ("aliases", "{\"crm\":\"\(longName)\"}", "aliases.crm"), ("language", #""e""#, "language"),
            ("language", #""de DE""#, "language"), ("country", #""DEU""#, "country"), ("country", "49", "country"),
            ("app_version", "1.2", "app_version"), ("app_version", #""""#, "app_version"), ("os_version", "{}", "os_version"),
            ("timezone", "\"\(String(repeating: "z", count: 129))\"", "timezone"), ("session_count", "-1", "session_count"),
            ("session_count", "1.5", "session_count"), ("session_count", "1e300", "session_count"),
            ("first_session", "1700000000000", "first_session"), ("last_session", "-1", "last_session"),
            ("last_session", #""1700000000""#, "last_session"), ("session_time", "-1", "session_time"),
            ("session_time", "1.5", "session_time"), ("lat", "1", "lat"), ("long", "1", "long"), ("lat", "90.5", "lat"),
            ("lat", #""1""#, "lat"), ("long", "-181", "long"), ("token", #""ab""#, "token"),
        ] as [(String, String?, String)])
    func names(field: String, literal: String?, path: String) async {
        let response = await send(.device.with(field, literal))
        #expect(response.status == 400)
        #expect(response.field == path)
        #expect(response.text.hasPrefix(#"{"detail":"\#(path): "#), "\(response.text)")
        #expect(api.ports.with { $0.registrations.isEmpty })
    }

    @Test("refuses a body that is no object without naming a field")
    func noObject() async {
        let response = await api.send("POST", "/v1/devices", "[", key: .client)
        #expect(response.status == 400)
        #expect(response.text == #"{"detail":"body: invalid JSON at byte 1: unexpected end"}"#)
    }
}
