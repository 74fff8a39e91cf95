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

    @Test("says what was typed wrongly, and what is right")
    func explainsMistakes() async throws {
        for (arguments, text) in [
            (["app"], "there are: app create, app list, app set"), (["app", "set"], "--app is missing"),
            (["key", "revoke"], "--key-id is missing"), (["app", "list", "all"], "'all' is one word too many"),
            (["app", "list", "--jsn"], "--jsn has no value, or is no option at all"),
            (["key", "create", "--kind", ""], "--app is missing"),
            (["app", "set", "x", "--app", "y"], "'x' and --app say the same"), (["sing"], "there is no command 'sing'"),
        ] {
            let result = try await RunningProgram.run("openpushctl", arguments, environment: [:])
            #expect(result.status == 64, "\(arguments)")
            #expect(result.errors.contains(text), "\(arguments): \(result.errors)")
        }
        for arguments in [["help"], ["--help"]] {
            #expect(
                try await RunningProgram.run("openpushctl", arguments, environment: [:]).output.contains("usage: openpushctl"))
        }
        for program in ["openpushctl", "openpushd"] {
            #expect(try await RunningProgram.run(program, ["--version"], environment: [:]).output.hasPrefix("\(program) "))
        }
    }

    @Test("takes what a command works on as a word or as an option, and names each wrong filter")
    func takesBothForms() async throws {
        try await Deployment.run(daemons: 0) { gateway in
            for words in [["app", "set", gateway.app.id], ["app", "set", "--app", gateway.app.id]] {
                let result = try await RunningProgram.run(
                    "openpushctl", words + ["--live-notifications", "on"], environment: gateway.environment)
                #expect(result.status == 0, "\(result)")
            }
            let listed = try await RunningProgram.run("openpushctl", ["app", "list"], environment: gateway.environment)
            #expect(listed.output.contains("live notifications on"), "\(listed)")
            let wrong = try await gateway.control(
                "segment", "create", "--app", gateway.app.id, "--name", "N", "--filters", #"[{"field":"tagg"},{"field":"tog"}]"#)
            #expect(wrong.status == 65)
            #expect(wrong.errors.contains("filters[0]") && wrong.errors.contains("filters[1]"), "\(wrong)")
            #expect(!wrong.errors.contains("FieldErrors"))
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
            let listed = try await RunningProgram.run("openpushctl", ["app", "list"], environment: environment)
            #expect(listed.status == 0)
            #expect(listed.output.contains("There is no app yet"))
        }
    }

    @Test("says that the database is away")
    func missesTheDatabase() async throws {
        let environment = ["OPENPUSH_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"]
        let result = try await RunningProgram.run("openpushctl", ["app", "list"], environment: environment)
        #expect(result.status == 69)
        #expect(result.errors.contains("OPENPUSH_DATABASE_URL"))
        // What libpq says of it.
        #expect(result.errors.lowercased().contains("connection refused"), "\(result.errors)")
    }
}
