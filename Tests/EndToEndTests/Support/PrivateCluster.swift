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

    /// Starts it again as a standby: it reads only, and waits for a primary that never speaks.
    func becomeStandby() async throws {
        try await stop()
        let location = try String(contentsOf: directory.appendingPathComponent("location"), encoding: .utf8)
        try Data().write(
            to: URL(fileURLWithPath: location.trimmingCharacters(in: .newlines)).appendingPathComponent("data/standby.signal"))
        try await start()
    }

    /// Stops it; sessions are ended.
    func stop() async throws { _ = try await Self.run("stop", directory) }

    /// Kills all its processes at once, as the loss of its machine does. It can be started again.
    func crash() async throws {
        let (server, file) = try server()
        // It starts no further session while its children are looked up.
        kill(server, SIGSTOP)
        let processes = try await children(of: server) + [server]
        for process in processes { kill(process, SIGKILL) }
        let deadline = ContinuousClock.now + .seconds(20)
        while !processes.allSatisfy(Self.isDead) {
            guard ContinuousClock.now < deadline else { throw RunningProgram.Failure(description: "PostgreSQL survives SIGKILL") }
            await Task.yield()
        }
        // Nobody has the data or the socket any more. Until the server is reaped, the next one would take it for alive.
        try FileManager.default.removeItem(at: file)
        let cluster = file.deletingLastPathComponent().deletingLastPathComponent()
        for name in try FileManager.default.contentsOfDirectory(atPath: cluster.path) where name.hasSuffix(".lock") {
            try FileManager.default.removeItem(at: cluster.appendingPathComponent(name))
        }
    }

    /// Whether nothing but its entry in the table of processes is left, if that.
    private static func isDead(_ process: pid_t) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
        return text.split(separator: ")").last?.hasPrefix(" Z") == true
    }

    /// Stops all its processes in mid-stride: connections stay open, and nobody answers.
    func freeze() async throws { try await signal(SIGSTOP) }

    func thaw() async throws { try await signal(SIGCONT) }

    func remove() async {
        try? await thaw()
        _ = try? await Self.run("remove", directory)
    }

    private func signal(_ number: Int32) async throws {
        let (server, _) = try server()
        // The server first: until it is stopped it may start further sessions.
        kill(server, number)
        for child in try await children(of: server) { kill(child, number) }
    }

    private func children(of server: pid_t) async throws -> [pid_t] {
        let found = try await onThread { try TestHTTPClient.run("pgrep", ["-P", "\(server)"]) }
        return String(decoding: found.output, as: UTF8.self).split(separator: "\n").compactMap { pid_t($0) }
    }

    /// Its process, and the file that names it.
    private func server() throws -> (process: pid_t, file: URL) {
        let location = try String(contentsOf: directory.appendingPathComponent("location"), encoding: .utf8)
        let file = URL(fileURLWithPath: location.trimmingCharacters(in: .newlines)).appendingPathComponent("data/postmaster.pid")
        guard let line = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").first, let server = pid_t(line)
        else {
            throw RunningProgram.Failure(description: "no process in postmaster.pid")
        }
        return (server, file)
    }

    private static func run(_ command: String, _ directory: URL) async throws -> String {
        let result = try await onThread { try TestHTTPClient.run("env", [script, command, directory.path]) }
        guard result.status == 0 else { throw RunningProgram.Failure(description: "\(command): \(result.errors)") }
        return String(decoding: result.output, as: UTF8.self)
    }
}
