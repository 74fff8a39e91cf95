import Foundation
import TestSupport

/// A PostgreSQL server of one test, which can be stopped under a running daemon.
final class PrivateCluster: Sendable {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../deploy/lib/postgresql").standardized.path

    private let directory: URL
    let url: String

    /// Makes and starts one; it takes about two seconds.
    static func start() async throws -> PrivateCluster {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("openpushd-cluster-\(UUID().uuidString)")
        _ = try await run("start", directory)
        let url = try await run("url", directory)
        return PrivateCluster(directory: directory, url: url.trimmingCharacters(in: .newlines))
    }

    private init(directory: URL, url: String) {
        self.directory = directory
        self.url = url
    }

    /// Starts it again, on the same port.
    func start() async throws { _ = try await Self.run("start", directory) }

    /// Stops it; sessions are ended.
    func stop() async throws { _ = try await Self.run("stop", directory) }

    /// Stops all its processes in mid-stride: connections stay open, and nobody answers.
    func freeze() async throws { try await signal(SIGSTOP) }

    func thaw() async throws { try await signal(SIGCONT) }

    func remove() async {
        try? await thaw()
        _ = try? await Self.run("remove", directory)
    }

    private func signal(_ number: Int32) async throws {
        let location = try String(contentsOf: directory.appendingPathComponent("location"), encoding: .utf8)
        let file = URL(fileURLWithPath: location.trimmingCharacters(in: .newlines)).appendingPathComponent("data/postmaster.pid")
        guard let line = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").first, let server = pid_t(line)
        else {
            throw RunningProgram.Failure(description: "no process in postmaster.pid")
        }
        // The server first: until it is stopped it may start further sessions.
        kill(server, number)
        let children = try await onThread { try TestHTTPClient.run("pgrep", ["-P", "\(server)"]) }
        for child in String(decoding: children.output, as: UTF8.self).split(separator: "\n").compactMap({ pid_t($0) }) {
            kill(child, number)
        }
    }

    private static func run(_ command: String, _ directory: URL) async throws -> String {
        let result = try await onThread { try TestHTTPClient.run("env", [script, command, directory.path]) }
        guard result.status == 0 else { throw RunningProgram.Failure(description: "\(command): \(result.errors)") }
        return String(decoding: result.output, as: UTF8.self)
    }
}
