import APNsSimulator
import Foundation
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("The doctor", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct DoctorTests {
    private func withGateway(_ body: (Deployment) async throws -> Void) async throws {
        try await Deployment.run(daemons: 0) { gateway in
            // As Apple: a token nobody was given is a bad one.
            try await gateway.simulator.changeSettings { $0.acceptsUnknownTokens = false }
            try await body(gateway)
        }
    }

    @Test("calls good credentials good")
    func isContent() async throws {
        try await withGateway { gateway in
            let result = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(result.status == 0, "\(result.errors)")
            for part in ["key", "team", "topic", "environment"] { #expect(result.answer?[part]?.string == "good") }
            #expect(result.answer?["good"]?.bool == true)
        }
    }

    @Test("names the part that is wrong, and forgets no other")
    func namesThePart() async throws {
        try await withGateway { gateway in
            let stranger = ES256PrivateKey.generate().publicKey
            func key(_ publicKey: ES256PublicKey, _ change: (inout ProviderKey) -> Void = { _ in }) -> ProviderKey {
                var key = ProviderKey(teamID: Deployment.teamID, keyID: Deployment.keyID, publicKey: publicKey)
                change(&key)
                return key
            }
            let known = gateway.signingKey.publicKey
            for (key, reason, part) in [
                (key(stranger), Reason.invalidProviderToken, "key"),
                (key(known) { $0.bundleIDs = ["com.example.other"] }, .topicDisallowed, "topic"),
                (key(known) { $0.environments = [.sandbox] }, .badEnvironmentKeyInToken, "environment"),
            ] {
                gateway.simulator.register(key)
                let result = try await gateway.control("doctor", "--app", gateway.app.id)
                #expect(result.status == 1, "\(reason)")
                #expect(result.answer?["answer"]?.string == reason.rawValue)
                #expect(result.answer?[part]?.string == "refused", "\(reason)")
                #expect(result.answer?["good"]?.bool == false)
                #expect(result.answer?["advice"]?.string?.isEmpty == false)
            }
        }
    }

    @Test("notices a key that Apple does not know")
    func noticesAStrangeKey() async throws {
        try await withGateway { gateway in
            gateway.simulator.revoke(keyID: Deployment.keyID)
            let result = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(result.status == 1)
            #expect(result.answer?["key"]?.string == "refused")
        }
    }

    @Test("notices an authority it does not trust, and a master key that opens nothing")
    func noticesTheConfiguration() async throws {
        try await withGateway { gateway in
            let stranger = try CertificateAuthority.generate(commonName: "Stranger")
            let roots = try TestHTTPClient.temporaryFile(stranger.certificatePEM)
            defer { try? FileManager.default.removeItem(at: roots) }
            for (name, value) in [
                ("OPENPUSH_APNS_CA_FILE", roots.path),
                ("OPENPUSH_MASTER_KEY", Base64.encode(RandomBytes.generate(count: 32))),
            ] {
                let result = try await RunningProgram.run(
                    "openpushctl", ["doctor", "--app", gateway.app.id],
                    environment: gateway.environment.merging([name: value]) { _, new in new })
                #expect(result.status == 1)
                #expect("\(result)".contains(name), "\(result)")
            }
            #expect(gateway.simulator.requests().isEmpty)
        }
    }

    @Test("asks for the channels of an app that uses them, and says how many there are or what to switch on")
    func asksForChannels() async throws {
        try await withGateway { gateway in
            #expect(try await gateway.control("app", "set", gateway.app.id, "--broadcast-channels", "on").status == 0)
            let good = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(good.status == 0, "\(good)")
            #expect(good.answer?["channels"]?.string == "good")
            #expect(good.answer?["advice"]?.string?.contains("0 of 10000") == true)

            try await gateway.simulator.changeSettings { $0.broadcastIsEnabled = false }
            let off = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(off.status == 1)
            #expect(off.answer?["topic"]?.string == "good")
            #expect(off.answer?["channels"]?.string == "refused")
            #expect(off.answer?["channels_answer"]?.string == "BroadcastFeatureNotEnabled")

            // What the key is refused for is said once.
            gateway.simulator.revoke(keyID: Deployment.keyID)
            let refused = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(refused.answer?["key"]?.string == "refused")
            #expect(refused.answer?["channels_answer"]?.string == "NotAsked")
        }
    }

    /// A gateway whose app has a service account, which the simulator takes for one of this project.
    private func withAccount(projectKnownAs project: String, _ body: (Deployment, GoogleAccount) async throws -> Void)
        async throws
    {
        try await withGateway { gateway in
            let json = GoogleAccount.makeServiceAccount(projectID: "example-project")
            let real = try #require(GoogleAccount(serviceAccount: json))
            let account = GoogleAccount(
                projectID: project, email: real.email, keyID: real.keyID, publicKey: real.publicKey)
            gateway.simulator.google.register(account)
            let file = try TestHTTPClient.temporaryFile(json)
            defer { try? FileManager.default.removeItem(at: file) }
            let changed = try await gateway.control(
                "app", "set", gateway.app.id, "--android-package", "com.example.android", "--fcm-key-file", file.path)
            #expect(changed.status == 0, "\(changed.errors)")
            try await body(gateway, account)
        }
    }

    @Test("calls a service account good beside APNs, and names what Google refuses")
    func asksGoogle() async throws {
        try await withAccount(projectKnownAs: "example-project") { gateway, account in
            let good = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(good.status == 0, "\(good)")
            for part in ["key", "topic", "fcm_account", "fcm_project"] {
                #expect(good.answer?[part]?.string == "good", "\(part)")
            }

            // An access token that lives is good until Google takes it back.
            gateway.simulator.google.revoke(keyID: account.keyID)
            gateway.simulator.google.revokeAccessTokens()
            let revoked = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(revoked.status == 1)
            #expect(revoked.answer?["fcm_account"]?.string == "refused", "\(revoked)")
            #expect(revoked.answer?["key"]?.string == "good")
        }
        try await withAccount(projectKnownAs: "another-project") { gateway, _ in
            let refused = try await gateway.control("doctor", "--app", gateway.app.id)
            #expect(refused.status == 1)
            #expect(refused.answer?["fcm_account"]?.string == "good", "\(refused)")
            #expect(refused.answer?["fcm_project"]?.string == "refused")
        }
    }

    @Test("does without APNs for an app that has a service account only")
    func asksGoogleAlone() async throws {
        try await withGateway { gateway in
            let json = GoogleAccount.makeServiceAccount(projectID: "android-only")
            gateway.simulator.google.register(try #require(GoogleAccount(serviceAccount: json)))
            let file = try TestHTTPClient.temporaryFile(json)
            defer { try? FileManager.default.removeItem(at: file) }
            let made = try await gateway.control(
                "app", "create", "--name", "Android", "--android-package", "com.example.android", "--fcm-key-file", file.path)
            let id = try #require(made.answer?["app_id"]?.string)
            let result = try await gateway.control("doctor", "--app", id)
            #expect(result.status == 0, "\(result)")
            #expect(result.answer?["key"] == nil)
            #expect(gateway.simulator.requests().isEmpty)
        }
    }
}
