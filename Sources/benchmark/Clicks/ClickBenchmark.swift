import Gateway
import JSON
import Networking
import PostgreSQL
import Security
import Store

/// What `benchmark clicks` is asked to measure.
struct ClickOptions {
    let tapCount: Int
    let deviceCount: Int
    let clientCount: Int
    let repetitionCount: Int
    let workDirectory: String
    let isKept: Bool
    let checkout: String

    init(_ arguments: inout BenchmarkArguments) throws {
        tapCount = try arguments.integer("taps", default: 100_000, in: 1...100_000_000)
        deviceCount = try arguments.integer("devices", default: 1_000_000, in: 1...100_000_000)
        // A pool has at most so many callers waiting.
        clientCount = try arguments.integer("clients", default: 1_000, in: 1...DatabasePool.waiterLimit)
        repetitionCount = try arguments.integer("repetitions", default: 3, in: 1...100)
        checkout = arguments.optionalText("checkout") ?? "."
        workDirectory = arguments.optionalText("work-directory") ?? "\(checkout)/.local/benchmark"
        isKept = arguments.flag("keep")
        try arguments.finish()
    }
}

/// Taps that are put together against one statement a tap: the same devices, connections and number of callers, by turns.
struct ClickBenchmark {
    private static let activityType = "BenchmarkAttributes"
    /// How long a caller waits for a connection: as long as it takes.
    private static let patience: Duration = .seconds(600)
    /// Connections of both ways: those of one event loop of the daemon.
    static let connectionCount = 8

    let options: ClickOptions

    init(_ arguments: inout BenchmarkArguments) throws { options = try ClickOptions(&arguments) }

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
        try await database.addDevices(options.deviceCount, activityType: Self.activityType)
        let pool = database.openPool(size: Self.connectionCount, on: loop, acquireTimeout: Self.patience)
        let results = try await measure(database, pool: pool, loop: loop)
        let settings = try await database.settings()
        await pool.close()
        await database.close()
        return ClickReport(options: options, machine: machine, databaseSettings: settings, results: results).json()
    }

    private func measure(_ database: BenchmarkDatabase, pool: DatabasePool, loop: EventLoop) async throws -> ClickResults {
        var results = ClickResults()
        guard let sealingKey = SealingKey(bytes: RandomBytes.generate(count: 32)) else {
            preconditionFailure("32 bytes are a sealing key")
        }
        var limits = BatchLimits.taps
        // All callers wait at once here, as they would with several daemons' worth of phones.
        limits.waitingCount = max(limits.waitingCount, options.clientCount)
        let store = Store(pool: pool, sealingKey: sealingKey)
        let batched = BatchedTaps(
            RequestBatcher(executor: loop, limits: limits, sleep: { await loop.sleep(for: $0) }) {
                (taps) async throws(StorageError) in try await store.count(taps)
            })
        let ways: [(WritableKeyPath<ClickResults, TapFigures>, any TapCounter)] = [
            (\.single, SingleTaps(pool: pool)), (\.batched, batched),
        ]
        for number in 1...options.repetitionCount {
            FanOutBenchmark.tell("taps, \(number) of \(options.repetitionCount)")
            for (way, counter) in ways {
                let activityID = "\(number)-\(results[keyPath: way].tapsPerSecond.isEmpty ? 0 : number)-\(way == \.single)"
                let run = ClickRun(database: database, options: options, activityID: activityID, counter: counter)
                try await run.measure(on: loop, into: &results[keyPath: way])
            }
        }
        return results
    }
}

/// One statement and one commit a tap, as they come.
private struct SingleTaps: TapCounter {
    private static let count = Statement(name: "benchmark_tap", text: String(decoding: PackageResources.tap_sql, as: UTF8.self))

    let pool: DatabasePool

    func count(_ tap: Tap) async throws(BatchFailure) -> ClickResult {
        let parameters: [Parameter] = [
            .int32(tap.application.rawValue), .bytes(tap.device.pushToken ?? []), .text(tap.activityID),
        ]
        guard let found = try? await pool.query(Self.count, parameters) else { throw .storage(.unavailable) }
        guard found.rowCount == 1, let id = UUID(bytes: found.uuidBytes(row: 0, column: 0)) else { return .unknownDevice }
        return .counted(notification: id)
    }
}
