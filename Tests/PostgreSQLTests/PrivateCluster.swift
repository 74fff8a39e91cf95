import Foundation
import PostgreSQL

/// A PostgreSQL server of one test's own, which it may crash and freeze.
final class PrivateCluster: Sendable {
    let directory: String

    struct Failure: Error {
        let command: String
        let output: String
    }

    /// Makes the cluster and starts it. `name` tells it from others of this process.
    static func start(_ name: String = "crash") async throws -> PrivateCluster {
        let cluster = PrivateCluster(directory: checkout.appending(path: ".local/\(name)-\(getpid())").path)
        try await cluster.run("start")
        return cluster
    }

    /// Starts it again as a standby: it reads only, and waits for a primary that never speaks.
    func becomeStandby() async throws {
        try await run("stop")
        let location = try String(contentsOfFile: "\(directory)/location", encoding: .utf8).split(separator: "\n")[0]
        try Data().write(to: URL(filePath: "\(location)/data/standby.signal"))
        try await run("start")
    }

    private init(directory: String) { self.directory = directory }

    func options() async throws -> DatabaseOptions {
        try DatabaseOptions(url: try await run("url").trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// The process all others of the server come from.
    var postmaster: pid_t {
        get throws {
            let location = try String(contentsOfFile: "\(directory)/location", encoding: .utf8).split(separator: "\n")[0]
            let lines = try String(contentsOfFile: "\(location)/data/postmaster.pid", encoding: .utf8).split(separator: "\n")
            guard let process = pid_t(lines[0]) else { throw Failure(command: "postmaster.pid", output: String(lines[0])) }
            return process
        }
    }

    /// A command of deploy/lib/postgresql.
    @discardableResult
    func run(_ command: String) async throws -> String {
        let process = Process()
        process.executableURL = Self.checkout.appending(path: "deploy/lib/postgresql")
        process.arguments = [command, directory]
        let output = Pipe()
        process.standardOutput = output
        let status = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        guard status == 0 else { throw Failure(command: command, output: text) }
        return text
    }

    private static var checkout: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    }
}
