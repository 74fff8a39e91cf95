import Gateway
import HTTP
import Testing

@testable import API

@Suite("Authentication") struct AuthenticationTests {
    @Test(
        "takes the key as it is written",
        arguments: [
            ("Key k1", ["k1"]), ("key k1", ["k1"]), ("KEY\tk1", ["k1"]), ("Basic k1", ["k1"]), ("bAsIc  k1 ", ["k1"]),
            ("Bearer k1", ["k1"]), ("k1", ["k1"]), ("  k1  ", ["k1"]), ("Basic dXNlcjpwYXNz", ["dXNlcjpwYXNz"]),
            ("Digest k1", ["Digest k1"]), ("Key", ["Key"]), ("Key ", ["Key"]), ("", []), ("Keyk1", ["Keyk1"]),
        ])
    func authorization(value: String, keys: [String]) {
        #expect(Authentication.keys(in: ["authorization": value]) == keys)
    }

    @Test("takes X-OP-API-Key, and looks at Authorization first")
    func ownHeader() {
        #expect(Authentication.keys(in: ["X-OP-API-Key": " k1 "]) == ["k1"])
        #expect(Authentication.keys(in: ["x-op-api-key": "k2", "authorization": "Key k1"]) == ["k1", "k2"])
        #expect(Authentication.keys(in: [:]).isEmpty)
    }

    @Test("finds the principal by either header")
    func finds() async {
        let api = TestAPI()
        let rest = FakePorts.keys[.rest] ?? ""
        for headers in [
            ["authorization": "Bearer \(rest)"], ["authorization": rest], ["x-op-api-key": rest],
            ["authorization": "Basic other", "x-op-api-key": rest],
        ] as [HTTPHeaders] {
            let request = HTTPRequest(method: "GET", target: "/v1/notifications", headers: headers)
            #expect(await api.handler.respond(to: request).status == 200)
        }
    }

    /// One request of every route that needs a key: method, target, who may use it.
    static let protected: [(String, String, Set<KeyKind>)] = [
        ("POST", TestAPI.startPath, [.rest]), ("POST", TestAPI.pushPath, [.rest]),
        ("POST", "/apps/\(TestAPI.app)/segments", [.rest]), ("GET", "/apps/\(TestAPI.app)/segments", [.rest]),
        ("GET", "/apps/\(TestAPI.app)/segments/s", [.rest]), ("PATCH", "/apps/\(TestAPI.app)/segments/s", [.rest]),
        ("DELETE", "/apps/\(TestAPI.app)/segments/s", [.rest]), ("POST", "/v1/segments", [.rest]),
        ("GET", "/v1/segments", [.rest]), ("GET", "/v1/segments/s", [.rest]), ("PATCH", "/v1/segments/s", [.rest]),
        ("DELETE", "/v1/segments/s", [.rest]), ("POST", "/v1/audiences/preview", [.rest]),
        ("POST", "/notifications/count-unsaved", [.rest]),
        ("POST", "/v1/devices", [.client, .rest]), ("POST", "/v1/live-activities/update-tokens", [.client, .rest]),
        ("POST", "/v1/live-activities/start-tokens", [.client, .rest]),
        ("DELETE", "/v1/live-activities/start-tokens", [.client, .rest]),
        ("POST", "/v1/live-activities/clicks", [.client, .rest]), ("POST", "/v1/live-activities/ends", [.client, .rest]),
        ("POST", "/v1/activities/match-1/subscribe", [.client, .rest]),
        ("GET", "/v1/notifications", [.read, .rest]), ("GET", "/v1/notifications/\(TestAPI.identifier)", [.read, .rest]),
        ("GET", "/v1/activities/match-1", [.read, .rest]), ("GET", "/v1/activities", [.rest]),
        ("GET", "/v1/devices/\(TestAPI.identifier)", [.rest]), ("GET", "/v1/devices/\(TestAPI.identifier)/pushes", [.rest]),
        ("GET", "/v1/stats", [.rest]),
        ("GET", "/v1/notifications/\(TestAPI.identifier)/deliveries", [.rest]),
        ("GET", "/notifications/\(TestAPI.identifier)?app_id=\(TestAPI.app)", [.rest]),
        ("POST", "/v1/live_notifications/start", [.rest]), ("POST", "/v1/live_notifications/update", [.rest]),
        ("POST", "/v1/live_notifications/end", [.rest]), ("PATCH", "/v1/live_notifications/types/a", [.rest]),
        ("GET", "/v1/live_notifications/types", [.read, .rest]), ("GET", "/v1/live_notifications?profile=id:1", [.read, .rest]),
        ("GET", "/v1/live_notifications/i", [.read, .rest]), ("GET", "/v1/live_notifications/i/deliveries", [.read, .rest]),
    ]

    @Test("lets each kind of key use its routes only", arguments: protected)
    func kinds(method: String, target: String, kinds: Set<KeyKind>) async {
        let api = TestAPI()
        for kind in KeyKind.allCases {
            let response = await api.send(method, target, key: kind)
            #expect((response.status == 403) == !kinds.contains(kind), "\(kind)")
        }
        let missing = await api.send(method, target, key: nil)
        #expect(missing.status == 401)
        #expect(missing.headers["www-authenticate"] == "Key")
        let unknown = await api.handler.respond(
            to: HTTPRequest(method: method, target: target, headers: ["authorization": "Key guess-8f2a"]))
        #expect(unknown.status == 401)
        #expect(unknown.text == missing.text)
        #expect(!unknown.text.contains("guess"))
    }

    @Test(
        "answers 403 in the shape of the route to a key of another app or kind",
        arguments: [
            ("/apps/\(UUID(high: 1, low: 2))/activities/activity/Game", #"{"errors":["The key does not belong to this app."]}"#),
            ("/apps/nonsense/live_activities/m/notifications", #"{"errors":["The key does not belong to this app."]}"#),
            ("/apps/nonsense/segments", #"{"success":false,"errors":["The key does not belong to this app."]}"#),
        ])
    func otherApp(target: String, text: String) async {
        let response = await TestAPI().send("POST", target, Body.start.text)
        #expect(response.status == 403)
        #expect(response.text == text)
    }

    @Test("compares the app in the path without regard to case")
    func appCase() async {
        let api = TestAPI()
        let target = "/apps/\(TestAPI.app.uppercased())/activities/activity/Game"
        #expect(await api.send("POST", target, Body.start.text).status == 201)
    }
}
