import APNs
import Gateway
import Glibc
import JSON
import Networking
import Observability
import Security

/// Sends pushes with tokens from memory and counts the outcomes: what the sender costs without PostgreSQL.
struct SenderBenchmark {
    /// Devices of a batch, as the fan-out's chunks have them.
    static let batchDeviceCount = 1_000
    /// Batches under way at once for each connection: enough to have a push for every stream while others wait for their last answers.
    static let openBatchCountPerConnection = 4
    /// Bytes of a body, as the reference measurement has them.
    static let bodyByteCount = 600

    private let port: Int
    private let roots: [UInt8]
    private let pushCount: Int
    private let connectionCount: Int
    private let repetitionCount: Int
    private let warmUpCount: Int
    private let keyPEM: [UInt8]

    init(_ arguments: inout BenchmarkArguments) throws {
        port = try arguments.integer("port", default: 18_443, in: 1...65_535)
        roots = try CredentialFile.read(path: try arguments.text("ca-file"))
        pushCount = try arguments.integer("pushes", default: 1_000_000, in: 1...100_000_000)
        connectionCount = try arguments.integer("connections", default: 4, in: 1...64)
        repetitionCount = try arguments.integer("repetitions", default: 3, in: 1...100)
        warmUpCount = try arguments.integer("warm-up", default: 50_000, in: 1...100_000_000)
        keyPEM =
            try arguments.optionalText("key-file").map { try CredentialFile.read(path: $0) } ?? ES256PrivateKey.generate().pem
        try arguments.finish()
    }

    /// One run's figures.
    struct Figures {
        let cpuMicrosecondsPerPush: Double
        let pushesPerSecond: Double
        let acceptedCount: Int
    }

    /// Runs and reports the median of the repetitions, as JSON.
    func run() async throws -> String {
        let loop = try EventLoop.start(name: "benchmark")
        defer { loop.stop() }
        // Tokens are in memory before the clock runs, as the reference reads its list of them.
        let batches = batches(of: pushCount)
        let sender = try await warmSender(on: loop)
        var figures: [Figures] = []
        for _ in 0..<repetitionCount { figures.append(await measure(sender, batches)) }
        await sender.drain(timeout: .seconds(1))
        return report(figures)
    }

    private func warmSender(on loop: EventLoop) async throws -> APNsSender {
        var configuration = APNs.APNsConfiguration()
        configuration.production = APNsEndpoint(host: "127.0.0.1", port: UInt16(port))
        configuration.connectionCount = connectionCount
        configuration.connectionSpacing = .milliseconds(10)
        let sender = APNsSender(
            loop: loop, configuration: configuration,
            tls: try TLSContext.client(extraRootsPEM: roots, applicationProtocols: ["h2"]),
            minters: ProviderTokenMinters(vault: MemoryVault(pem: keyPEM)), logger: Logger(level: .warning), metrics: Metrics())
        // Connections, provider token and stream limits are there before the clock runs.
        _ = await send(batches(of: warmUpCount), through: sender)
        return sender
    }

    private func measure(_ sender: APNsSender, _ batches: [PushBatch]) async -> Figures {
        let before = ProcessCost.now()
        let accepted = await send(batches, through: sender)
        let after = ProcessCost.now()
        let seconds = before.instant.duration(to: after.instant) / .seconds(1)
        return Figures(
            cpuMicrosecondsPerPush: (after.cpuSeconds - before.cpuSeconds) * 1e6 / Double(pushCount),
            pushesPerSecond: Double(pushCount) / seconds, acceptedCount: accepted)
    }

    /// Sends the batches, some at once; returns how many pushes were accepted.
    private func send(_ batches: [PushBatch], through sender: APNsSender) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            var accepted = 0
            for (number, batch) in batches.enumerated() {
                if number >= Self.openBatchCountPerConnection * connectionCount { accepted += await group.next() ?? 0 }
                group.addTask { await sender.send(batch).count { $0 == .accepted } }
            }
            for await part in group { accepted += part }
            return accepted
        }
    }

    private func batches(of count: Int) -> [PushBatch] {
        stride(from: 0, to: count, by: Self.batchDeviceCount).map { batch(of: $0..<min(count, $0 + Self.batchDeviceCount)) }
    }

    private func batch(of devices: Range<Int>) -> PushBatch {
        var tokens = TokenList()
        tokens.reserve(count: devices.count, tokenByteCount: 32)
        for device in devices {
            // 32 bytes that differ from device to device, cheaply; never all zero, which no device has.
            var word = UInt64(device + 1) &* 0x9E37_79B9_7F4A_7C15
            var token: [UInt8] = []
            token.reserveCapacity(32)
            for _ in 0..<4 {
                word = (word ^ (word >> 29)) &* 0xBF58_476D_1CE4_E5B9
                for shift in 0..<8 { token.append(UInt8(truncatingIfNeeded: word >> (8 * UInt64(shift)))) }
            }
            tokens.append(token)
        }
        return PushBatch(
            application: Application(
                id: ApplicationID(rawValue: 1), publicID: UUID(high: 1, low: 1), name: "benchmark", bundleID: "com.example.app",
                providerKey: SinkMaker.providerKey, defaultEnvironment: .production),
            service: .apnsProduction, notification: NotificationID(rawValue: 1), collapseID: nil, priority: 10,
            expiresAt: 1_764_483_600, bodies: [Self.body], devices: devices.map(Int64.init), tokens: tokens,
            bodyIndexes: [UInt8](repeating: 0, count: devices.count), cancellation: Cancellation(), onFirstAccepted: nil)
    }

    private static let body: [UInt8] = {
        let start = #"{"aps":{"timestamp":1764480000,"event":"update","content-state":{"home":3,"away":2,"note":""#
        let end = #""},"alert":{"title":"Goal","body":"3:2"},"stale-date":1764483600,"relevance-score":0.9}}"#
        let filling = String(repeating: "x", count: bodyByteCount - start.utf8.count - end.utf8.count)
        return Array((start + filling + end).utf8)
    }()

    private func report(_ figures: [Figures]) -> String {
        let cpu = Samples(figures.map(\.cpuMicrosecondsPerPush))
        let rate = Samples(figures.map(\.pushesPerSecond))
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("program", "benchmark sender")
        writer.member("pushes", pushCount)
        writer.member("connections", connectionCount)
        writer.member("accepted", figures.map(\.acceptedCount).min())
        writer.member("cpu_us_per_push", cpu.median, digits: 2)
        writer.key("cpu_us_range")
        writer.beginArray()
        writer.number(cpu.least, digits: 2)
        writer.number(cpu.most, digits: 2)
        writer.endArray()
        writer.member("pushes_per_second", rate.median, digits: 0)
        writer.member("peak_rss_bytes", ProcessCost.now().peakByteCount)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
