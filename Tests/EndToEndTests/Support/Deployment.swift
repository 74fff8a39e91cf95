import APNsSimulator
import Foundation
import HTTP
import JSON
import Security
import Synchronization
import TestSupport

/// A gateway as an operator runs it: PostgreSQL, a simulated APNs, `openpushd` as a process, an app with its keys.
final class Deployment: Sendable {
    static let teamID = "TEAM123456"
    static let keyID = "KEY1234567"
    static let bundleID = "com.example.app"
    static let activityType = "MatchAttributes"

    /// Nil when the test brought a database of its own.
    private let testDatabase: TestDatabase?
    let simulator: Simulator
    /// The key of the .p8 file, which the simulator knows.
    let signingKey: ES256PrivateKey
    let environment: [String: String]
    let app: App
    private let files: URL
    private let daemons = Mutex<[RunningProgram]>([])

    /// An app with one key of each kind.
    struct App: Sendable {
        let id: String
        let restKey: String
        let clientKey: String
        let readKey: String
    }

    /// Builds everything, lends it to `body`, and takes it down whatever happens.
    ///
    /// - Parameter databaseURL: of an empty database, which the caller takes down; nil makes one.
    static func run(
        daemons count: Int = 1, settings: [String: String] = [:], databaseURL: String? = nil,
        _ body: (Deployment) async throws -> Void
    ) async throws {
        let deployment = try await Deployment(settings: settings, databaseURL: databaseURL)
        do {
            for _ in 0..<count { try await deployment.startDaemon() }
            try await body(deployment)
        } catch {
            await deployment.end()
            throw error
        }
        await deployment.end()
    }

    private init(settings: [String: String], databaseURL: String?) async throws {
        files = FileManager.default.temporaryDirectory.appendingPathComponent("openpushd-deployment-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        let key = ES256PrivateKey.generate()
        signingKey = key
        var configuration = SimulatorConfiguration()
        configuration.keys = [ProviderKey(teamID: Self.teamID, keyID: Self.keyID, publicKey: key.publicKey)]
        simulator = try await Simulator.start(configuration)
        testDatabase = databaseURL == nil ? try await TestDatabase.make() : nil
        let roots = files.appendingPathComponent("apns-ca.pem")
        try Data(simulator.certificateAuthority.certificatePEM).write(to: roots)
        try Data(key.pem).write(to: files.appendingPathComponent("AuthKey.p8"))
        environment = [
            "OPENPUSH_DATABASE_URL": databaseURL ?? testDatabase?.url ?? "", "OPENPUSH_LISTEN": "127.0.0.1:0",
            "OPENPUSH_APNS_PRODUCTION_URL": "https://\(simulator.productionAddress)",
            "OPENPUSH_APNS_SANDBOX_URL": "https://\(simulator.sandboxAddress)",
            "OPENPUSH_APNS_CHANNELS_PRODUCTION_URL": "https://\(simulator.productionManagementAddress)",
            "OPENPUSH_APNS_CHANNELS_SANDBOX_URL": "https://\(simulator.sandboxManagementAddress)",
            "OPENPUSH_APNS_CA_FILE": roots.path,
            "OPENPUSH_FCM_URL": "https://\(simulator.googleAddress)",
            "OPENPUSH_GOOGLE_TOKEN_URL": "https://\(simulator.googleAddress)", "OPENPUSH_GOOGLE_CA_FILE": roots.path,
            "OPENPUSH_JOURNAL_DIRECTORY": files.appendingPathComponent("journal").path,
            "OPENPUSH_MASTER_KEY": Base64.encode(RandomBytes.generate(count: 32)), "OPENPUSH_LOG_LEVEL": "info",
        ].merging(settings) { _, setting in setting }
        if databaseURL != nil { _ = try await Self.control(environment, ["schema", "apply"]) }
        app = try await Self.createApp(environment, keyFile: files.appendingPathComponent("AuthKey.p8").path)
    }

    private static func createApp(
        _ environment: [String: String], keyFile: String, bundleID: String = bundleID, keyID: String = keyID
    ) async throws -> App {
        let created = try await control(
            environment,
            [
                "app", "create", "--name", "Test", "--bundle-id", bundleID, "--team-id", teamID, "--key-id", keyID, "--key-file",
                keyFile,
            ])
        guard let id = created["app_id"]?.string else { throw RunningProgram.Failure(description: "no app_id in the answer") }
        var keys: [String] = []
        for kind in ["rest", "client", "read"] {
            let answer = try await control(environment, ["key", "create", "--app", id, "--kind", kind])
            keys.append(answer["key"]?.string ?? "")
        }
        return App(id: id, restKey: keys[0], clientKey: keys[1], readKey: keys[2])
    }

    private static func control(_ environment: [String: String], _ arguments: [String]) async throws -> JSONValue {
        let result = try await RunningProgram.run("openpushctl", arguments + ["--json"], environment: environment)
        guard result.status == 0 else { throw RunningProgram.Failure(description: "openpushctl \(arguments): \(result.errors)") }
        return try JSONDocument(parsing: Array(result.output.utf8.dropLast())).root
    }

    /// Another app, with the same signing key, or with another one of the same team.
    func createApp(bundleID: String = bundleID, keyID: String = keyID) async throws -> App {
        if keyID != Self.keyID {
            simulator.register(ProviderKey(teamID: Self.teamID, keyID: keyID, publicKey: signingKey.publicKey))
        }
        return try await Self.createApp(
            environment, keyFile: files.appendingPathComponent("AuthKey.p8").path, bundleID: bundleID, keyID: keyID)
    }

    /// Runs `openpushctl` with `--json`; its exit status and what it printed.
    func control(_ arguments: String...) async throws -> (status: Int32, answer: JSONValue?, errors: String) {
        let result = try await RunningProgram.run("openpushctl", arguments + ["--json"], environment: environment)
        return (result.status, try? JSONDocument(parsing: Array(result.output.utf8)).root, result.errors)
    }

    @discardableResult func startDaemon(settings: [String: String] = [:]) async throws -> RunningProgram {
        let daemon = try await RunningProgram.start(
            "openpushd", environment: environment.merging(settings) { _, setting in setting })
        daemons.withLock { $0.append(daemon) }
        return daemon
    }

    /// Files of the workers' journals.
    var journals: [String] {
        let path = files.appendingPathComponent("journal").path
        return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// The database that was made for the test.
    var database: TestDatabase {
        guard let testDatabase else { preconditionFailure("the test brought its own database") }
        return testDatabase
    }

    var daemon: RunningProgram { daemons.withLock { $0[$0.count - 1] } }

    /// The port of a daemon; that of the newest by default.
    func port(of daemon: RunningProgram? = nil) throws -> UInt16 {
        let line = (daemon ?? self.daemon).readyLine
        guard let text = line.split(separator: ":").last, let port = UInt16(text) else {
            throw RunningProgram.Failure(description: "no port in: \(line)")
        }
        return port
    }

    func client(of daemon: RunningProgram? = nil, version: TestHTTPClient.Version = .http1) throws -> TestHTTPClient {
        TestHTTPClient(port: try port(of: daemon), version: version)
    }

    private func end() async {
        for daemon in daemons.withLock({ $0 }) { await daemon.crash() }
        await simulator.stop()
        await testDatabase?.drop()
        try? FileManager.default.removeItem(at: files)
    }
}
