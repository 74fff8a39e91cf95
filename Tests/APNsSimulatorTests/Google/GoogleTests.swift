import HTTP
import JSON
import Networking
import Security
import TestSupport
import Testing

@testable import APNsSimulator

@Suite("Google in the simulator", .serialized, .timeLimit(.minutes(3))) struct GoogleTests {
    /// A project's service account, made once: RSA keys take their time.
    private static let json = GoogleAccount.makeServiceAccount(projectID: "p1")
    private static let key: RS256PrivateKey? = {
        let root = try? JSONDocument(parsing: json).root
        return try? RS256PrivateKey(pem: Array((root?["private_key"]?.string ?? "").utf8))
    }()

    /// A simulator of which that account is known, and a client of its port.
    private func run(_ body: (Simulator, HTTPClient) async throws -> Void) async throws {
        let simulator = try await Simulator.start()
        simulator.google.register(try #require(GoogleAccount(serviceAccount: Self.json)))
        let loop = try EventLoop.start(name: "google-test")
        let client = HTTPClient(
            loop: loop, origin: HTTPOrigin(host: "127.0.0.1", port: simulator.googleAddress.port),
            tls: try TLSContext.client(
                extraRootsPEM: simulator.certificateAuthority.certificatePEM, applicationProtocols: ["h2"]))
        do { try await body(simulator, client) } catch {
            await simulator.stop()
            throw error
        }
        await client.drain(timeout: .zero)
        await simulator.stop()
        try await onThread { loop.stop() }
    }

    private func post(
        _ client: HTTPClient, _ path: String, _ body: String, fields: [HTTP2Field] = []
    ) async throws -> (status: Int, root: JSONValue?, headers: HTTPHeaders) {
        let request = HTTPClientRequest(method: "POST", path: path, fields: fields, body: Array(body.utf8))
        guard case .response(let response) = await client.send(request, timeout: .seconds(30)) else {
            throw TestHTTPClient.Failure("no answer")
        }
        return (response.status, try? JSONDocument(parsing: response.body).root, response.headers)
    }

    /// A form with a grant whose claims are changed.
    private func form(
        _ changes: [String: String] = [:], key: RS256PrivateKey? = key, head: String = #"{"alg":"RS256","typ":"JWT"}"#
    ) throws -> String {
        let now = SystemClock.milliseconds() / 1000
        var claims = [
            "iss": #""simulated@p1.iam.gserviceaccount.com""#, "scope": #""https://www.googleapis.com/auth/firebase.messaging""#,
            "aud": #""https://oauth2.googleapis.com/token""#, "iat": "\(now)", "exp": "\(now + 3600)",
        ]
        claims.merge(changes) { $1 }
        let text = "{" + claims.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        let message = Base64.encodeURL(Array(head.utf8)) + "." + Base64.encodeURL(Array(text.utf8))
        let signature = try #require(key).sign(Array(message.utf8))
        return "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
            + message + "." + Base64.encodeURL(signature)
    }

    private func accessToken(_ client: HTTPClient) async throws -> String {
        try #require(try await post(client, "/token", form()).root?["access_token"]?.string)
    }

    @Test("gives an access token for a grant that is in order")
    func grants() async throws {
        try await run { simulator, client in
            let answer = try await post(client, "/token", form())
            #expect(answer.status == 200 && answer.root?["token_type"]?.string == "Bearer")
            #expect(answer.root?["expires_in"]?.integer == 3600 && simulator.google.accessTokenCount == 1)
        }
    }

    @Test("refuses a grant that is not, and says why")
    func refusesGrants() async throws {
        try await run { simulator, client in
            let now = SystemClock.milliseconds() / 1000
            let cases: [(String, String)] = [
                ("grant_type=password", "unsupported_grant_type"),
                (try form(["iss": #""nobody@x""#]), "invalid_grant"), (try form(["aud": #""https://x""#]), "invalid_grant"),
                (try form(["exp": "\(now + 3601)", "iat": "\(now)"]), "invalid_grant"),
                (try form(["exp": "\(now - 3600)", "iat": "\(now - 7200)"]), "invalid_grant"),
                (try form(["iat": "\(now + 3600)", "exp": "\(now + 7200)"]), "invalid_grant"),
                (try form(["scope": #""https://www.googleapis.com/auth/drive""#]), "invalid_scope"),
                (try form(key: RS256PrivateKey.generate()), "invalid_grant"),
                (try form(head: #"{"alg":"ES256"}"#), "invalid_grant"), (try form() + "x", "invalid_grant"),
            ]
            for (form, error) in cases {
                let answer = try await post(client, "/token", form)
                #expect(answer.status == 400 && answer.root?["error"]?.string == error)
                #expect(answer.root?["error_description"]?.string?.isEmpty == false)
            }
            #expect(simulator.google.accessTokenCount == 0)
        }
    }

    @Test("takes messages with an access token of the project, and keeps them")
    func takesMessages() async throws {
        try await run { simulator, client in
            let fields = [HTTP2Field("authorization", "Bearer " + (try await accessToken(client)))]
            let body = #"{"message":{"token":"t","data":{"a":"b"},"android":{"priority":"HIGH","ttl":"60s"}}}"#
            let answer = try await post(client, "/v1/projects/p1/messages:send", body, fields: fields)
            #expect(answer.status == 200 && answer.root?["name"]?.string == "projects/p1/messages/0:0")
            #expect(simulator.google.messages(to: "t").map(\.body) == [Array(body.utf8)])
            let other = try await post(client, "/v1/projects/p2/messages:send", body, fields: fields)
            #expect(other.status == 403 && other.root?["error"]?["status"]?.string == "PERMISSION_DENIED")
            simulator.google.revokeAccessTokens()
            let late = try await post(client, "/v1/projects/p1/messages:send", body, fields: fields)
            #expect(late.status == 401 && late.root?["error"]?["status"]?.string == "UNAUTHENTICATED")
            #expect(simulator.google.messages().map(\.status) == [200, 403, 401])
        }
    }

    @Test("finds what is wrong with a message")
    func complains() async throws {
        try await run { _, client in
            let fields = [HTTP2Field("authorization", "Bearer " + (try await accessToken(client)))]
            let cases: [(String, String?)] = [
                ("{", nil), ("{}", "message"), (#"{"message":{}}"#, "message"),
                (#"{"message":{"token":"t","x":1}}"#, "message.x"),
                (#"{"message":{"token":"t","data":{"a":1}}}"#, "message.data[a].value"),
                (#"{"message":{"token":"t","data":{"google.x":"1"}}}"#, "message.data"),
                (#"{"message":{"token":"t","data":{"a":"\#(String(repeating: "x", count: 4096))"}}}"#, nil),
                (#"{"message":{"token":"t","android":{"priority":"high"}}}"#, "message.android.priority"),
                (#"{"message":{"token":"t","android":{"ttl":"60"}}}"#, "message.android.ttl"),
                (#"{"message":{"token":"t","apns":{"live_activity_token":"xyz"}}}"#, "message.apns.live_activity_token"),
                (#"{"message":{"token":"t","apns":{"payload":{}}}}"#, "message.apns.payload"),
            ]
            for (body, field) in cases {
                let answer = try await post(client, "/v1/projects/p1/messages:send", body, fields: fields)
                let error = answer.root?["error"]
                #expect(answer.status == 400 && error?["status"]?.string == "INVALID_ARGUMENT")
                let violations = error?["details"]?.elements.flatMap { $0["fieldViolations"]?.elements ?? [] } ?? []
                #expect(violations.first?["field"]?.string == field)
            }
        }
    }

    @Test("answers for each registration token as it was declared, over the control listener too")
    func control() async throws {
        var configuration = SimulatorConfiguration()
        configuration.controlAddress = .loopback
        let simulator = try await Simulator.start(configuration)
        let control = TestHTTPClient(port: try #require(simulator.controlAddress).port)
        let made = try await control.send("POST", "/google/accounts", body: #"{"project_id":"made"}"#)
        #expect(made.status == 201 && GoogleAccount(serviceAccount: made.body)?.projectID == "made")
        let again = try await control.send("POST", "/google/accounts", body: made.body)
        #expect(again.status == 201)
        let tokens = #"[{"token":"a","state":"unregistered"},{"token":"b","state":"quota","retry_after":7}]"#
        #expect(try await control.send("POST", "/google/tokens", body: tokens).status == 204)
        #expect(simulator.google.tokenState("a") == .unregistered && simulator.google.tokenState("b") == .quota(retryAfter: 7))
        #expect(try await control.send("POST", "/google/tokens", body: #"{"token":"a","state":"odd"}"#).status == 400)
        #expect(try await control.send("PUT", "/google/settings", body: #"{"access_token_seconds":60}"#).status == 204)
        let messages = try await control.send("GET", "/google/messages?limit=5")
        #expect(messages.text == #"{"access_token_count":0,"messages":[]}"#)
        #expect(try await control.send("POST", "/google/nothing", body: "{}").status == 404)
        #expect(try await control.send("POST", "/reset").status == 204)
        #expect(simulator.google.tokenState("a") == .valid)
        await simulator.stop()
    }
}
