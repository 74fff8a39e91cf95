import Foundation
import Security
import TestSupport
import Testing

@Suite("The daemon's configuration", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct EnvironmentTests {
    @Test("is refused as a whole: every wrong variable is named at once, secrets are not shown")
    func namesEveryMistake() async throws {
        let wrong = [
            "OPENPUSH_DATABASE_URL": "hunter2", "OPENPUSH_LISTEN": "nowhere", "OPENPUSH_TLS_CERTIFICATE": "/nonexistent",
            "OPENPUSH_APNS_PRODUCTION_URL": "http://a", "OPENPUSH_APNS_SANDBOX_URL": "x", "OPENPUSH_APNS_CA_FILE": "/nonexistent",
            "OPENPUSH_APNS_CONNECTIONS": "0", "OPENPUSH_MASTER_KEY": "c2hvcnQ=", "OPENPUSH_LOG_LEVEL": "loud",
            "OPENPUSH_LOG_FORMAT": "xml", "OPENPUSH_EVENT_LOOPS": "-1", "OPENPUSH_DRAIN_SECONDS": "1.5",
            "OPENPUSH_LISTNE": "127.0.0.1:1",
        ]
        let result = try await RunningProgram.run("openpushd", [], environment: wrong)
        #expect(result.status == 78)
        #expect(result.output.isEmpty)
        for name in wrong.keys { #expect(result.errors.contains(name), "\(name): \(result.errors)") }
        #expect(!result.errors.contains("hunter2"))
        #expect(!result.errors.contains("c2hvcnQ="))
    }

    @Test("is refused with a database URL that libpq cannot read, which is not shown", arguments: ["openpushd", "openpushctl"])
    func readsDatabaseURL(program: String) async throws {
        let result = try await RunningProgram.run(
            program, program == "openpushd" ? [] : ["app", "list"],
            environment: [
                "OPENPUSH_DATABASE_URL": "postgresql://user:hunter2@[::1/x", "OPENPUSH_LISTEN": "127.0.0.1:0",
                "OPENPUSH_MASTER_KEY": Base64.encode([UInt8](repeating: 1, count: 32)),
            ])
        #expect(result.status == 78)
        #expect(result.errors.contains("OPENPUSH_DATABASE_URL: "), "\(result.errors)")
        #expect(!result.errors.contains("hunter2"))
    }

    @Test("is refused without what it cannot do without")
    func needsDatabaseAndKey() async throws {
        let result = try await RunningProgram.run("openpushd", [], environment: [:])
        #expect(result.status == 78)
        #expect(result.errors.contains("OPENPUSH_DATABASE_URL") && result.errors.contains("OPENPUSH_MASTER_KEY"))
    }

    @Test("may be in files, named by the variable with _FILE behind it, but not twice")
    func readsFiles() async throws {
        try await Deployment.run(daemons: 0) { gateway in
            var environment = gateway.environment
            var files: [URL] = []
            defer { for file in files { try? FileManager.default.removeItem(at: file) } }
            for name in ["OPENPUSH_DATABASE_URL", "OPENPUSH_MASTER_KEY", "OPENPUSH_LISTEN"] {
                let file = try TestHTTPClient.temporaryFile(Array("\(environment[name] ?? "")\n".utf8))
                files.append(file)
                environment[name] = nil
                environment["\(name)_FILE"] = file.path
            }
            let daemon = try await RunningProgram.start("openpushd", environment: environment)
            let client = try gateway.client(of: daemon)
            #expect(try await client.send("GET", "/readyz").status == 200)
            #expect(await daemon.terminate() == 0)

            environment["OPENPUSH_MASTER_KEY"] = gateway.environment["OPENPUSH_MASTER_KEY"]
            let twice = try await RunningProgram.run("openpushd", [], environment: environment)
            #expect(twice.status == 78)
            #expect(twice.errors.contains("OPENPUSH_MASTER_KEY"))
        }
    }

    @Test("may name several addresses to listen on")
    func listensOnSeveral() async throws {
        try await Deployment.run(settings: ["OPENPUSH_LISTEN": "127.0.0.1:0,[::1]:0"]) { gateway in
            let addresses = gateway.daemon.readyLine.split(separator: " ").filter { $0.hasPrefix("http://") }
            #expect(addresses.count == 2)
            for address in addresses {
                let port = try #require(address.split(separator: ":").last)
                let host = address.contains("[::1]") ? "[::1]" : "127.0.0.1"
                let answer = try await onThread { try TestHTTPClient.run("curl", ["-sS", "http://\(host):\(port)/livez"]) }
                #expect(answer.status == 0, "\(answer.errors)")
            }
        }
    }

    @Test("with an address somebody else listens on is an error that names it")
    func namesTheAddressInUse() async throws {
        try await Deployment.run { gateway in
            let address = "127.0.0.1:\(try gateway.port())"
            let environment = gateway.environment.merging(["OPENPUSH_LISTEN": address]) { _, new in new }
            let result = try await RunningProgram.run("openpushd", [], environment: environment)
            #expect(result.status != 0)
            #expect(result.output.isEmpty)
            #expect(result.errors.contains(address), "\(result.errors)")
            #expect(result.errors.contains("Address already in use"), "\(result.errors)")
        }
    }
}
