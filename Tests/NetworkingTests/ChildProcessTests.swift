import Foundation
import Glibc
import TestSupport
import Testing

@testable import Networking

@Suite("Child process", .timeLimit(.minutes(1))) struct ChildProcessTests {
    private static func start(_ script: String, environment: [String: String] = [:], output: URL? = nil) throws -> ChildProcess {
        try ChildProcess.start(
            ChildProcess.Command(
                ["sh", "-c", script], environment: environment, outputPath: output?.path, errorPath: output?.path))
    }

    private static func text(of file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

    @Test("tells with which status it ended", arguments: [0, 3, 255] as [Int32])
    func status(number: Int32) async throws {
        let child = try Self.start("exit \(number)")
        #expect(await child.wait() == .status(number))
        #expect(!child.isRunning)
        // The number may belong to another process by now.
        child.signal(SIGKILL)
        #expect(await child.wait() == .status(number))
    }

    @Test("tells which signal ended it")
    func signalled() async throws {
        let child = try Self.start("kill -KILL $$")
        #expect(await child.wait() == .signal(SIGKILL))
    }

    @Test("sees the variables and the directory it is given, and writes to its files")
    func surroundings() async throws {
        let file = try TestHTTPClient.temporaryFile([])
        defer { try? FileManager.default.removeItem(at: file) }
        var command = ChildProcess.Command(
            ["sh", "-c", "echo $ONE-$HOME; pwd; echo wrong >&2; read line || echo end"],
            environment: ["ONE": "1", "PATH": "/bin"])
        command.outputPath = file.path
        command.errorPath = file.path
        command.directory = "/usr"
        let child = try ChildProcess.start(command)
        #expect(await child.wait() == .status(0))
        #expect(try Self.text(of: file) == "1-\n/usr\nwrong\nend\n")
    }

    @Test("passes a signal on to what it started")
    func group() async throws {
        let file = try TestHTTPClient.temporaryFile([])
        defer { try? FileManager.default.removeItem(at: file) }
        let child = try Self.start(
            "(trap 'echo inner; exit' TERM; echo ready; while :; do sleep 0.02; done) & wait",
            environment: ["PATH": "/usr/bin:/bin"],
            output: file)
        while try !Self.text(of: file).contains("ready") { await Task.yield() }
        child.signal(SIGTERM)
        #expect(await child.wait() == .signal(SIGTERM))
        while try !Self.text(of: file).contains("inner") { await Task.yield() }
    }

    @Test("can be ended although its starter blocks and ignores signals")
    func mask() async {
        await #expect(processExitsWith: .success) {
            try Signals.block([SIGTERM])
            Signals.ignoreBrokenPipes()
            let child = try ChildProcess.start(ChildProcess.Command(["sleep", "60"], environment: [:]))
            let pipe = try ChildProcess.start(ChildProcess.Command(["sh", "-c", "kill -PIPE $$"], environment: [:]))
            child.signal(SIGTERM)
            let exits = await [child.wait(), pipe.wait()]
            exit(exits == [.signal(SIGTERM), .signal(SIGPIPE)] ? 0 : 1)
        }
    }

    @Test("that does not exist is an error")
    func missing() {
        #expect(throws: SystemError(operation: "start /no/such/program", code: ENOENT)) {
            try ChildProcess.start(ChildProcess.Command(["/no/such/program"], environment: [:]))
        }
    }
}
