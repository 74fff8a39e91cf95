import Gateway
import Networking
import PostgreSQL
import Security
import Store

/// What `benchmark audience` is asked to measure.
struct AudienceOptions {
    let deviceCount: Int
    let pageCount: Int
    let listCount: Int
    let repetitionCount: Int
    let workDirectory: String
    let isKept: Bool
    let checkout: String

    init(_ arguments: inout BenchmarkArguments) throws {
        deviceCount = try arguments.integer("devices", default: 1_000_000, in: 1...100_000_000)
        pageCount = try arguments.integer("page", default: FanOutLimits().chunkDeviceCount, in: 1...100_000)
        listCount = try arguments.integer(
            "list", default: AdmissionLimits.audienceListCount, in: 1...AdmissionLimits.audienceListCount)
        repetitionCount = try arguments.integer("repetitions", default: 3, in: 1...100)
        checkout = arguments.optionalText("checkout") ?? "."
        workDirectory = arguments.optionalText("work-directory") ?? "\(checkout)/.local/benchmark"
        isKept = arguments.flag("keep")
        try arguments.finish()
    }
}

/// One way to say who is reached, and how many devices of all that is.
struct AudienceWay {
    let name: String
    let audience: Audience
    /// Of the devices with this number, whether it is one.
    let matches: @Sendable (Int) -> Bool

    /// As SQL/audience.sql makes devices.
    static let all: [AudienceWay] = [
        AudienceWay(
            name: "tag", audience: filter([[.tag(key: "team", .compares(.equal, "all"))]]), matches: { _ in true }),
        AudienceWay(
            name: "tag_of_a_tenth", audience: filter([[.tag(key: "club", .compares(.equal, "c3"))]]),
            matches: { $0 % 10 == 3 }),
        AudienceWay(
            name: "filter",
            audience: filter([
                [.sessionCount(.less, 100), .country(.notEqual, "XX")],
                [.sessionCount(.greater, 99), .language(.notEqual, "xx")],
            ]), matches: { _ in true }),
        AudienceWay(
            name: "filter_of_a_third",
            audience: filter([
                [.country(.equal, "US"), .tag(key: "club", .compares(.equal, "c5"))],
                [.sessionCount(.greater, 100), .language(.notEqual, "en")],
            ]), matches: { $0 % 10 == 5 && $0 % 5 == 0 || $0 % 200 > 100 && $0 % 3 != 0 }),
    ]

    private static func filter(_ branches: [[FilterCondition]]) -> Audience { .filters(FilterExpression(branches: branches)) }
}

/// Audiences read page by page against the bare token table, by turns.
struct AudienceBenchmark {
    static let activityType = "BenchmarkAttributes"
    private static let patience: Duration = .seconds(600)

    let options: AudienceOptions

    init(_ arguments: inout BenchmarkArguments) throws { options = try AudienceOptions(&arguments) }

    /// Measures and returns one JSON object.
    func run() async throws -> String {
        let machine = Machine()
        let loop = try EventLoop.start(name: "benchmark")
        let workplace = try await Workplace.open(
            directory: options.workDirectory, checkout: options.checkout, isKept: options.isKept, loop: loop)
        let keyPath = workplace.path("AuthKey.p8")
        try SystemFile.write(ES256PrivateKey.generate().pem, to: keyPath)
        FanOutBenchmark.tell("starting PostgreSQL and making \(options.deviceCount) devices")
        let cluster = try await Cluster.start(in: workplace)
        let database = try await BenchmarkDatabase.make(in: cluster, workplace: workplace, keyPath: keyPath)
        try await database.addDevices(options.deviceCount, activityType: Self.activityType, withAttributes: true)
        let pool = database.openPool(size: 1, on: loop, acquireTimeout: Self.patience)
        guard let sealingKey = SealingKey(bytes: RandomBytes.generate(count: 32)) else {
            preconditionFailure("32 bytes are a sealing key")
        }
        let run = AudienceRun(
            options: options, database: database, pool: pool, store: Store(pool: pool, sealingKey: sealingKey))
        var results = AudienceResults()
        for number in 1...options.repetitionCount {
            FanOutBenchmark.tell("audiences, \(number) of \(options.repetitionCount)")
            try await run.measure(into: &results)
        }
        let settings = try await database.settings()
        await pool.close()
        await database.close()
        return AudienceReport(options: options, machine: machine, databaseSettings: settings, results: results).json()
    }
}

/// One repetition.
struct AudienceRun {
    let options: AudienceOptions
    let database: BenchmarkDatabase
    let pool: DatabasePool
    let store: Store

    private static let tokens = Statement(
        name: "benchmark_tokens", text: String(decoding: PackageResources.tokens_sql, as: UTF8.self))

    func measure(into results: inout AudienceResults) async throws {
        try await database.settle()
        let application = database.application.id
        try await measure("bare", expecting: options.deviceCount, into: &results) { try await readTokens() }
        for way in AudienceWay.all {
            try await measure(way.name, expecting: (1...options.deviceCount).count(where: way.matches), into: &results) {
                try await store.readThrough(
                    way.audience, activityType: AudienceBenchmark.activityType, deviceCount: options.pageCount,
                    application: application)
            }
        }
        let listed = min(options.listCount, options.deviceCount)
        try await measure("aliases", expecting: listed, into: &results) { try await countList(listed) }
    }

    private func measure(
        _ name: String, expecting expected: Int, into results: inout AudienceResults, _ read: () async throws -> Int
    ) async throws {
        let serverBefore = try database.cluster.cpuSeconds()
        let begunAt = ContinuousClock.now
        let found = try await read()
        let seconds = begunAt.duration(to: .now) / .seconds(1)
        let server = try database.cluster.cpuSeconds() - serverBefore
        guard found == expected else { throw Failure("\(name) found \(found) devices instead of \(expected)") }
        results.ways[name, default: AudienceFigures()].add(
            serverSeconds: server, seconds: seconds, found: found, lookedThrough: options.deviceCount)
    }

    private func readTokens() async throws -> Int {
        var (behind, total): (Int64, Int) = (0, 0)
        while true {
            let page = try await pool.query(
                Self.tokens,
                [
                    .int32(database.application.id.rawValue), .text(AudienceBenchmark.activityType), .int64(behind),
                    .int32(Int32(options.pageCount)),
                ])
            total += page.rowCount
            guard page.rowCount == options.pageCount else { return total }
            behind = page.int64(row: page.rowCount - 1, column: 0)
        }
    }

    /// A list is looked up whole.
    private func countList(_ count: Int) async throws -> Int {
        // A prime is far from every other: they are all over the app.
        let stride = options.deviceCount % 7_919 == 0 ? 1 : 7_919
        let aliases = (0..<count).map {
            AliasReference(label: "external_id", identifier: "user-\($0 * stride % options.deviceCount + 1)")
        }
        let result = try await store.preview(
            .aliases(aliases), activityType: AudienceBenchmark.activityType, application: database.application.id)
        guard case .counted(let preview) = result else { return 0 }
        return Int(preview.reachableCount)
    }
}
