import Configuration
import Glibc
import Networking
import Observability

/// Something a benchmark cannot go on without.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The directory a benchmark works in, and the programs it runs from there. Everything is ended and removed with it.
struct Workplace: Sendable {
    /// How long a program may take to be ready.
    static let readyTimeout: Duration = .seconds(30)
    /// How long a program may take to end before it is killed; a daemon drains within `OPENPUSH_DRAIN_SECONDS`.
    static let endTimeout: Duration = .seconds(10)
    /// How often a file is looked at for the word of a program.
    private static let lookInterval: Duration = .milliseconds(10)

    let directory: String
    /// The top of the project's files.
    let checkout: String
    let loop: EventLoop
    /// Where the programs of this package are: beside this one.
    let programs: String
    /// Whether the directory stays.
    let isKept: Bool

    /// Makes the directory, or takes up one that was kept.
    static func open(directory: String, checkout: String, isKept: Bool, loop: EventLoop) async throws -> Workplace {
        let workplace = Workplace(
            directory: directory, checkout: checkout, loop: loop, programs: try Self.ownDirectory(), isKept: isKept)
        guard SystemFile.isExecutable(workplace.postgresqlScript) else {
            throw Failure("there is no \(workplace.postgresqlScript): run at the top of the checkout, or say --checkout PATH")
        }
        let mark = workplace.path("benchmark-work-directory")
        if SystemFile.exists(directory), !SystemFile.exists(mark) {
            throw Failure("\(directory) is there already and no work directory of a benchmark: choose another one")
        }
        _ = try await workplace.run(["mkdir", "-p", directory], log: nil)
        try SystemFile.write([], to: mark)
        if !isKept {
            _ = try await Undoing.ofProcess.add {
                await workplace.undo(by: ["rm", "-rf", directory])
            }
        }
        return workplace
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// The same from the root on, for programs that want it so.
    func absolutePath(_ name: String) throws -> String {
        guard let top = SystemFile.absolutePath(directory) else { throw Failure("there is no \(directory)") }
        return "\(top)/\(name)"
    }

    var postgresqlScript: String { "\(checkout)/deploy/lib/postgresql" }

    /// A program of this package.
    func program(_ name: String) throws -> String {
        let path = "\(programs)/\(name)"
        guard SystemFile.isExecutable(path) else { throw Failure("there is no \(path): build it with swift build -c release") }
        return path
    }

    /// Whether a tool is on the `PATH`.
    static func hasTool(_ name: String) -> Bool {
        let directories = (variables["PATH"] ?? "").split(separator: ":")
        return directories.contains { SystemFile.isExecutable("\($0)/\(name)") }
    }

    /// What every program sees of this one's environment. A gateway's settings do not come through.
    static let variables = ProcessEnvironment.variables().filter { !$0.key.hasPrefix("OPENPUSH_") }

    private static func ownDirectory() throws -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        // The buffer is longer than any path, and its last byte stays 0.
        let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count - 1)
        guard count > 0 else { throw Failure("/proc/self/exe cannot be read") }
        let path = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    }

    // MARK: Programs

    /// Runs a program to its end and returns what it printed.
    ///
    /// - Parameter log: the name of its files in the directory; nil keeps nothing.
    func run(_ arguments: [String], environment: [String: String] = [:], log: String?) async throws -> String {
        let running = try await launch(arguments, environment: environment, log: log)
        let exit = await running.child.wait()
        await Undoing.ofProcess.undo(running.undoing)
        guard exit == .status(0) else {
            throw Failure("\(arguments.joined(separator: " ")) \(exit)\(running.lastWords)")
        }
        return running.outputPath.flatMap(SystemFile.read) ?? ""
    }

    /// Runs a program that undoes something; it is not itself ended by the end.
    func undo(by arguments: [String]) async {
        // Where it cannot be started, what is left is under a name the caller chose.
        guard let child = try? ChildProcess.start(ChildProcess.Command(arguments, environment: Self.variables)) else { return }
        _ = await child.wait()
    }

    /// Starts a program and waits until its output or its errors have a line that begins with `word`.
    func start(
        _ arguments: [String], environment: [String: String] = [:], log: String, readyWhen word: String
    ) async throws -> RunningProgram {
        let running = try await launch(arguments, environment: environment, log: log)
        let deadline = ContinuousClock.now + Self.readyTimeout
        while ContinuousClock.now < deadline {
            for path in [running.outputPath, running.errorPath].compactMap(\.self) {
                guard let text = SystemFile.read(path), let end = text.lastIndex(of: "\n") else { continue }
                if let line = text[..<end].split(separator: "\n").first(where: { $0.hasPrefix(word) }) {
                    return RunningProgram(running, readyLine: String(line))
                }
            }
            guard running.child.isRunning else { break }
            await loop.sleep(for: Self.lookInterval)
        }
        await Undoing.ofProcess.undo(running.undoing)
        throw Failure("\(arguments.joined(separator: " ")) did not become ready\(running.lastWords)")
    }

    private func launch(_ arguments: [String], environment: [String: String], log: String?) async throws -> Launched {
        let outputPath = log.map { path("\($0).output") }
        let errorPath = log.map { path("\($0).errors") }
        let child = try ChildProcess.start(
            ChildProcess.Command(
                arguments, environment: Self.variables.merging(environment) { _, given in given }, outputPath: outputPath,
                errorPath: errorPath))
        let undoing = try await Undoing.ofProcess.add { [loop] in await Self.end(child, on: loop) }
        return Launched(child: child, outputPath: outputPath, errorPath: errorPath, undoing: undoing)
    }

    private static func end(_ child: ChildProcess, on loop: EventLoop) async {
        guard child.isRunning else { return }
        child.signal(SIGTERM)
        let killing = Task {
            await loop.sleep(for: endTimeout)
            if !Task.isCancelled { child.signal(SIGKILL) }
        }
        _ = await child.wait()
        killing.cancel()
    }
}

/// A program that was started.
struct Launched: Sendable {
    let child: ChildProcess
    let outputPath: String?
    let errorPath: String?
    let undoing: Int

    /// The end of what it complained of, for an error message.
    var lastWords: String {
        let text = [errorPath, outputPath].compactMap(\.self).compactMap(SystemFile.read).first { !$0.isEmpty }
        return text.map { ": \($0.split(separator: "\n").suffix(5).joined(separator: " | "))" } ?? ""
    }
}

/// A program that is ready.
struct RunningProgram: Sendable {
    private let launched: Launched
    /// The line by which it said so.
    let readyLine: String

    init(_ launched: Launched, readyLine: String) {
        self.launched = launched
        self.readyLine = readyLine
    }

    var processID: Int32 { launched.child.processID }
    var isRunning: Bool { launched.child.isRunning }
    /// The end of what it complained of, for an error message.
    var lastWords: String { launched.lastWords }

    /// Ends it and waits.
    func stop() async { await Undoing.ofProcess.undo(launched.undoing) }
}
