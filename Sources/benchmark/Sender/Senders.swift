import JSON

/// What one run of a sender cost.
struct SenderFigures {
    let cpuMicrosecondsPerPush: Double
    let pushesPerSecond: Double
    /// Nil where it is not known.
    let peakByteCount: Int?
}

/// Runs senders as programs of their own, pinned to one core.
struct Senders: Sendable {
    /// Connections of all senders but where answers come late; as h2load-reference has them.
    static let connectionCount = 4
    /// Pushes of the bare sender before its clock runs; few when few are measured.
    private static let warmUpCount = 50_000

    let workplace: Workplace
    let benchDirectory: String?
    /// Why h2load is not run; nil when it is.
    let missing: String?

    init(workplace: Workplace, benchDirectory: String?, sinks: SinkMaker) {
        self.workplace = workplace
        self.benchDirectory = benchDirectory
        missing = sinks.missing ?? Self.whatIsMissing(benchDirectory: benchDirectory)
    }

    private static func whatIsMissing(benchDirectory: String?) -> String? {
        guard let benchDirectory else { return "no --bench-directory" }
        guard SystemFile.isExecutable("\(benchDirectory)/h2load-reference") else {
            return "no h2load-reference in --bench-directory"
        }
        let absent = ["bash", "h2load", "python3", "taskset", "time"].filter { !Workplace.hasTool($0) }
        return absent.isEmpty ? nil : "not installed: \(absent.joined(separator: ", ")); see deploy/lib/packages --benchmark"
    }

    /// One run of h2load by its script, which starts a sink of its own on the same core as ours; nil when something is missing.
    func runReference(pushes: Int, connections: Int = connectionCount, delay: AnswerDelay? = nil) async throws -> SenderFigures? {
        guard missing == nil, let benchDirectory else { return nil }
        var arguments = ["\(benchDirectory)/h2load-reference", "-n", "\(pushes)", "-c", "\(connections)", "-r", "1"]
        if let delay {
            let jitter = delay.mostMilliseconds - delay.leastMilliseconds
            arguments += ["-d", "\(delay.leastMilliseconds * 1_000)", "-j", "\(jitter * 1_000)"]
        }
        let port = try FreePort.find()
        // It keeps URLs with the port of its first run.
        _ = try await workplace.run(["rm", "-f", workplace.path("uris.txt")], log: nil)
        let text = try await workplace.run(
            arguments, environment: ["BENCH_DIR": workplace.directory, "PORT": "\(port)"], log: "h2load-reference")
        return try read(text)
    }

    /// One run of the bare sender.
    func runSender(
        to sink: Sink, keyPath: String, pushes: Int, connections: Int = connectionCount
    ) async throws -> SenderFigures {
        let arguments = [
            try workplace.program("benchmark"), "sender", "--port", "\(sink.port)", "--ca-file", sink.rootsPath, "--key-file",
            keyPath, "--pushes", "\(pushes)", "--warm-up", "\(min(Self.warmUpCount, pushes))", "--connections", "\(connections)",
            "--repetitions", "1",
        ]
        let text = try await workplace.run(Sink.pinning(to: Sink.clientCore) + arguments, log: "sender")
        return try read(text)
    }

    private func read(_ text: String) throws -> SenderFigures {
        guard let last = text.split(separator: "\n").last, let object = try? JSONDocument(parsing: Array(last.utf8)).root,
            let cpu = object["cpu_us_per_push"]?.double, let rate = object["pushes_per_second"]?.double
        else { throw Failure("no figures in: \(text)") }
        if let accepted = object["accepted"]?.integer, accepted != object["pushes"]?.integer {
            throw Failure("only \(accepted) pushes were accepted")
        }
        return SenderFigures(
            cpuMicrosecondsPerPush: cpu, pushesPerSecond: rate,
            peakByteCount: object["peak_rss_bytes"]?.integer.map(Int.init))
    }
}
