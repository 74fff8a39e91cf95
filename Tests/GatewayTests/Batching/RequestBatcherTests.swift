import Networking
import Synchronization
import Testing

@testable import Gateway

/// Counts what it is given, when a test lets it.
private final class ScriptedDatabase: Sendable {
    struct State {
        var batches: [[Int]] = []
        /// Batches wait here while it is closed.
        var isClosed = false
        var held: [CheckedContinuation<Void, Never>] = []
        var failure: StorageError?
        /// A request that PostgreSQL refuses.
        var poison: Int?
    }
    let state = Mutex(State())

    var batches: [[Int]] { state.withLock { $0.batches } }

    func open() {
        let held = state.withLock { state in
            state.isClosed = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func answer(_ requests: [Int]) async throws(StorageError) -> [String] {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                state.batches.append(requests)
                if state.isClosed { state.held.append(continuation) }
                return state.isClosed
            }
            if !isClosed { continuation.resume() }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        if let poison = state.withLock({ $0.poison }), requests.contains(poison) { throw .refused(sqlState: "22021") }
        return requests.map { "answer \($0)" }
    }
}

@Suite("Request batcher", .timeLimit(.minutes(1))) struct RequestBatcherTests {
    private typealias Batcher = RequestBatcher<Int, String>

    private let database = ScriptedDatabase()
    private let clock = ManualClock()

    /// Lends a batcher whose batches have two requests, whose queue has five, and one of whose batches may be open.
    private func with(isEager: Bool = false, silence: Duration = .zero, _ body: (Batcher) async throws -> Void) async throws {
        let loop = try EventLoop.start(name: "batches")
        var limits = BatchLimits(batchCount: 2, wait: .milliseconds(5), isEager: isEager, openBatchCount: isEager ? 2 : 1)
        limits.waitingCount = 5
        limits.silence = silence
        let batcher = Batcher(executor: loop, limits: limits, sleep: clock.fanOutClock.sleep) {
            [database] (requests) async throws(StorageError) in try await database.answer(requests)
        }
        try await body(batcher)
        loop.stop()
    }

    /// Begins a request and returns once it waits: the batcher's turns come in their order.
    private func begin(_ number: Int, _ batcher: Batcher) async -> Task<Result<String, BatchFailure>, Never> {
        let task = Task { () async -> Result<String, BatchFailure> in
            do throws(BatchFailure) { return .success(try await batcher.answer(number)) } catch { return .failure(error) }
        }
        await until { await batcher.acceptedCount > number }
        return task
    }

    private func until(_ condition: () async -> Bool) async {
        while !(await condition()) { await Task.yield() }
    }

    private static func answered(_ number: Int) -> Result<String, BatchFailure> { .success("answer \(number)") }

    @Test("asks for a full batch at once, and answers each request with its own result")
    func asksFullBatch() async throws {
        try await with { batcher in
            let first = await begin(0, batcher)
            #expect(database.batches.isEmpty)
            let second = await begin(1, batcher)
            #expect(await first.value == Self.answered(0))
            #expect(await second.value == Self.answered(1))
            #expect(database.batches == [[0, 1]])
        }
    }

    @Test("asks for a batch that does not fill up when the wait is over")
    func asksDueBatch() async throws {
        try await with { batcher in
            let first = await begin(0, batcher)
            await until { clock.sleeperCount == 1 }
            clock.advance(by: .milliseconds(4))
            #expect(database.batches.isEmpty)
            clock.advance(by: .milliseconds(1))
            #expect(await first.value == Self.answered(0))
            #expect(database.batches == [[0]])
        }
    }

    @Test("answers after the batch is, lets others fill up meanwhile, and refuses beyond its queue")
    func waitsForOpenBatches() async throws {
        database.state.withLock { $0.isClosed = true }
        try await with { batcher in
            var tasks: [Task<Result<String, BatchFailure>, Never>] = []
            for number in 0..<7 { tasks.append(await begin(number, batcher)) }
            #expect(database.batches == [[0, 1]])
            // Two are in the database, five wait.
            await #expect(throws: BatchFailure.tooManyWaiting) { try await batcher.answer(7) }
            database.open()
            for (number, task) in tasks.prefix(6).enumerated() { #expect(await task.value == Self.answered(number)) }
            #expect(database.batches == [[0, 1], [2, 3], [4, 5]])
            await until { clock.sleeperCount > 0 }
            clock.advance(by: .milliseconds(5))
            #expect(await tasks[6].value == Self.answered(6))
        }
    }

    @Test("lets a request that PostgreSQL refuses fail alone")
    func isolatesPoison() async throws {
        database.state.withLock { $0.poison = 1 }
        try await with { batcher in
            let good = await begin(0, batcher)
            let bad = await begin(1, batcher)
            #expect(await good.value == Self.answered(0))
            #expect(await bad.value == .failure(.storage(.refused(sqlState: "22021"))))
            #expect(database.batches == [[0, 1], [0], [1]])
        }
    }

    @Test("tells everybody who waits that the database is away, and works again when it is back")
    func failsTogether() async throws {
        database.state.withLock {
            $0.isClosed = true
            $0.failure = .unavailable
        }
        try await with { batcher in
            var tasks: [Task<Result<String, BatchFailure>, Never>] = []
            for number in 0..<5 { tasks.append(await begin(number, batcher)) }
            database.open()
            for task in tasks { #expect(await task.value == .failure(.storage(.unavailable))) }
            #expect(database.batches == [[0, 1]])
            database.state.withLock { $0.failure = nil }
            let later = [await begin(5, batcher), await begin(6, batcher)]
            #expect(await later[0].value == Self.answered(5))
            #expect(await later[1].value == Self.answered(6))
        }
    }

    @Test("asks at once where batches are eager and none is open, and never with a batch that began before the request came")
    func asksEagerly() async throws {
        database.state.withLock { $0.isClosed = true }
        try await with(isEager: true) { batcher in
            let first = await begin(0, batcher)
            await until { database.batches == [[0]] }
            let second = await begin(1, batcher)
            await until { clock.sleeperCount == 1 }
            #expect(database.batches == [[0]])
            database.open()
            #expect(await first.value == Self.answered(0))
            #expect(await second.value == Self.answered(1))
            #expect(database.batches == [[0], [1]])
        }
    }

    @Test("asks beside a slow eager batch when the wait is over")
    func asksBesideSlowBatch() async throws {
        database.state.withLock { $0.isClosed = true }
        try await with(isEager: true) { batcher in
            let first = await begin(0, batcher)
            await until { database.batches == [[0]] }
            let second = await begin(1, batcher)
            await until { clock.sleeperCount == 1 }
            clock.advance(by: .milliseconds(5))
            await until { database.batches == [[0], [1]] }
            database.open()
            #expect(await first.value == Self.answered(0))
            #expect(await second.value == Self.answered(1))
        }
    }
}
