import Gateway
import JSON
import Networking

/// A running `openpushd`.
struct GatewayProcess: Sendable {
    /// How often the database is asked whether a fan-out is finished.
    private static let pollInterval: Duration = .milliseconds(20)
    /// How long a fan-out may take: this, and a second for so many devices.
    private static let patience: Duration = .seconds(60)
    private static let leastDevicesPerSecond = 2_000

    let process: RunningProgram
    let port: UInt16
    private let database: BenchmarkDatabase
    private let loop: EventLoop

    /// Starts a fresh daemon.
    ///
    /// - Parameters:
    ///   - sink: what plays APNs; nil when nothing is pushed.
    ///   - connectionsPerLoop: `OPENPUSH_APNS_CONNECTIONS`; nil for the default.
    ///   - settings: further variables.
    static func start(
        in workplace: Workplace, database: BenchmarkDatabase, sink: Sink?, connectionsPerLoop: Int? = nil,
        settings: [String: String] = [:]
    ) async throws -> GatewayProcess {
        var environment = [
            "OPENPUSH_DATABASE_URL": database.connectionString, "OPENPUSH_MASTER_KEY": database.masterKey,
            "OPENPUSH_LISTEN": "127.0.0.1:0", "OPENPUSH_LOG_LEVEL": "warning",
            "OPENPUSH_JOURNAL_DIRECTORY": try workplace.absolutePath("journal"),
        ]
        if let sink {
            environment["OPENPUSH_APNS_PRODUCTION_URL"] = "https://127.0.0.1:\(sink.port)"
            environment["OPENPUSH_APNS_CA_FILE"] = sink.rootsPath
        }
        if let connectionsPerLoop { environment["OPENPUSH_APNS_CONNECTIONS"] = "\(connectionsPerLoop)" }
        let process = try await workplace.start(
            [try workplace.program("openpushd")], environment: environment.merging(settings) { _, setting in setting },
            log: "openpushd", readyWhen: "openpushd listens on")
        guard let port = process.readyLine.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Failure("openpushd named no port: \(process.readyLine)")
        }
        return GatewayProcess(process: process, port: port, database: database, loop: workplace.loop)
    }

    func stop() async { await process.stop() }

    /// Starts an activity on everybody's phone and waits until all pushes are recorded; returns how many seconds that took.
    func pushToEverybody(_ start: SampleStart, activityID: String, devices: Int) async throws -> Double {
        let begunAt = ContinuousClock.now
        let path = "/apps/\(database.application.publicID)/activities/activity/\(start.activityType)"
        let accepted = try await send("POST", path, body: start.request(activityID: activityID))
        guard accepted.status == 201, let notification = accepted.json?["id"]?.string.flatMap({ UUID($0) }) else {
            throw Failure("the start was answered \(accepted.status): \(accepted.text)")
        }
        let deadline = begunAt + Self.patience + .seconds(devices / Self.leastDevicesPerSecond)
        while try await !database.isFinished(notification) {
            guard process.isRunning else { throw Failure("openpushd ended\(process.lastWords)") }
            guard ContinuousClock.now < deadline else {
                throw Failure("the fan-out did not finish: \(try await summary(of: notification).text)")
            }
            await loop.sleep(for: Self.pollInterval)
        }
        let seconds = begunAt.duration(to: .now) / .seconds(1)
        let outcome = try await summary(of: notification)
        guard outcome.json?["accepted"]?.integer == Int64(devices) else {
            throw Failure("not all were accepted: \(outcome.text)")
        }
        return seconds
    }

    private func summary(of notification: UUID) async throws -> GatewayClient.Answer {
        try await send("GET", "/v1/notifications/\(notification)")
    }

    private func send(_ method: String, _ path: String, body: [UInt8] = []) async throws -> GatewayClient.Answer {
        try await GatewayClient.send(method, path, body: body, port: port, key: database.restKey, loop: loop)
    }
}
