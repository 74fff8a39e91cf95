import Gateway
import Store

/// Claims and records a start's chunks as a worker does, one after the other and without sending anything.
struct PartMeasurement {
    /// Chunks that are claimed before they are recorded: enough for the system's clock, few enough to stay small.
    private static let roundChunkCount = 64
    private static let limits = FanOutLimits()

    let database: BenchmarkDatabase

    /// Seconds of this process and of the server.
    private struct Cost {
        var own = 0.0
        var server = 0.0
    }

    func run(_ start: SampleStart, activityID: String, devices: Int, results: inout PartResults) async throws {
        try await database.settle()
        let store = database.store
        let command = StartCommand(
            activityID: activityID, activityType: start.activityType, name: "benchmark",
            audience: .segments(included: ["All"], excluded: []), content: start.content, idempotency: nil)
        guard case .accepted = try await store.accept(command, application: database.application) else {
            throw Failure("the start of a measurement of parts was not accepted")
        }
        let worker = try await store.registerWorker(node: "benchmark")
        var claiming = Cost()
        var recording = Cost()
        var count = 0
        while true {
            guard try await store.extendLease(of: worker, seconds: Self.limits.leaseSeconds) else {
                throw Failure("the lease was lost")
            }
            var chunks: [Chunk] = []
            try await measure(into: &claiming) {
                while chunks.count < Self.roundChunkCount,
                    let chunk = try await store.claimChunk(for: worker, deviceCount: Self.limits.chunkDeviceCount, excluding: [])
                {
                    chunks.append(chunk)
                }
            }
            if chunks.isEmpty { break }
            count += chunks.reduce(0) { $0 + $1.devices.count }
            let records = chunks.map(Self.record)
            try await measure(into: &recording) { try await self.store(records, worker: worker) }
        }
        try await store.releaseLease(of: worker)
        guard count == devices else { throw Failure("\(count) devices were claimed instead of \(devices)") }
        let scale = 1e6 / Double(devices)
        results.claimMicrosecondsPerPush.add(claiming.own * scale)
        results.claimDatabaseMicrosecondsPerPush.add(claiming.server * scale)
        results.recordMicrosecondsPerPush.add(recording.own * scale)
        results.recordDatabaseMicrosecondsPerPush.add(recording.server * scale)
    }

    /// As many outcomes in a transaction as a worker waits for.
    private func store(_ records: [ChunkRecord], worker: WorkerID) async throws {
        var rest = records[...]
        while !rest.isEmpty {
            var batch: [ChunkRecord] = []
            while batch.count < Self.limits.recordChunkCount,
                batch.reduce(0, { $0 + $1.deliveries.count }) < Self.limits.recordDeviceCount, let next = rest.popFirst()
            {
                batch.append(next)
            }
            let lost = try await database.store.record(batch, worker: worker)
            guard lost.isEmpty else { throw Failure("another worker took \(lost.count) chunks of a measurement") }
        }
    }

    private static func record(of chunk: Chunk) -> ChunkRecord {
        var record = ChunkRecord(chunk: chunk.id, event: .start)
        let now = UnixMilliseconds(rawValue: WallClock.seconds * 1_000)
        record.deliveries = chunk.devices.map { DeliveryRecord(device: $0, reason: .accepted, at: now) }
        return record
    }

    private func measure(into cost: inout Cost, _ body: () async throws -> Void) async throws {
        let own = ProcessCost.now().cpuSeconds
        let server = try database.cluster.cpuSeconds()
        try await body()
        cost.own += ProcessCost.now().cpuSeconds - own
        cost.server += try database.cluster.cpuSeconds() - server
    }
}
