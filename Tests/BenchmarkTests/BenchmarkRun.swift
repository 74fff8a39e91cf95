import Foundation
import JSON
import Networking
import TestSupport

/// The program `benchmark`, running in a directory of its own.
final class BenchmarkRun: Sendable {
    let child: ChildProcess
    private let place: URL
    private var output: URL { place.appending(path: "output") }
    private var work: URL { place.appending(path: "work") }

    /// - Parameters:
    ///   - hasPlace: adds options that name where to work.
    ///   - isDirectoryTaken: puts a file where it is to work.
    init(_ arguments: [String], hasPlace: Bool = true, isDirectoryTaken: Bool = false) throws {
        place = FileManager.default.temporaryDirectory.appending(path: "openpushd-benchmark-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        if isDirectoryTaken {
            try FileManager.default.createDirectory(at: place.appending(path: "work"), withIntermediateDirectories: true)
        }
        let programs = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let checkout = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
        let options = ["--work-directory", place.appending(path: "work").path, "--checkout", checkout.path]
        child = try ChildProcess.start(
            ChildProcess.Command(
                [programs.appending(path: "benchmark").path] + arguments + (hasPlace ? options : []),
                environment: Sanitizer.options.merging(["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]) { $1 },
                outputPath: place.appending(path: "output").path,
                errorPath: place.appending(path: "errors").path))
    }

    deinit {
        child.signal(SIGKILL)
        try? FileManager.default.removeItem(at: place)
    }

    var errors: String { (try? String(contentsOf: place.appending(path: "errors"), encoding: .utf8)) ?? "" }
    var hasWorkDirectory: Bool { FileManager.default.fileExists(atPath: work.path) }

    /// Waits for the end and reads what was printed.
    func json() async throws -> JSONValue {
        let exit = await child.wait()
        guard exit == .status(0) else { throw TestHTTPClient.Failure("benchmark \(exit): \(errors)") }
        return try JSONDocument(parsing: Array(try Data(contentsOf: output))).root
    }

    /// Waits until a file of its directory has a line that begins so, and returns the rest of it.
    func line(of file: String, beginningWith start: String) async throws -> String {
        while child.isRunning {
            let text = (try? String(contentsOf: work.appending(path: file), encoding: .utf8)) ?? ""
            if text.hasSuffix("\n"), let line = text.split(separator: "\n").first(where: { $0.hasPrefix(start) }) {
                return String(line.dropFirst(start.count))
            }
            await Task.yield()
        }
        throw TestHTTPClient.Failure("benchmark ended before \(file) said \(start): \(errors)")
    }
}
