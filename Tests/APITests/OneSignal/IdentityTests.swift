import Gateway
import HTTP
import JSON
import Security
import Testing

@testable import API

/// Tokens as an app's backend makes them.
private struct Backend {
    static let key = ES256PrivateKey.generate()
    static let access = DeviceAccess(identityKeyPEM: key.publicKey.pem, requiresIdentity: true)
    static let application = Application(
        id: FakePorts.application.id, publicID: FakePorts.application.publicID, name: "Score", bundleID: "com.example.score",
        providerKey: FakePorts.application.providerKey, defaultEnvironment: .production, deviceAccess: access)
    static let claims = Body([
        ("iss", #""\#(TestAPI.app)""#), ("exp", "\(TestAPI.now + 600)"), ("identity", #"{"external_id":"fan-1"}"#),
    ])

    static func token(
        _ claims: Body = Self.claims, header: String = #"{"alg":"ES256","typ":"JWT"}"#, key: ES256PrivateKey = key
    ) throws -> String {
        let signed = "\(Base64.encodeURL(Array(header.utf8))).\(Base64.encodeURL(Array(claims.text.utf8)))"
        return "\(signed).\(Base64.encodeURL(try key.sign(Array(signed.utf8))))"
    }

    static func problem(_ token: String, of application: Application = Self.application) -> IdentityProblem? {
        do throws(IdentityProblem) {
            _ = try IdentityToken.claims(token, of: application, now: TestAPI.now)
            return nil
        } catch { return error }
    }
}

@Suite("Identity token") struct IdentityTokenTests {
    @Test("says who the user is: by identity, by its only label, or by sub")
    func says() throws {
        let proofs: [(String, String?, DeviceAlias, Int)] = [
            ("identity", #"{"external_id":"fan-1","crm":"7"}"#, DeviceAlias(label: "external_id", identifier: "fan-1"), 2),
            ("identity", #"{"crm":"7"}"#, DeviceAlias(label: "crm", identifier: "7"), 1),
        ]
        for (name, value, proof, count) in proofs {
            let claims = try IdentityToken.claims(
                try Backend.token(Backend.claims.with(name, value)), of: Backend.application, now: TestAPI.now)
            #expect(claims.proof == proof && claims.aliases.count == count)
        }
        let subject = Backend.claims.with("identity", nil).with("sub", #""fan-2""#)
        let claims = try IdentityToken.claims(try Backend.token(subject), of: Backend.application, now: TestAPI.now)
        #expect(claims.proof == DeviceAlias(label: "external_id", identifier: "fan-2"))
    }

    @Test("names the app in any letter case")
    func issuer() throws {
        #expect(Backend.problem(try Backend.token(Backend.claims.with("iss", #""\#(TestAPI.app.uppercased())""#))) == nil)
    }

    @Test(
        "counts while its clock and ours agree within a minute",
        arguments: [("exp", -59, nil), ("exp", -60, .expired), ("nbf", 60, nil), ("nbf", 61, .notYetValid)]
            as [(String, Int64, IdentityProblem?)])
    func skew(claim: String, seconds: Int64, problem: IdentityProblem?) throws {
        #expect(Backend.problem(try Backend.token(Backend.claims.with(claim, "\(TestAPI.now + seconds)"))) == problem)
    }

    @Test(
        "does not count with other claims",
        arguments: [
            ("iss", nil, .otherIssuer), ("iss", #""99999999-bbbb-4ccc-8ddd-eeeeffff0000""#, .otherIssuer),
            ("iss", "7", .otherIssuer),
            ("exp", nil, .noExpiry), ("exp", #""1900000000""#, .noExpiry), ("exp", "1", .expired), ("nbf", #""x""#, .notYetValid),
            ("identity", nil, .noUser), ("identity", "{}", .noUser), ("identity", #"{"a":"1","b":"2"}"#, .noUser),
            ("identity", #"{"external_id":7}"#, .noUser), ("identity", #"{"external_id":""}"#, .noUser),
            ("identity", "[]", .noUser),
        ] as [(String, String?, IdentityProblem)])
    func refusesClaims(claim: String, value: String?, problem: IdentityProblem) throws {
        #expect(Backend.problem(try Backend.token(Backend.claims.with(claim, value))) == problem)
    }

    @Test(
        "is signed with ES256 and nothing else",
        arguments: [
            #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"es256"}"#, #"{}"#, #"{"alg":["ES256"]}"#,
            #"{"alg":"ES256","crit":["b64"],"b64":false}"#,
        ])
    func refusesAlgorithms(header: String) throws {
        #expect(Backend.problem(try Backend.token(header: header)) == .wrongAlgorithm)
    }

    @Test("is signed by the app's key, over what it says")
    func refusesSignatures() throws {
        #expect(Backend.problem(try Backend.token(key: .generate())) == .badSignature)
        let parts = try Backend.token().split(separator: ".")
        let other = try Backend.token(Backend.claims.with("identity", #"{"external_id":"fan-2"}"#)).split(separator: ".")
        #expect(Backend.problem("\(parts[0]).\(other[1]).\(parts[2])") == .badSignature)
        #expect(Backend.problem("\(parts[0]).\(parts[1]).") == .badSignature)
        #expect(Backend.problem("\(parts[0]).\(parts[1]).\(Base64.encodeURL([1, 2]))") == .badSignature)
        #expect(Backend.problem(try Backend.token(), of: FakePorts.application) == .noKey)
    }

    @Test("has three parts of base64url, the first two of them JSON objects, and a bounded length")
    func refusesForms() throws {
        let token = try Backend.token()
        let signature = token.split(separator: ".")[2]
        for text in [
            "a.b", "..", "\(token).x", "\(token)=", "x.\(token.split(separator: ".")[1]).\(signature)",
            "\(Base64.encodeURL(Array("[]".utf8))).e30.\(signature)", token.replacing(".", with: "!."),
        ] { #expect(Backend.problem(text) == .malformed, "\(text)") }
        let long = Backend.claims.with("more", "\"\(String(repeating: "x", count: IdentityToken.byteCount))\"")
        #expect(Backend.problem(try Backend.token(long)) == .malformed)
    }

    @Test(
        "stands behind Bearer, and is told from a key by its dots",
        arguments: [
            ("Bearer a.b.c", "a.b.c"), ("bearer  a.b.c", "a.b.c"), ("Key a.b.c", nil), ("a.b.c", nil), ("Bearer abc", nil),
        ])
    func isFound(value: String, token: String?) {
        #expect(IdentityToken.candidate(in: ["authorization": value]) == token)
        #expect(Authentication.keys(in: ["authorization": value, "x-op-api-key": "k"]).last == "k")
        #expect(Authentication.keys(in: ["authorization": value]).isEmpty == (token != nil))
    }
}

@Suite("Device routes without a key") struct OpenRoutesTests {
    private let api = TestAPI()
    private static let users = "/apps/\(TestAPI.app)/users"
    private static let report = """
        {"app_id":"\(TestAPI.app)","player_id":"\(TestAPI.identifier)","live_activity_id":"m","click_id":"\(TestAPI.identifier)"}
        """
    /// One request of every route of that wire.
    private static let requests: [(String, String, String)] = [
        ("POST", users, #"{"subscriptions":[{"type":"iOSPush"}]}"#), ("GET", "\(users)/by/onesignal_id/o", ""),
        ("PATCH", "\(users)/by/onesignal_id/o", "{}"), ("DELETE", "\(users)/by/onesignal_id/o", ""),
        ("GET", "\(users)/by/onesignal_id/o/identity", ""),
        ("PATCH", "\(users)/by/onesignal_id/o/identity", #"{"identity":{"crm":null}}"#),
        ("DELETE", "\(users)/by/onesignal_id/o/identity/crm", ""),
        (
            "POST", "\(users)/by/onesignal_id/o/live_activities/m/token",
            #"{"subscription_id":"\#(TestAPI.identifier)","push_token":"0c"}"#
        ),
        ("PATCH", "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)/owner", #"{"identity":{"external_id":"fan-1"}}"#),
        ("GET", "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)/user/identity", ""),
        ("PATCH", "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)/user/identity", #"{"identity":{"crm":null}}"#),
        (
            "PUT", "/apps/\(TestAPI.app)/activities/tokens/start/Game/subscriptions/\(TestAPI.identifier)",
            #"{"activity_token":"0c"}"#
        ),
        ("DELETE", "/apps/\(TestAPI.app)/activities/tokens/start/Game/subscriptions/\(TestAPI.identifier)", ""),
        (
            "POST", "/apps/\(TestAPI.app)/live_activities/m/token",
            #"{"subscription_id":"\#(TestAPI.identifier)","push_token":"0c"}"#
        ),
        ("DELETE", "/apps/\(TestAPI.app)/live_activities/m/token/\(TestAPI.identifier)", ""),
    ]
    /// What a device says of itself.
    private static let ownRequests: [(String, String, String)] = [
        ("PATCH", "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)", #"{"subscription":{}}"#),
        ("DELETE", "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)", ""),
    ]
    private static let reportRequests: [(String, String, String)] = [
        ("PUT", "/notifications/\(TestAPI.identifier)/report_received", report),
        ("POST", "/apps/\(TestAPI.app)/live_activities/m/click", report),
    ]

    private func send(_ request: (String, String, String), token: String? = nil, key: KeyKind? = nil) async -> HTTPResponse {
        var headers: HTTPHeaders = [:]
        if let token { headers.append("authorization", "Bearer \(token)") }
        if let key { headers.append("x-op-api-key", FakePorts.keys[key] ?? "") }
        return await api.handler.respond(
            to: HTTPRequest(method: request.0, target: request.1, headers: headers, body: Array(request.2.utf8)))
    }

    @Test("want a key until the app opens them", arguments: requests + ownRequests + reportRequests)
    func open(method: String, path: String, body: String) async {
        let closed = await send((method, path, body))
        #expect(closed.status == 401 && closed.headers["www-authenticate"] == "Key")
        #expect(await send((method, path, body), key: .read).status == 403)
        for key in [KeyKind.client, .rest] { #expect((200..<300).contains(await send((method, path, body), key: key).status)) }
        api.ports.with { $0.access = DeviceAccess(isOpen: true) }
        #expect((200..<300).contains(await send((method, path, body)).status))
    }

    @Test("are of an app that exists, and open no route of a backend")
    func stayClosed() async {
        api.ports.with { $0.access = DeviceAccess(isOpen: true) }
        let other = "99999999-bbbb-4ccc-8ddd-eeeeffff0000"
        #expect(await send(("GET", "/apps/\(other)/users/by/onesignal_id/o", "")).status == 401)
        #expect(await send(("GET", "/apps/none/users/by/onesignal_id/o", "")).status == 401)
        #expect(await send(("PUT", "/notifications/\(TestAPI.identifier)/report_received", "{}")).status == 401)
        #expect(await send(("PUT", "/notifications/\(TestAPI.identifier)/report_received", "no JSON")).status == 401)
        for (method, path, _) in AuthenticationTests.protected { #expect(await send((method, path, "{}")).status == 401) }
    }

    @Test("want proof of the user where the app does, from everybody but its backend", arguments: requests)
    func proof(method: String, path: String, body: String) async throws {
        var access = Backend.access
        access.isOpen = true
        let set = access
        api.ports.with { $0.access = set }
        for key in [nil, KeyKind.client] {
            let response = await send((method, path, body), key: key)
            #expect(response.status == 401 && response.headers["www-authenticate"] == "Bearer")
            #expect(response.text.contains("The identity token is missing: this app wants one in Authorization: Bearer."))
            let forged = await send((method, path, body), token: try Backend.token(key: .generate()), key: key)
            #expect(forged.status == 401)
            #expect(forged.text.contains("The identity token is not signed with the app's identity key."))
            let proven = await send((method, path, body), token: try Backend.token(), key: key)
            #expect((200..<300).contains(proven.status), "\(proven.text)")
        }
        #expect((200..<300).contains(await send((method, path, body), key: .rest).status))
    }

    @Test("take reports, and what a device says of itself, without proof, and proof instead of a key")
    func reports() async throws {
        api.ports.with { $0.access = Backend.access }
        for request in Self.reportRequests + Self.ownRequests {
            #expect(await send(request).status == 401)
            #expect((200...202).contains(await send(request, key: .client).status))
            #expect((200...202).contains(await send(request, token: try Backend.token()).status))
            #expect(await send(request, token: try Backend.token(key: .generate())).status == 401)
        }
        #expect((200..<300).contains(await send(Self.requests[0], token: try Backend.token()).status))
    }

    @Test("answer the SDK of an app that exists whether it must prove its user, without any key")
    func parameters() async {
        let path = "/apps/\(TestAPI.app)/ios_params.js"
        let plain = await send(("GET", path, ""))
        #expect(plain.status == 200 && plain.text == #"{"jwt_required":false}"#)
        api.ports.with { $0.access = Backend.access }
        #expect(await send(("GET", path, "")).text == #"{"jwt_required":true}"#)
        for other in ["99999999-bbbb-4ccc-8ddd-eeeeffff0000", "none"] {
            let unknown = await send(("GET", "/apps/\(other)/ios_params.js", ""))
            #expect(unknown.status == 404 && unknown.errorTexts == ["There is no app of this id."])
        }
        let android = await send(("GET", "/apps/\(TestAPI.app)/android_params.js", ""))
        #expect(android.status == 403, "which is what the SDK for Android gives up at")
        #expect(android.errorTexts == ["OneSignal's SDK for Android is not served: Android devices register under /v1/devices."])
    }

    @Test("let a user touch what is proven, and give no name that the token does not vouch for")
    func bounds() async throws {
        api.ports.with { $0.access = Backend.access }
        let token = try Backend.token()
        let proof = DeviceAlias(label: "external_id", identifier: "fan-1")
        _ = await send(("GET", "\(Self.users)/by/external_id/fan-1", ""), token: token)
        #expect(
            api.ports.with { $0.users.last } == UserSelector(.alias(proof), isWholeUser: true, proof: proof))
        _ = await send(("DELETE", "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)", ""), token: token)
        #expect(
            api.ports.with { $0.users.last }
                == UserSelector(.subscription(FakePorts.accepted.publicID), isWholeUser: false, proof: proof))
        // Whoever registers is the user the token names.
        _ = await send(("POST", Self.users, #"{"subscriptions":[{"type":"iOSPush","token":"ab"}]}"#), token: token)
        #expect(api.ports.with { $0.userRegistrations.last?.toldAliases } == ["external_id": .some("fan-1")])
        for (method, path, body) in [
            ("POST", Self.users, #"{"identity":{"external_id":"fan-2"},"subscriptions":[{"type":"iOSPush"}]}"#),
            ("PATCH", "\(Self.users)/by/external_id/fan-1/identity", #"{"identity":{"external_id":"fan-2"}}"#),
            ("PATCH", "/apps/\(TestAPI.app)/subscriptions/\(TestAPI.identifier)/owner", #"{"identity":{"external_id":"fan-2"}}"#),
        ] {
            let response = await send((method, path, body), token: token)
            #expect(response.status == 403, "\(method) \(path)")
            #expect(response.errorTitles == ["The identity token does not vouch for the alias external_id."])
        }
        let alias = #"{"identity":{"crm":"7"}}"#
        #expect(await send(("PATCH", "\(Self.users)/by/external_id/fan-1/identity", alias), token: token).status == 403)
        // Tokens of activities are for the user's own devices.
        api.ports.with { $0.hasAlias = false }
        for request in Self.requests where request.1.contains("activities") {
            #expect(await send(request, token: token).status == 404, "\(request.0) \(request.1)")
        }
        #expect(api.ports.with { $0.startTokens.isEmpty && $0.updateTokens.isEmpty })
    }

    @Test("tell the store by which label the user is proven, so that who leaves under it leaves nothing behind")
    func ownLabel() async throws {
        api.ports.with { $0.access = Backend.access }
        let token = try Backend.token(Backend.claims.with("identity", #"{"crm":"7"}"#))
        let user = "\(Self.users)/by/crm/7/identity"
        #expect(await send(("PATCH", user, #"{"identity":{"crm":null}}"#), token: token).status == 200)
        #expect(api.ports.with { $0.userChanges.last?.userLabel } == "crm")
        _ = await send(("DELETE", "\(user)/external_id", ""), token: token)
        #expect(api.ports.with { $0.userChanges.last?.userLabel } == "crm")
    }

    @Test("let who is proven leave the device by a null, and tell the store what the token holds where names need one")
    func leaves() async throws {
        let token = try Backend.token(Backend.claims.with("identity", #"{"external_id":"fan-1","crm":"7"}"#))
        for isRequired in [true, false] {
            var access = Backend.access
            access.requiresIdentity = isRequired
            let set = access
            api.ports.with { $0.access = set }
            let stays = ("POST", "/v1/devices", #"{"push_token":"ab","platform":"ios"}"#)
            #expect((200..<300).contains(await send(stays, token: token, key: .client).status))
            #expect(api.ports.with { $0.registrations.last?.toldAliases } == ["external_id": .some("fan-1")])
            #expect(
                api.ports.with { $0.registrations.last?.vouchedAliases }
                    == (isRequired ? ["external_id": "fan-1", "crm": "7"] : nil))
            let added = ("POST", "\(Self.users)/by/external_id/fan-1/subscriptions", #"{"subscription":{"type":"iOSPush"}}"#)
            #expect(await send(added, token: token).status == 201)
            #expect(api.ports.with { $0.userRegistrations.last?.vouchedAliases != nil } == isRequired)
            let leaves = ("POST", "/v1/devices", #"{"push_token":"ab","platform":"ios","external_id":null}"#)
            #expect((200..<300).contains(await send(leaves, token: token, key: .client).status))
            #expect(api.ports.with { $0.registrations.last?.toldAliases } == ["external_id": nil] as [ExactText: ExactText?])
        }
    }

    @Test("are asked for no other proof than those under /v1")
    func deviceRoutes() async throws {
        api.ports.with { $0.access = Backend.access }
        let register = ("POST", "/v1/devices", #"{"push_token":"ab","platform":"ios","external_id":"fan-1"}"#)
        let foreign = ("POST", "/v1/devices", #"{"push_token":"ab","platform":"ios","external_id":"fan-2"}"#)
        let token = ("POST", "/v1/live-activities/start-tokens", #"{"push_token":"ab","activity_type":"Game","token":"0c"}"#)
        let tap = ("POST", "/v1/live-activities/clicks", #"{"push_token":"ab","activity_id":"m"}"#)
        for request in [register, token] {
            let response = await send(request, key: .client)
            #expect(response.status == 401 && response.text.contains("The identity token is missing"))
            #expect((200..<300).contains(await send(request, token: try Backend.token(), key: .client).status))
            #expect((200..<300).contains(await send(request, key: .rest).status))
        }
        #expect(await send(tap, key: .client).status == 200)
        #expect(await send(foreign, token: try Backend.token(), key: .client).status == 403)
        api.ports.with { $0.hasAlias = false }
        #expect(await send(token, token: try Backend.token(), key: .client).status == 404)
    }
}
