import Gateway
import JSON
import Networking
import Security
import Store

/// What `benchmark channel` is asked to measure.
struct ChannelOptions {
    let subscriberCount: Int
    let updateCount: Int
    let repetitionCount: Int
    let workDirectory: String
    let isKept: Bool
    let checkout: String

    init(_ arguments: inout BenchmarkArguments) throws {
        subscriberCount = try arguments.integer("subscribers", default: 1_000_000, in: 2...1_000_000_000)
        updateCount = try arguments.integer("updates", default: 200, in: 1...100_000)
        repetitionCount = try arguments.integer("repetitions", default: 3, in: 1...100)
        checkout = arguments.optionalText("checkout") ?? "."
        workDirectory = arguments.optionalText("work-directory") ?? "\(checkout)/.local/benchmark"
        isKept = arguments.flag("keep")
        try arguments.finish()
    }
}

/// Updates of an activity on a broadcast channel with one subscriber and with many: what they cost the daemon, by turns.
struct ChannelBenchmark {
    private static let activityType = "BenchmarkAttributes"
    /// How often the database is asked whether an update is finished, and how long one may take.
    private static let pollInterval: Duration = .milliseconds(2)
    private static let patience: Duration = .seconds(60)

    let options: ChannelOptions

    init(_ arguments: inout BenchmarkArguments) throws { options = try ChannelOptions(&arguments) }

    /// Measures and returns one JSON object.
    func run() async throws -> String {
        let machine = Machine()
        let loop = try EventLoop.start(name: "benchmark")
        let workplace = try await Workplace.open(
            directory: options.workDirectory, checkout: options.checkout, isKept: options.isKept, loop: loop)
        let key = ES256PrivateKey.generate()
        let (keyPath, publicKeyPath) = (workplace.path("AuthKey.p8"), workplace.path("AuthKey.public.pem"))
        try SystemFile.write(key.pem, to: keyPath)
        try SystemFile.write(key.publicKey.pem, to: publicKeyPath)
        FanOutBenchmark.tell("starting PostgreSQL, apns-simulator and openpushd")
        let cluster = try await Cluster.start(in: workplace)
        let database = try await BenchmarkDatabase.make(in: cluster, workplace: workplace, keyPath: keyPath)
        try await database.addDevices(1, activityType: Self.activityType)
        guard let application = try await database.store.setBroadcastChannels(true, of: database.application.publicID) else {
            throw Failure("the app is gone")
        }
        let sink = try await ChannelSink.start(in: workplace, publicKeyPath: publicKeyPath)
        let gateway = try await GatewayProcess.start(
            in: workplace, database: database, sink: sink.sink, settings: sink.environment)
        var results = ChannelResults()
        let run = ChannelRun(
            options: options, application: application, database: database, sink: sink, gateway: gateway, loop: loop)
        for number in 1...options.repetitionCount {
            FanOutBenchmark.tell("updates, \(number) of \(options.repetitionCount)")
            try await run.measure("one-\(number)", subscribers: 1, into: &results.one)
            try await run.measure("many-\(number)", subscribers: options.subscriberCount, into: &results.many)
        }
        await gateway.stop()
        let settings = try await database.settings()
        await database.close()
        return ChannelReport(options: options, machine: machine, databaseSettings: settings, results: results).json()
    }

    /// What one measurement needs.
    private struct ChannelRun {
        let options: ChannelOptions
        let application: Application
        let database: BenchmarkDatabase
        let sink: ChannelSink
        let gateway: GatewayProcess
        let loop: EventLoop

        func measure(_ activityID: String, subscribers: Int, into figures: inout ChannelFigures) async throws {
            _ = try await gateway.pushToEverybody(
                SampleStart(activityType: ChannelBenchmark.activityType), activityID: activityID, devices: 1)
            let summary = try await database.store.activity(activityID, application: application.id)
            guard let channel = summary?.channels.first else { throw Failure("the activity has no channel") }
            try await sink.subscribe(subscribers, to: channel.identifier)
            // The first update makes the connection.
            try await update(activityID, number: 0)
            let before = try (cpu: ProcessFigures.cpuSeconds(of: gateway.process.processID), instant: ContinuousClock.now)
            for number in 1...options.updateCount { try await update(activityID, number: number) }
            let cpu = try ProcessFigures.cpuSeconds(of: gateway.process.processID) - before.cpu
            let updates = Double(options.updateCount)
            figures.cpuMicrosecondsPerUpdate.add(cpu * 1e6 / updates)
            figures.millisecondsPerUpdate.add(before.instant.duration(to: .now) / .milliseconds(1) / updates)
            let got = try await sink.figures(of: channel.identifier)
            figures.pushesPerUpdate.add(Double(got.messageCount) / (updates + 1))
            guard got.deliveryCount == got.messageCount * Int64(subscribers) else {
                throw Failure("\(got.deliveryCount) deliveries of \(got.messageCount) messages to \(subscribers) devices")
            }
        }

        /// Stores an update past the API, whose rate is limited, and waits until its push is recorded.
        private func update(_ activityID: String, number: Int) async throws {
            let content = PushContent(
                event: .update, attributesType: nil, attributes: nil, contentState: Array(#"{"number":\#(number)}"#.utf8),
                alerts: [], sound: nil, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 5)
            let command = UpdateCommand(activityID: activityID, name: "update \(number)", content: content)
            guard case .accepted(let notification) = try await database.store.accept(command, application: application) else {
                throw Failure("an update was not accepted")
            }
            let deadline = ContinuousClock.now + ChannelBenchmark.patience
            while try await !database.isFinished(notification.publicID) {
                guard gateway.process.isRunning else { throw Failure("openpushd ended\(gateway.process.lastWords)") }
                guard ContinuousClock.now < deadline else { throw Failure("an update did not finish") }
                await loop.sleep(for: ChannelBenchmark.pollInterval)
            }
        }
    }
}
