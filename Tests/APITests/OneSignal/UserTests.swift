import Gateway
import HTTP
import JSON
import Testing

@testable import API

@Suite("Users of OneSignal's clients") struct UserTests {
    private let api = TestAPI()
    private static let users = "/apps/\(TestAPI.app)/users"
    private static let byName = "\(users)/by/onesignal_id/os-1"
    private static let subscriptions = "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)"
    private static let identity = #""identity":{"onesignal_id":"os-1","external_id":"fan-1","crm":"7"}"#
    private static let properties = """
        "properties":{"tags":{"club":"home"},"language":"de","timezone_id":"Europe/Berlin",\
        "first_active":1700000000,"last_active":1800000000,"lat":52.5,"long":-13.25}
        """
    private static func subscription(token: String? = nil) -> String {
        let token = token.map { #""token":"\#($0)","# } ?? ""
        return """
            {"id":"\(TestAPI.identifier)","app_id":"\(TestAPI.app)","type":"iOSPush",\(token)"enabled":true,"session_count":3,"test_type":1}
            """
    }
    private func send(_ method: String, _ target: String, _ body: String = "", key: KeyKind? = .client) async -> HTTPResponse {
        await api.send(method, target, body, key: key)
    }
    private func titles(_ response: HTTPResponse) -> String { response.text }

    @Test("are made of what the client says, and what it says beyond is passed over")
    func creates() async throws {
        let response = await send(
            "POST", Self.users,
            """
            {"identity":{"external_id":"fan-1","crm":"7"},"refresh_device_metadata":true,
             "properties":{"tags":{"club":"home","old":"","gone":null},"language":"de","timezone_id":"Europe/Berlin","country":"de",
                "lat":52.5,"long":-13.25,"first_active":1700000000,"last_active":1800000000,"ip":"x"},
             "subscriptions":[{"type":"iOSPush","token":"AB01","enabled":true,"notification_types":1,"session_time":60,
                "session_count":3,"app_version":"1.2","device_model":"iPhone17,1","device_os":"18.1","test_type":1,"sdk":"5"}]}
            """)
        #expect(response.status == 201)
        #expect(
            response.text
                == "{\(Self.identity),\(Self.properties),\"subscriptions\":[\(Self.subscription(token: "ab01"))]}")
        let told = try #require(api.ports.with { $0.userRegistrations.last })
        #expect(told.pushToken == [0xAB, 0x01] && told.subscription == nil && told.environment == .sandbox)
        #expect(told.toldAliases == ["external_id": .some("fan-1"), "crm": .some("7")])
        #expect(told.tags == (["club": "home", "old": nil, "gone": nil] as [ExactText: String?]))
        #expect(told.language == "de" && told.country == "DE" && told.timeZone == "Europe/Berlin")
        #expect(told.location == DeviceLocation(latitude: 52.5, longitude: -13.25))
        #expect(told.firstSession == 1_700_000_000 && told.lastSession == 1_800_000_000 && told.sessionCount == 3)
        #expect(told.appVersion == "1.2" && told.osVersion == "18.1" && told.isEnabled == true)
        #expect(told.namesWholeUser && told.givesUserID && told.tagsBelongToUser)
        #expect(api.ports.with { $0.mayBeNew } == [true])
    }

    @Test(
        "are in the environment of their build, where it says one",
        arguments: [("0", .production), ("1", .sandbox), ("2", .production), ("3", nil), ("-1", nil), ("null", nil)]
            as [(String, PushEnvironment?)])
    func environments(type: String, expected: PushEnvironment?) async throws {
        let body = #"{"subscriptions":[{"type":"iOSPush","token":"ab02","test_type":\#(type)}]}"#
        #expect(await send("POST", Self.users, body).status == 201)
        #expect(try #require(api.ports.with { $0.userRegistrations.last }).environment == expected)
    }

    @Test("who is nobody yet, or nobody any more, names no external_id, and need not have a token")
    func createsAnonymous() async throws {
        api.ports.with { $0.userRegistration = .registered(FakePorts.userDevice, isNew: false) }
        let response = await send(
            "POST", Self.users,
            #"{"identity":{},"subscriptions":[{"type":"iOSPush","id":"\#(TestAPI.identifier)","enabled":false}]}"#)
        #expect(response.status == 202)
        #expect(!response.text.contains("token"))
        let told = try #require(api.ports.with { $0.userRegistrations.last })
        #expect(told.pushToken == nil && "\(told.subscription!)" == TestAPI.identifier && told.isEnabled == false)
        #expect(told.toldAliases == (["external_id": nil] as [ExactText: ExactText?]))
    }

    @Test(
        "are refused with every mistake named",
        arguments: [
            ("[]", "body: must be a JSON object"),
            (#"{"identity":[]}"#, "identity: must be an object"),
            (
                #"{"identity":{"onesignal_id":"x"},"subscriptions":[{"type":"iOSPush"}]}"#,
                "identity.onesignal_id: is only allowed in answers: the gateway gives it"
            ),
            (#"{"identity":{"crm":7},"subscriptions":[{"type":"iOSPush"}]}"#, "identity.crm: must be a string"),
            (#"{"subscriptions":{}}"#, "subscriptions: must be a list"),
            (
                #"{"subscriptions":[{"type":"iOSPush"},{"type":"iOSPush"}]}"#,
                "subscriptions: has 2 entries, at most 1 are allowed"
            ),
            (#"{"subscriptions":[{"type":"Email","token":"ab"}]}"#, "subscriptions[0].type: must be \"iOSPush\""),
            (
                #"{"subscriptions":[{"type":"iOSPush","token":"xy"}]}"#,
                "subscriptions[0].token: must be hexadecimal digits, an even number of them"
            ),
            (#"{"subscriptions":[{"type":"iOSPush","id":"x"}]}"#, "subscriptions[0].id: must be a UUID"),
            (#"{"subscriptions":[{"type":"iOSPush","enabled":1}]}"#, "subscriptions[0].enabled: must be true or false"),
            (#"{"subscriptions":[{"type":"iOSPush","test_type":"1"}]}"#, "subscriptions[0].test_type: must be a whole number"),
            (
                #"{"subscriptions":[{"type":"iOSPush","notification_types":"1"}]}"#,
                "subscriptions[0].notification_types: must be a whole number"
            ),
            (
                #"{"properties":{"lat":91,"long":0},"subscriptions":[{"type":"iOSPush"}]}"#,
                "properties.lat: must be a number from -90 to 90"
            ),
            (#"{"properties":{"lat":1},"subscriptions":[{"type":"iOSPush"}]}"#, "properties.lat: requires long"),
            (
                #"{"properties":{"tags":{"a":[]}},"subscriptions":[{"type":"iOSPush"}]}"#,
                "properties.tags.a: must be a string, a number, true, false or null"
            ),
        ])
    func refuses(body: String, title: String) async {
        let response = await send("POST", Self.users, body)
        #expect(response.status == 400)
        #expect(response.errorTitles == [title])
        #expect(response.errorCodes == ["invalid-request"])
        #expect(api.ports.with { $0.userRegistrations.isEmpty })
    }

    @Test("have bounds that are told: aliases, tags, devices")
    func bounds() async {
        let body = #"{"identity":{"a":"1"},"subscriptions":[{"type":"iOSPush"}]}"#
        api.ports.with { $0.userRegistration = .refused(.tooManyAliases) }
        let aliases = await send("POST", Self.users, body)
        #expect(aliases.status == 400)
        #expect(aliases.errorTitles == ["identity: with those it has, the device would have more than 20"])
        api.ports.with { $0.userRegistration = .refused(.tooManyTags) }
        #expect(
            await send("POST", Self.users, body).errorTitles == ["tags: with those it has, the device would have more than 100"])
        let names = (0..<23).map { #""a\#($0)":"x""# }.joined(separator: ",")
        #expect(
            await send("PATCH", "\(Self.byName)/identity", #"{"identity":{\#(names)}}"#).errorTitles
                == ["identity: has 23 entries, at most 22 are allowed"])
        api.ports.with { $0.userChange = .tooManyDevices }
        let devices = await send("GET", Self.byName)
        #expect(devices.status == 409)
        #expect(devices.errorTitles == ["More than 100 devices have this name: it is no user's."])
    }

    @Test("are known by a backend without a device, when some devices belong to them already")
    func changesKnown() async throws {
        let body = #"{"identity":{"external_id":"fan-1"},"properties":{"tags":{"plan":"pro"}}}"#
        let response = await send("POST", Self.users, body, key: .rest)
        #expect(response.status == 202)
        let user = try #require(api.ports.with { $0.users.last })
        #expect(
            user == UserSelector(.alias(DeviceAlias(label: "external_id", identifier: "fan-1")), isWholeUser: true, proof: nil))
        #expect(api.ports.with { $0.userChanges.last?.namesWholeUser } == false)
        api.ports.with { $0.userChange = .unknown }
        let unknown = await send("POST", Self.users, body, key: .rest)
        #expect(unknown.status == 400)
        #expect(unknown.errorTitles == ["subscriptions: is required"])
    }

    @Test(
        "who come without a device from their own SDK are answered with the names they told and a new one, and nothing is stored",
        arguments: ["{}", #"{"identity":{"external_id":"fan-1"},"properties":{"tags":{"plan":"pro"}}}"#])
    func comesWithoutDevice(body: String) async throws {
        var given: Set<String> = []
        for _ in 0..<2 {
            let response = await send("POST", Self.users, body)
            #expect(response.status == 202)
            let answer = try JSONDocument(parsing: Array(response.text.utf8)).root
            let isNamed = body.contains("fan-1")
            #expect(answer["identity"]?["external_id"]?.string == (isNamed ? "fan-1" : nil))
            given.insert(try #require(answer["identity"]?["onesignal_id"]?.string))
            #expect(response.text.hasSuffix(#""properties":{"tags":{}},"subscriptions":[]}"#))
        }
        #expect(given.count == 2, "a device without proof learns nothing of others")
        #expect(api.ports.with { $0.userRegistrations.isEmpty && $0.userChanges.isEmpty })
    }

    @Test("are read, changed and removed by a name")
    func byName() async throws {
        let read = await send("GET", Self.byName)
        #expect(read.status == 200)
        #expect(read.text == "{\(Self.identity),\(Self.properties),\"subscriptions\":[\(Self.subscription())]}")
        let alias = DeviceAlias(label: "onesignal_id", identifier: "os-1")
        #expect(api.ports.with { $0.users.last } == UserSelector(.alias(alias), isWholeUser: false, proof: nil))
        let changed = await send(
            "PATCH", Self.byName, #"{"properties":{"tags":{"plan":"pro"}},"deltas":{"session_count":1,"session_time":30}}"#)
        #expect(changed.status == 202)
        #expect(changed.text == "{\(Self.properties)}")
        #expect(api.ports.with { $0.userChanges.last?.addedSessionCount } == 1)
        let removed = await send("DELETE", Self.byName, key: .rest)
        #expect(removed.status == 200)
        #expect(removed.text == "{\(Self.identity)}")
        #expect(api.ports.with { $0.users.last } == UserSelector(.alias(alias), isWholeUser: true, proof: nil))
    }

    @Test("have their names read, added to and taken away, by a name and by a subscription")
    func identities() async throws {
        for path in ["\(Self.byName)/identity", "\(Self.subscriptions)/user/identity"] {
            let read = await send("GET", path)
            #expect(read.status == 200 && read.text == "{\(Self.identity)}")
            let changed = await send("PATCH", path, #"{"identity":{"external_id":"fan-1","crm":null}}"#)
            #expect(changed.status == 200 && changed.text == "{\(Self.identity)}")
            #expect(
                api.ports.with { $0.userChanges.last?.aliases } == ["external_id": "fan-1", "crm": nil] as [ExactText: String?])
            #expect(await send("PATCH", path, "{}").errorTitles == ["identity: is required"])
            #expect(await send("PATCH", path, #"{"identity":{}}"#).errorTitles == ["identity: must not be empty"])
        }
        #expect(await send("DELETE", "\(Self.byName)/identity/crm").status == 200)
        #expect(api.ports.with { $0.userChanges.last?.aliases } == ["crm": nil] as [ExactText: String?])
        let other = await send("DELETE", "\(Self.byName)/identity/other")
        #expect(other.status == 404 && other.errorTitles == ["The user has no alias of this label."])
        let own = await send("DELETE", "\(Self.byName)/identity/onesignal_id")
        #expect(own.status == 400 && own.errorTitles == ["label: must be another than onesignal_id"])
    }

    @Test("get, change and lose subscriptions")
    func subscriptions() async throws {
        let added = await send("POST", "\(Self.byName)/subscriptions", #"{"subscription":{"type":"iOSPush","token":"ab01"}}"#)
        #expect(added.status == 201 && added.text == "{\"subscription\":\(Self.subscription(token: "ab01"))}")
        let told = try #require(api.ports.with { $0.userRegistrations.last })
        #expect(told.toldAliases == ["onesignal_id": .some("os-1"), "external_id": .some("fan-1"), "crm": .some("7")])
        let missing = await send("POST", "\(Self.byName)/subscriptions", "{}")
        #expect(missing.errorTitles == ["subscription: is required"])
        let changed = await send("PATCH", Self.subscriptions, #"{"subscription":{"token":"ab02","notification_types":-2}}"#)
        #expect(changed.status == 202 && changed.text.contains(#""token":"ab02""#))
        let change = try #require(api.ports.with { $0.userRegistrations.last })
        #expect(change.pushToken == [0xAB, 0x02] && change.isEnabled == false && !change.namesWholeUser)
        #expect(api.ports.with { $0.mayBeNew } == [true, false])
        let removed = await send("DELETE", Self.subscriptions)
        #expect(removed.status == 200 && removed.text == "{}")
    }

    @Test("take a subscription over, by any name and by the gateway's own")
    func owners() async throws {
        let moved = await send("PATCH", "\(Self.subscriptions)/owner", #"{"identity":{"external_id":"fan-2"}}"#)
        #expect(moved.status == 202 && moved.text == "{\(Self.identity)}")
        #expect(api.ports.with { $0.userRegistrations.last?.toldAliases } == ["external_id": .some("fan-2")])
        _ = await send("PATCH", "\(Self.subscriptions)/owner", #"{"identity":{"onesignal_id":"os-1"}}"#)
        #expect(api.ports.with { $0.userRegistrations.last?.toldAliases["onesignal_id"] } == .some("os-1"))
        _ = await send("PATCH", "\(Self.subscriptions)/owner", #"{"identity":{"customer":"43"}}"#)
        #expect(api.ports.with { $0.userRegistrations.last?.userLabel } == "customer")
        // A backend that names the user otherwise hands the gateway's name to nobody.
        _ = await send("POST", "\(Self.users)/by/crm/7/subscriptions", #"{"subscription":{"type":"iOSPush"}}"#, key: .rest)
        #expect(api.ports.with { $0.userRegistrations.last?.aliases.keys.sorted() } == ["crm", "external_id"])
        for body in [#"{"identity":{}}"#, #"{"identity":{"a":"1","b":"2"}}"#, #"{"identity":[]}"#] {
            #expect(
                await send("PATCH", "\(Self.subscriptions)/owner", body).errorTitles
                    == ["identity: must be an object with one label"])
        }
    }

    @Test("of a name, and devices of an identifier, that nobody has are a 404")
    func unknown() async {
        api.ports.with {
            $0.userChange = .unknown
            $0.userRegistration = .unknown
        }
        for (method, path, body) in [
            ("GET", Self.byName, ""), ("PATCH", Self.byName, "{}"), ("DELETE", Self.byName, ""),
            ("GET", "\(Self.byName)/identity", ""), ("DELETE", "\(Self.byName)/identity/crm", ""),
            ("POST", "\(Self.byName)/subscriptions", #"{"subscription":{"type":"iOSPush"}}"#),
        ] {
            let response = await send(method, path, body)
            #expect(response.status == 404, "\(method) \(path)")
            #expect(response.errorTitles == ["There is no user of this name."])
        }
        for path in [Self.subscriptions, "/apps/\(TestAPI.app)/subscriptions/none"] {
            for (method, path, body) in [
                ("PATCH", path, #"{"subscription":{}}"#), ("DELETE", path, ""), ("GET", "\(path)/user/identity", ""),
                ("PATCH", "\(path)/owner", #"{"identity":{"external_id":"x"}}"#),
            ] {
                let response = await send(method, path, body)
                #expect(response.status == 404, "\(method) \(path)")
                #expect(response.errorTitles == ["There is no device of this subscription id."])
            }
        }
    }

    @Test("are named by what devices alone know, unless who asks proved more")
    func namesUnproven() async {
        for (method, more, body) in [
            ("GET", "", ""), ("PATCH", "", "{}"), ("DELETE", "", ""), ("GET", "/identity", ""),
            ("PATCH", "/identity", #"{"identity":{"crm":"7"}}"#), ("DELETE", "/identity/crm", ""),
            ("POST", "/subscriptions", #"{"subscription":{"type":"iOSPush"}}"#),
        ] {
            let response = await send(method, "\(Self.users)/by/external_id/fan-1\(more)", body)
            #expect(response.status == 403, "\(method) \(more)")
            #expect(response.errorTitles == ["A user can be named by external_id with a rest key or an identity token only."])
            #expect(response.errorCodes == ["forbidden"])
        }
        #expect(api.ports.with { $0.users.isEmpty && $0.userRegistrations.isEmpty })
    }

    @Test("are answered 503 when the database is away")
    func away() async {
        api.ports.with { $0.failureBehindDirectory = .unavailable }
        let response = await send("GET", Self.byName)
        #expect(response.status == 503 && response.headers["retry-after"] == "1")
        #expect(response.errorCodes == ["unavailable"])
    }
}
