import Networking
import Synchronization
import Testing

@testable import Gateway

/// Counts what it is given, when a test lets it.
private final class ScriptedTaps: TapLedger {
    struct State {
        var batches: [[String]] = []
        /// Batches wait here while it is closed.
        var isClosed = false
        var held: [CheckedContinuation<Void, Never>] = []
        var failure: StorageError?
        /// An activity that PostgreSQL refuses.
        var poison: String?
    }
    let state = Mutex(State())

    var batches: [[String]] { state.withLock { $0.batches } }

    func open() {
        let held = state.withLock { state in
            state.isClosed = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func count(_ taps: [Tap]) async throws(StorageError) -> [ClickResult] {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                state.batches.append(taps.map(\.activityID))
                if state.isClosed { state.held.append(continuation) }
                return state.isClosed
            }
            if !isClosed { continuation.resume() }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        let poison = state.withLock { $0.poison }
        guard !taps.contains(where: { $0.activityID == poison }) else { throw .refused(sqlState: "22021") }
        return taps.map { .counted(notification: UUID(high: 0, low: UInt64($0.activityID) ?? 0)) }
    }
}

@Suite("Tap batcher", .timeLimit(.minutes(1))) struct TapBatcherTests {
    private let ledger = ScriptedTaps()
    private let clock = ManualClock()

    /// Lends a batcher whose batches have two taps, whose queue has five, and one of whose batches may be open.
    private func with(_ body: (TapBatcher) async throws -> Void) async throws {
        let loop = try EventLoop.start(name: "taps")
        var limits = TapLimits()
        limits.batchCount = 2
        limits.waitingCount = 5
        limits.openBatchCount = 1
        try await body(TapBatcher(executor: loop, ledger: ledger, limits: limits, sleep: clock.fanOutClock.sleep))
        loop.stop()
    }

    private static func tap(_ number: Int) -> Tap {
        Tap(application: ApplicationID(rawValue: 1), device: .pushToken([1]), activityID: "\(number)", notification: nil)
    }

    /// Begins a tap and returns once it waits: the batcher's turns come in their order.
    private func begin(_ number: Int, _ batcher: TapBatcher) async -> Task<Result<ClickResult, TapFailure>, Never> {
        let task = Task { () async -> Result<ClickResult, TapFailure> in
            do throws(TapFailure) { return .success(try await batcher.count(Self.tap(number))) } catch { return .failure(error) }
        }
        await until { await batcher.acceptedCount > number }
        return task
    }

    private func until(_ condition: () async -> Bool) async {
        while !(await condition()) { await Task.yield() }
    }

    private static func counted(_ number: Int) -> Result<ClickResult, TapFailure> {
        .success(.counted(notification: UUID(high: 0, low: UInt64(number))))
    }

    @Test("counts a full batch at once, and answers each tap with its own result")
    func countsFullBatch() async throws {
        try await with { batcher in
            let first = await begin(0, batcher)
            #expect(ledger.batches.isEmpty)
            let second = await begin(1, batcher)
            #expect(await first.value == Self.counted(0))
            #expect(await second.value == Self.counted(1))
            #expect(ledger.batches == [["0", "1"]])
        }
    }

    @Test("counts a batch that does not fill up after 5 ms")
    func countsDueBatch() async throws {
        try await with { batcher in
            let first = await begin(0, batcher)
            await until { clock.sleeperCount == 1 }
            clock.advance(by: .milliseconds(4))
            #expect(ledger.batches.isEmpty)
            clock.advance(by: .milliseconds(1))
            #expect(await first.value == Self.counted(0))
            #expect(ledger.batches == [["0"]])
        }
    }

    @Test("answers after the batch is counted, lets others fill up meanwhile, and refuses beyond its queue")
    func waitsForOpenBatches() async throws {
        ledger.state.withLock { $0.isClosed = true }
        try await with { batcher in
            var tasks: [Task<Result<ClickResult, TapFailure>, Never>] = []
            for number in 0..<7 { tasks.append(await begin(number, batcher)) }
            #expect(ledger.batches == [["0", "1"]])
            // Two are in the database, five wait.
            await #expect(throws: TapFailure.tooManyWaiting) { try await batcher.count(Self.tap(7)) }
            ledger.open()
            for (number, task) in tasks.prefix(6).enumerated() { #expect(await task.value == Self.counted(number)) }
            #expect(ledger.batches == [["0", "1"], ["2", "3"], ["4", "5"]])
            await until { clock.sleeperCount > 0 }
            clock.advance(by: .milliseconds(5))
            #expect(await tasks[6].value == Self.counted(6))
        }
    }

    @Test("lets a tap that PostgreSQL refuses fail alone")
    func isolatesPoison() async throws {
        ledger.state.withLock { $0.poison = "1" }
        try await with { batcher in
            let good = await begin(0, batcher)
            let bad = await begin(1, batcher)
            #expect(await good.value == Self.counted(0))
            #expect(await bad.value == .failure(.storage(.refused(sqlState: "22021"))))
            #expect(ledger.batches == [["0", "1"], ["0"], ["1"]])
        }
    }

    @Test("tells everybody who waits that the database is away, and works again when it is back")
    func failsTogether() async throws {
        ledger.state.withLock {
            $0.isClosed = true
            $0.failure = .unavailable
        }
        try await with { batcher in
            var tasks: [Task<Result<ClickResult, TapFailure>, Never>] = []
            for number in 0..<5 { tasks.append(await begin(number, batcher)) }
            ledger.open()
            for task in tasks { #expect(await task.value == .failure(.storage(.unavailable))) }
            #expect(ledger.batches == [["0", "1"]])
            ledger.state.withLock { $0.failure = nil }
            let later = [await begin(5, batcher), await begin(6, batcher)]
            #expect(await later[0].value == Self.counted(5))
            #expect(await later[1].value == Self.counted(6))
        }
    }
}
