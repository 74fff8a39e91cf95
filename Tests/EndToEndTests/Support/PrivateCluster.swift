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

    func remove() async {
        _ = try? await Self.run("remove", directory)
    }

    private static func run(_ command: String, _ directory: URL) async throws -> String {
        let result = try await onThread { try TestHTTPClient.run("env", [script, command, directory.path]) }
        guard result.status == 0 else { throw RunningProgram.Failure(description: "\(command): \(result.errors)") }
        return String(decoding: result.output, as: UTF8.self)
    }
}
