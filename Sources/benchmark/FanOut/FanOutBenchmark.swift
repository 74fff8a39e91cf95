import Networking
import Observability

/// Everything issue 3 asks of the fan-out's speed, in one run: what is compared is measured alternately, so that a drift of the
/// machine meets both.
struct FanOutBenchmark {
    /// Answers of the measurement with late answers, in milliseconds, and the connections of its senders.
    static let delay = AnswerDelay(leastMilliseconds: 50, mostMilliseconds: 70)
    static let lateConnectionCount = 16

    let options: FanOutOptions

    init(_ arguments: inout BenchmarkArguments) throws { options = try FanOutOptions(&arguments) }

    /// Measures and returns one JSON object.
    func run() async throws -> String {
        let machine = Machine()
        let loop = try EventLoop.start(name: "benchmark")
        let workplace = try await Workplace.open(
            directory: options.workDirectory, checkout: options.checkout, isKept: options.isKept, loop: loop)
        let sinks = try await SinkMaker.prepare(in: workplace, benchDirectory: options.benchDirectory)
        let senders = Senders(workplace: workplace, benchDirectory: options.benchDirectory, sinks: sinks)
        var database: BenchmarkDatabase?
        if options.needsDatabase {
            Self.tell("starting PostgreSQL")
            let cluster = try await Cluster.start(in: workplace)
            database = try await .make(in: cluster, workplace: workplace, keyPath: sinks.keyPath)
        }
        let session = FanOutSession(options: options, workplace: workplace, sinks: sinks, senders: senders)
        let results = try await session.measure(database)
        await database?.close()
        return FanOutReport(
            options: options, machine: machine, sinkName: sinks.name, missingSink: sinks.missing,
            missingReference: senders.missing,
            results: results
        ).json()
    }

    /// Progress, for whoever waits.
    static func tell(_ text: String) { Logger.writeToStandardError("benchmark: \(text)") }
}

/// The measurements, one group after the other.
struct FanOutSession {
    let options: FanOutOptions
    let workplace: Workplace
    let sinks: SinkMaker
    let senders: Senders

    func measure(_ database: BenchmarkDatabase?) async throws -> FanOutResults {
        var results = FanOutResults()
        if let database {
            results.databaseSettings = try await database.settings()
            if options.includes(.daemon) || options.includes(.parts) || options.includes(.latency) {
                try await addDevices(options.deviceCount, activityType: Self.activityType, to: database)
            }
        }
        if options.includes(.sender) || options.includes(.daemon) { try await measureRounds(database, &results) }
        guard let database else { return results }
        if options.includes(.parts) { try await measureParts(database, &results) }
        if options.includes(.latency) { try await measureLatency(database, &results) }
        if options.includes(.scale) { try await measureScale(database, &results) }
        return results
    }

    private static let activityType = "BenchmarkAttributes"

    private func addDevices(_ count: Int, activityType: String, to database: BenchmarkDatabase) async throws {
        FanOutBenchmark.tell("making \(count) devices")
        try await database.addDevices(count, activityType: activityType)
    }

    private func repetitions(_ what: String, _ body: (Int) async throws -> Void) async throws {
        for number in 1...options.repetitionCount {
            FanOutBenchmark.tell("\(what), \(number) of \(options.repetitionCount)")
            try await body(number)
        }
    }

    // MARK: h2load, the bare sender and the whole daemon, by turns

    private func measureRounds(_ database: BenchmarkDatabase?, _ results: inout FanOutResults) async throws {
        let pinned = try await sinks.start("sink-of-sender", core: Sink.sinkCore)
        var whole: StartMeasurement?
        if options.includes(.daemon), let database {
            let sink = try await sinks.start("sink-of-daemon", core: nil)
            whole = StartMeasurement(
                gateway: try await .start(in: workplace, database: database, sink: sink), database: database, sink: sink)
            try await database.forgetStatements()
        }
        let start = SampleStart(activityType: Self.activityType)
        for number in 1...options.repetitionCount {
            FanOutBenchmark.tell("sender and daemon, \(number) of \(options.repetitionCount)")
            if let figures = try await senders.runReference(pushes: options.pushCount) { results.reference.add(figures) }
            if options.includes(.sender) {
                results.sender.add(try await senders.runSender(to: pinned, keyPath: sinks.keyPath, pushes: options.pushCount))
            }
            if let whole {
                results.daemon.add(
                    try await whole.run(start, activityID: "whole-\(number)", devices: options.deviceCount))
            }
        }
        await pinned.process.stop()
        guard let whole, let database else { return }
        results.daemon.peakByteCount.add(try whole.peakByteCount())
        results.daemon.statements = try await database.statementCosts()
        results.daemon.countedPushes = options.deviceCount * options.repetitionCount
        await whole.gateway.stop()
        await whole.sink.process.stop()
    }

    // MARK: Claiming and recording alone

    private func measureParts(_ database: BenchmarkDatabase, _ results: inout FanOutResults) async throws {
        let start = SampleStart(activityType: Self.activityType)
        let parts = PartMeasurement(database: database)
        try await repetitions("claiming and recording alone") { number in
            try await parts.run(start, activityID: "parts-\(number)", devices: options.deviceCount, results: &results.parts)
        }
    }

    // MARK: Late answers

    private func measureLatency(_ database: BenchmarkDatabase, _ results: inout FanOutResults) async throws {
        let connections = FanOutBenchmark.lateConnectionCount
        let pinned = try await sinks.start("late-sink-of-sender", core: Sink.sinkCore, delay: FanOutBenchmark.delay)
        let sink = try await sinks.start("late-sink-of-daemon", core: nil, delay: FanOutBenchmark.delay)
        let gateway = try await GatewayProcess.start(
            in: workplace, database: database, sink: sink, connectionsPerLoop: FanOutReport.lateConnectionsPerLoop)
        let whole = StartMeasurement(gateway: gateway, database: database, sink: sink)
        let start = SampleStart(activityType: Self.activityType)
        try await repetitions("late answers") { number in
            if let figures = try await senders.runReference(
                pushes: options.pushCount, connections: connections, delay: FanOutBenchmark.delay)
            {
                results.lateReference.add(figures)
            }
            results.lateSender.add(
                try await senders.runSender(
                    to: pinned, keyPath: sinks.keyPath, pushes: options.pushCount, connections: connections))
            results.lateDaemon.add(try await whole.run(start, activityID: "late-\(number)", devices: options.deviceCount))
        }
        results.lateDaemon.peakByteCount.add(try whole.peakByteCount())
        await gateway.stop()
        for process in [pinned.process, sink.process] { await process.stop() }
    }

    // MARK: Few and many devices

    private func measureScale(_ database: BenchmarkDatabase, _ results: inout FanOutResults) async throws {
        let sink = try await sinks.start("sink-of-scale", core: nil)
        let few = options.fewDeviceCount
        let many = options.manyDeviceCount
        try await addDevices(few, activityType: "FewAttributes", to: database)
        try await addDevices(many, activityType: "ManyAttributes", to: database)
        try await repetitions("few and many devices") { number in
            try await runFresh("FewAttributes", number, few, sink, database, &results.few)
            try await runFresh("ManyAttributes", number, many, sink, database, &results.many)
        }
        await sink.process.stop()
    }

    /// A daemon of its own for each start, so that memory tells.
    private func runFresh(
        _ activityType: String, _ number: Int, _ devices: Int, _ sink: Sink, _ database: BenchmarkDatabase,
        _ results: inout DaemonResults
    ) async throws {
        let gateway = try await GatewayProcess.start(in: workplace, database: database, sink: sink)
        let whole = StartMeasurement(gateway: gateway, database: database, sink: sink)
        results.add(
            try await whole.run(
                SampleStart(activityType: activityType), activityID: "\(activityType)-\(number)", devices: devices))
        results.peakByteCount.add(try whole.peakByteCount())
        await gateway.stop()
    }
}
