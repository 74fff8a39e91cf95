import Gateway
import JSON
import Networking

/// A running `openpushd` and a connection to it.
struct GatewayProcess: Sendable {
    /// How often it is asked whether a fan-out is finished: seldom enough to cost it nothing that shows.
    private static let pollInterval: Duration = .milliseconds(50)
    /// How long a fan-out may take: this, and a second for so many devices.
    private static let patience: Duration = .seconds(60)
    private static let leastDevicesPerSecond = 2_000

    let process: RunningProgram
    let client: GatewayClient
    let loop: EventLoop
    let applicationID: String

    /// Starts a fresh daemon.
    ///
    /// - Parameter connectionsPerLoop: `OPENPUSH_APNS_CONNECTIONS`; nil for the default.
    static func start(
        in workplace: Workplace, database: BenchmarkDatabase, sink: Sink, connectionsPerLoop: Int? = nil
    ) async throws -> GatewayProcess {
        var environment = [
            "OPENPUSH_DATABASE_URL": database.connectionString, "OPENPUSH_MASTER_KEY": database.masterKey,
            "OPENPUSH_LISTEN": "127.0.0.1:0", "OPENPUSH_APNS_PRODUCTION_URL": "https://127.0.0.1:\(sink.port)",
            "OPENPUSH_APNS_CA_FILE": sink.rootsPath, "OPENPUSH_LOG_LEVEL": "warning",
        ]
        if let connectionsPerLoop { environment["OPENPUSH_APNS_CONNECTIONS"] = "\(connectionsPerLoop)" }
        let process = try await workplace.start(
            [try workplace.program("openpushd")], environment: environment, log: "openpushd", readyWhen: "openpushd listens on")
        guard let port = process.readyLine.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Failure("openpushd named no port: \(process.readyLine)")
        }
        let client = try await GatewayClient.connect(port: port, key: database.restKey, loop: workplace.loop)
        return GatewayProcess(
            process: process, client: client, loop: workplace.loop, applicationID: "\(database.application.publicID)")
    }

    func stop() async {
        await client.close()
        await process.stop()
    }

    /// Starts an activity on everybody's phone and waits until all pushes were accepted and recorded.
    func pushToEverybody(_ start: SampleStart, activityID: String, devices: Int) async throws {
        let accepted = try await client.send(
            "POST", "/apps/\(applicationID)/activities/activity/\(start.activityType)",
            body: start.request(activityID: activityID))
        guard accepted.status == 201, let notification = accepted.json?["id"]?.string else {
            throw Failure("the start was answered \(accepted.status): \(String(decoding: accepted.body, as: UTF8.self))")
        }
        let deadline = ContinuousClock.now + Self.patience + .seconds(devices / Self.leastDevicesPerSecond)
        while true {
            let answer = try await client.send("GET", "/v1/notifications/\(notification)")
            let summary = String(decoding: answer.body, as: UTF8.self)
            guard answer.status == 200, let json = answer.json else {
                throw Failure("reading was answered \(answer.status): \(summary)")
            }
            if json["state"]?.string == "finished" {
                guard json["accepted"]?.integer == Int64(devices) else { throw Failure("not all were accepted: \(summary)") }
                return
            }
            guard ContinuousClock.now < deadline else { throw Failure("the fan-out did not finish: \(summary)") }
            await loop.sleep(for: Self.pollInterval)
        }
    }
}
