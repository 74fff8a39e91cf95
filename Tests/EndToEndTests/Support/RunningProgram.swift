import Foundation
import Synchronization
import TestSupport

/// A program of this package, running as a process of its own.
final class RunningProgram: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let process: Process
    private let log: URL
    private let exit: Task<Int32, Never>
    let readyLine: String

    /// Where the programs are: beside the test bundle.
    static let directory = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent()

    /// Starts the program and waits for its first line.
    static func start(_ name: String, _ arguments: [String] = [], environment: [String: String]) async throws -> RunningProgram {
        try await onThread {
            let log = try TestHTTPClient.temporaryFile([])
            let output = Pipe()
            let process = try launch(name, arguments, environment: environment, output: output, errors: log)
            let exit = waitForExit(of: process)
            guard let line = firstLine(of: output) else {
                let errors = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                throw Failure(description: "\(name) ended before it was ready: \(errors)")
            }
            return RunningProgram(process: process, log: log, exit: exit, readyLine: line)
        }
    }

    /// Runs a program to its end.
    static func run(
        _ name: String, _ arguments: [String], environment: [String: String]
    ) async throws -> (status: Int32, output: String, errors: String) {
        try await onThread {
            let log = try TestHTTPClient.temporaryFile([])
            defer { try? FileManager.default.removeItem(at: log) }
            let output = Pipe()
            let process = try launch(name, arguments, environment: environment, output: output, errors: log)
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (
                process.terminationStatus, String(decoding: bytes, as: UTF8.self),
                (try? String(contentsOf: log, encoding: .utf8)) ?? ""
            )
        }
    }

    private init(process: Process, log: URL, exit: Task<Int32, Never>, readyLine: String) {
        self.process = process
        self.log = log
        self.exit = exit
        self.readyLine = readyLine
    }

    private static func launch(
        _ name: String, _ arguments: [String], environment: [String: String], output: Pipe, errors: URL
    ) throws -> Process {
        let process = Process()
        process.executableURL = directory.appendingPathComponent(name)
        process.arguments = arguments
        process.environment = environment.merging(Sanitizer.options.merging(["PATH": "/usr/bin:/bin"]) { $1 }) { given, _ in given
        }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        return process
    }

    private static func firstLine(of pipe: Pipe) -> String? {
        var bytes: [UInt8] = []
        while bytes.last != UInt8(ascii: "\n") {
            guard let byte = try? pipe.fileHandleForReading.read(upToCount: 1), !byte.isEmpty else { return nil }
            bytes += byte
        }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }

    private static func waitForExit(of process: Process) -> Task<Int32, Never> {
        Task {
            (try? await onThread {
                process.waitUntilExit()
                return process.terminationStatus
            }) ?? -1
        }
    }

    var processID: Int32 { process.processIdentifier }
    /// What it wrote to standard error so far.
    var errors: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    /// Ends it as an operator does and waits; returns its exit status.
    @discardableResult func terminate() async -> Int32 { await end(with: SIGTERM) }

    /// Ends it as a crash does.
    func crash() async { _ = await end(with: SIGKILL) }

    /// Tells it to read its certificates again.
    func reload() { kill(processID, SIGHUP) }

    /// Descriptors it has open, and its resident memory in bytes.
    func resources() throws -> (descriptorCount: Int, residentByteCount: Int) {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd")
        let pages = try String(contentsOfFile: "/proc/\(processID)/statm", encoding: .utf8).split(separator: " ")
        guard pages.count > 1, let resident = Int(pages[1]) else { throw Failure(description: "no memory in statm") }
        return (descriptors.count, resident * sysconf(Int32(_SC_PAGESIZE)))
    }

    func waitForExit() async -> Int32 { await exit.value }

    private func end(with signal: Int32) async -> Int32 {
        kill(processID, signal)
        return await exit.value
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: log)
    }
}
