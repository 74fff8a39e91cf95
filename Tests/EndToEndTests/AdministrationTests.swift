import APNsSimulator
import Foundation
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("openpushctl", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct AdministrationTests {
    @Test("prints one JSON object for every command")
    func printsJSON() async throws {
        try await Deployment.run(daemons: 0) { gateway in
            let app = gateway.app.id
            let applied = try await gateway.control("schema", "apply")
            #expect(applied.status == 0 && applied.answer?["applied"]?.bool == true)
            let apps = try await gateway.control("app", "list")
            #expect(apps.answer?["apps"]?.elements.map { $0["app_id"]?.string } == [app])
            let created = try await gateway.control("key", "create", "--app", app, "--kind", "read")
            let keyID = try #require(created.answer?["key_id"]?.string)
            #expect(created.answer?["key"]?.string?.isEmpty == false)
            #expect(created.answer?["app_id"]?.string == app)
            let keys = try await gateway.control("key", "list")
            #expect(keys.answer?["keys"]?.elements.count == 4)
            #expect(keys.answer?["keys"]?.elements.allSatisfy { $0["key"] == nil } == true)
            let revoked = try await gateway.control("key", "revoke", "--key-id", keyID)
            #expect(revoked.status == 0 && revoked.answer?["key_id"]?.string == keyID)
            let segment = try await gateway.control(
                "segment", "create", "--app", app, "--name", "German",
                "--filters", #"[{"field":"language","relation":"=","value":"de"}]"#)
            #expect(segment.status == 0 && segment.answer?["segment_id"]?.string != nil)
        }
    }

    @Test(
        "says what is wrong with a command, and that by its exit status",
        arguments: [
            (["frobnicate"], 64, "frobnicate"), ([], 64, ""), (["app", "delete"], 64, "app delete"),
            (["key", "create", "--kind", "rest"], 64, "--app"), (["key", "list", "--colour", "red"], 64, "--colour"),
            (["key", "create", "--app", "x", "--kind", "rest"], 64, "--app"),
            (["app", "create", "--name", " ", "--bundle-id", "com.example"], 64, "--name"),
        ] as [([String], Int32, String)])
    func refusesCommands(arguments: [String], status: Int32, text: String) async throws {
        let result = try await RunningProgram.run("openpushctl", arguments, environment: [:])
        #expect(result.status == status)
        #expect(text.isEmpty || result.errors.contains(text), "\(result.errors)")
    }

    @Test("refuses what does not exist, and keys that are none")
    func refusesData() async throws {
        try await Deployment.run(daemons: 0) { gateway in
            let nobody = "7b1f4a52-3c1d-4e8f-9a6b-0c2d4e6f8a10"
            for arguments in [
                ["key", "create", "--app", nobody, "--kind", "rest"], ["key", "revoke", "--key-id", nobody],
                ["segment", "create", "--app", gateway.app.id, "--name", "S", "--filters", "[]"],
                ["doctor", "--app", nobody],
            ] {
                let result = try await RunningProgram.run("openpushctl", arguments, environment: gateway.environment)
                #expect(result.status == 65, "\(arguments): \(result.status) \(result.errors)")
                #expect(!result.errors.isEmpty)
            }
            let notAKey = try TestHTTPClient.temporaryFile(Array("hello".utf8))
            defer { try? FileManager.default.removeItem(at: notAKey) }
            for (file, status) in [(notAKey.path, Int32(65)), ("/nonexistent", 66)] {
                let result = try await gateway.control(
                    "app", "create", "--name", "N", "--bundle-id", "com.example", "--team-id", "TEAM123456", "--key-id",
                    "KEY7654321", "--key-file", file)
                #expect(result.status == status, "\(result.errors)")
                #expect(result.errors.contains(file))
            }
        }
    }

    @Test("says that the schema is missing, and what to do")
    func missesTheSchema() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let environment = ["OPENPUSH_DATABASE_URL": database.url]
            let before = try await RunningProgram.run("openpushctl", ["app", "list"], environment: environment)
            #expect(before.status != 0)
            #expect(before.errors.contains("openpushctl schema apply"), "\(before.errors)")
            for _ in 0..<2 {
                #expect(try await RunningProgram.run("openpushctl", ["schema", "apply"], environment: environment).status == 0)
            }
            #expect(try await RunningProgram.run("openpushctl", ["app", "list"], environment: environment).status == 0)
        }
    }

    @Test("says that the database is away")
    func missesTheDatabase() async throws {
        let environment = ["OPENPUSH_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"]
        let result = try await RunningProgram.run("openpushctl", ["app", "list"], environment: environment)
        #expect(result.status == 69)
        #expect(result.errors.contains("OPENPUSH_DATABASE_URL"))
    }
}

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
                #expect("\(result.output)\(result.errors)".contains(name), "\(result)")
            }
            #expect(gateway.simulator.requests().isEmpty)
        }
    }
}
