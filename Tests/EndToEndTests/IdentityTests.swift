import Foundation
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("Proof of identity", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct IdentityTests {
    private static func token(_ user: String, app: String, key: ES256PrivateKey, seconds: Int = 600) throws -> String {
        try Deployment.identityToken(of: user, app: app, key: key, seconds: seconds)
    }

    private static func send(
        _ gateway: Deployment, _ method: String, _ path: String, _ body: String = "", token: String?
    ) async throws -> Answer {
        var headers: HTTPHeaders = [:]
        if let token { headers.append("authorization", "Bearer \(token)") }
        let answer = try await gateway.client().send(method, "/apps/\(gateway.app.id)/\(path)", headers: headers, body: body)
        return Answer(status: answer.status, headers: answer.headers, text: answer.text)
    }

    private static func device(_ number: Int) -> String {
        #"{"subscriptions":[{"type":"iOSPush","token":"\#(Deployment.token("device", number))"}]}"#
    }

    /// A file with the text, taken away when the process ends its test.
    private static func withFile(_ bytes: [UInt8], _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("openpushd-identity-\(UUID().uuidString).pem")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file.path)
    }

    @Test("gives a user its own devices and nobody else's, and leaves no token behind when a device changes hands")
    func givesOwnDevices() async throws {
        try await Deployment.run { gateway in
            let (key, app) = (ES256PrivateKey.generate(), gateway.app.id)
            try await Self.withFile(key.publicKey.pem) { path in
                let set = try await gateway.control(
                    "app", "set", app, "--identity-key-file", path, "--require-identity", "on", "--open-device-routes", "on")
                #expect(set.status == 0 && set.answer?["identity_required"]?.bool == true, "\(set.errors)")
            }
            let (fan, rival) = (try Self.token("fan", app: app, key: key), try Self.token("rival", app: app, key: key))
            #expect(try await Self.send(gateway, "POST", "users", Self.device(1), token: nil).status == 401)
            let forged = try Self.token("fan", app: app, key: .generate())
            #expect(try await Self.send(gateway, "POST", "users", Self.device(1), token: forged).status == 401)
            let late = try Self.token("fan", app: app, key: key, seconds: -3_600)
            #expect(try await Self.send(gateway, "POST", "users", Self.device(1), token: late).status == 401)

            let made = try await Self.send(gateway, "POST", "users", Self.device(1), token: fan)
            #expect(made.status == 201 && made.json?["identity"]?["external_id"]?.string == "fan", "\(made.text)")
            let subscription = try #require(made.json?["subscriptions"]?.elements.first?["id"]?.string)
            let activityToken =
                #"{"subscription_id":"\#(subscription)","push_token":"\#(Deployment.token("update", 1))","device_type":0}"#
            let path = "users/by/external_id/fan/live_activities/match-1/token"
            #expect(try await Self.send(gateway, "POST", path, activityToken, token: rival).status == 404)
            #expect(try await Self.send(gateway, "POST", path, activityToken, token: fan).status == 200)
            #expect(try await gateway.push("update", "match-1").status == 201)

            for (method, path, body) in [
                ("GET", "users/by/external_id/fan", ""), ("DELETE", "users/by/external_id/fan", ""),
                ("PATCH", "users/by/external_id/fan", #"{"properties":{"tags":{"a":"b"}}}"#),
                ("GET", "subscriptions/\(subscription)/user/identity", ""),
                ("DELETE", "live_activities/match-1/token/\(subscription)", ""),
                ("PUT", "activities/tokens/start/Game/subscriptions/\(subscription)", #"{"activity_token":"ab"}"#),
            ] {
                #expect(try await Self.send(gateway, method, path, body, token: rival).status == 404, "\(method) \(path)")
                #expect(try await Self.send(gateway, method, path, body, token: nil).status == 401, "\(method) \(path)")
            }
            // What a device says of itself needs no proof, but no false one counts.
            let own = "subscriptions/\(subscription)"
            let version = #"{"subscription":{"app_version":"4.3"}}"#
            #expect(try await Self.send(gateway, "PATCH", own, version, token: rival).status == 404)
            #expect(try await Self.send(gateway, "DELETE", own, token: rival).status == 404)
            #expect(try await Self.send(gateway, "PATCH", own, version, token: nil).status == 202)
            let read = try await Self.send(gateway, "GET", "users/by/external_id/fan", token: fan)
            #expect(read.status == 200 && read.json?["subscriptions"]?.elements.count == 1)

            // The same phone in other hands.
            let taken = try await Self.send(gateway, "POST", "users", Self.device(1), token: rival)
            #expect(taken.status == 202 && taken.json?["identity"]?["external_id"]?.string == "rival")
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(try await Self.send(gateway, "GET", "users/by/external_id/fan", token: fan).status == 404)
        }
    }

    @Test("is set up with a public key only, and cannot be required without one")
    func refusesKeys() async throws {
        try await Deployment.run(daemons: 0) { gateway in
            let app = gateway.app.id
            let without = try await gateway.control("app", "set", app, "--require-identity", "on")
            #expect(without.status == 65 && without.errors.contains("--identity-key-file"))
            try await Self.withFile(ES256PrivateKey.generate().pem) { path in
                let refused = try await gateway.control("app", "set", app, "--identity-key-file", path)
                #expect(refused.status == 65 && refused.errors.contains("not a public key"))
            }
            #expect(try await gateway.control("app", "set", app, "--identity-key-file", "/nowhere").status == 66)
            #expect(try await gateway.control("app", "set", app, "--open-device-routes", "maybe").status == 64)
            #expect(try await gateway.control("app", "set", app).status == 64)
            #expect(try await gateway.control("app", "set", "none", "--open-device-routes", "on").status == 64)
            let nobody = "7b1f4a52-3c1d-4e8f-9a6b-0c2d4e6f8a10"
            #expect(try await gateway.control("app", "set", nobody, "--open-device-routes", "on").status == 65)
        }
    }
}
