import Synchronization

@testable import Gateway

/// A delivery queue in memory that a test fills, breaks and reads.
final class ScriptedQueue: DeliveryQueue {
    struct State {
        var chunks: [Chunk] = []
        var jobs: [NotificationID: PushJob] = [:]
        var superseded: Set<NotificationID> = []
        var recorded: [ChunkRecord] = []
        var recordCalls = 0
        var claimed: [ChunkID] = []
        var givenBack: [[ChunkID]] = []
        var handedOut: [[ChunkID]] = []
        var exclusions: [[ApplicationID]] = []
        var registeredWorkers = 0
        /// The journals workers registered with; nil for none.
        var registeredJournals: [UUID?] = []
        /// The workers of each journal.
        var workersOfJournals: [UUID: [WorkerID]] = [:]
        var releasedWorkers: [WorkerID] = []
        var recordingWorkers: [WorkerID] = []
        /// Chunks that others have taken.
        var lostChunks: Set<ChunkID> = []
        var failingGiveBacks = 0
        /// What looking for the workers of a journal fails with.
        var journalFailure: StorageError?
        var isReleased = false
        var failingClaims = 0
        var failingRecords = 0
        /// Recording any of these is refused for good, together with others or alone.
        var refusedChunks: Set<ChunkID> = []
        var givenUp: [ChunkID] = []
        var failingLoads = 0
        /// How often a notification was read.
        var loadCount = 0
        var isLeaseLost = false
        var isAway = false
        /// Whether extending the lease is not answered until `answerExtensions`.
        var isHanging = false
        /// Whether a claim that finds a chunk is not answered until `answerClaims`.
        var isClaimHanging = false
        var hangingClaims: [CheckedContinuation<Void, Never>] = []
        var hanging: [CheckedContinuation<Void, Never>] = []
    }
    let state = Mutex(State())
    private let changes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func change(_ body: (inout sending State) -> Void) {
        state.withLock { body(&$0) }
        changes.continuation.yield()
    }

    /// Waits until the state is as wanted.
    func wait(until condition: (borrowing State) -> Bool) async {
        if state.withLock({ condition($0) }) { return }
        for await _ in changes.stream where state.withLock({ condition($0) }) { return }
    }

    func registerWorker(node: String, journal: UUID?) async throws(StorageError) -> WorkerID {
        let number = state.withLock { state in
            state.registeredWorkers += 1
            state.registeredJournals.append(journal)
            return state.registeredWorkers
        }
        changes.continuation.yield()
        return WorkerID(rawValue: Int32(number))
    }

    func workers(ofJournal journal: UUID) async throws(StorageError) -> [WorkerID] {
        if let failure = state.withLock({ $0.journalFailure }) { throw failure }
        return state.withLock { $0.workersOfJournals[journal] ?? [] }
    }

    func extendLease(of worker: WorkerID, seconds: Int) async throws(StorageError) -> Bool {
        if state.withLock({ $0.isHanging }) {
            await withCheckedContinuation { continuation in state.withLock { $0.hanging.append(continuation) } }
        }
        if state.withLock({ $0.isAway }) { throw .unavailable }
        return state.withLock { state in
            defer { state.isLeaseLost = false }
            return !state.isLeaseLost
        }
    }

    func answerExtensions() {
        let hanging = state.withLock { state in
            state.isHanging = false
            defer { state.hanging = [] }
            return state.hanging
        }
        for continuation in hanging { continuation.resume() }
    }

    func releaseLease(of worker: WorkerID) async throws(StorageError) {
        change {
            $0.isReleased = true
            $0.releasedWorkers.append(worker)
        }
    }

    func claimChunk(for worker: WorkerID, deviceCount: Int, excluding applications: [ApplicationID])
        async throws(StorageError) -> Chunk?
    {
        let (chunk, fails): (Chunk?, Bool) = state.withLock { state in
            if state.failingClaims > 0 {
                state.failingClaims -= 1
                return (nil, true)
            }
            state.exclusions.append(applications)
            guard let index = state.chunks.firstIndex(where: { !applications.contains($0.application) }) else {
                return (nil, false)
            }
            let chunk = state.chunks.remove(at: index)
            state.claimed.append(chunk.id)
            return (chunk, false)
        }
        changes.continuation.yield()
        if fails { throw .unavailable }
        if chunk != nil, state.withLock({ $0.isClaimHanging }) {
            await withCheckedContinuation { continuation in state.withLock { $0.hangingClaims.append(continuation) } }
        }
        return chunk
    }

    func answerClaims() {
        let hanging = state.withLock { state in
            state.isClaimHanging = false
            defer { state.hangingClaims = [] }
            return state.hangingClaims
        }
        for continuation in hanging { continuation.resume() }
    }

    func handOutChunks(ofDead worker: WorkerID, except held: [ChunkID]) async throws(StorageError) {
        change { $0.handedOut.append(held) }
    }

    func giveBackChunks(of worker: WorkerID, except held: [ChunkID]) async throws(StorageError) {
        let fails = state.withLock { state in
            guard state.failingGiveBacks > 0 else { return false }
            state.failingGiveBacks -= 1
            return true
        }
        if fails { throw .unavailable }
        // Afterwards they would belong to others.
        change { if !$0.isReleased { $0.givenBack.append(held) } }
    }

    func job(for notification: NotificationID) async throws(StorageError) -> PushJob? {
        let fails = state.withLock { state in
            guard state.failingLoads > 0 else { return false }
            state.failingLoads -= 1
            return true
        }
        if fails {
            changes.continuation.yield()
            throw .unavailable
        }
        return state.withLock { state in
            state.loadCount += 1
            return state.jobs[notification]
        }
    }

    func superseded(among notifications: [NotificationID]) async throws(StorageError) -> [NotificationID] {
        state.withLock { state in notifications.filter { state.superseded.contains($0) } }
    }

    func record(_ records: [ChunkRecord], worker: WorkerID) async throws(StorageError) -> [ChunkID] {
        let failure: StorageError? = state.withLock { state in
            state.recordCalls += 1
            if records.contains(where: { state.refusedChunks.contains($0.chunk) }) { return .refused(sqlState: "22003") }
            guard state.failingRecords > 0 else {
                state.recorded += records.filter { !state.lostChunks.contains($0.chunk) }
                state.recordingWorkers.append(worker)
                return nil
            }
            state.failingRecords -= 1
            return .unavailable
        }
        changes.continuation.yield()
        if let failure { throw failure }
        return state.withLock { state in records.map(\.chunk).filter { state.lostChunks.contains($0) } }
    }

    func giveUp(_ chunk: ChunkID, of worker: WorkerID) async throws(StorageError) { change { $0.givenUp.append(chunk) } }

    func millisecondsUntilNextRetry(excluding applications: [ApplicationID]) async throws(StorageError) -> Int64? { nil }
}

/// A sender that answers as a test says, and holds batches until it lets them go.
final class ScriptedSender: PushSender {
    private struct State {
        var batches: [PushBatch] = []
        var events: [String] = []
        var held: [CheckedContinuation<Void, Never>] = []
        var isHolding = false
    }
    private let state = Mutex(State())
    private let changes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let answer: @Sendable (PushBatch, Int) -> PushOutcome

    init(isHolding: Bool = false, answer: @escaping @Sendable (PushBatch, Int) -> PushOutcome = { _, _ in .accepted }) {
        self.answer = answer
        state.withLock { $0.isHolding = isHolding }
    }

    var batches: [PushBatch] { state.withLock { $0.batches } }
    /// What happened to batches, in order: `sent 1`, `answered 1`, with the number of the notification.
    var events: [String] { state.withLock { $0.events } }

    func send(_ batch: PushBatch) async -> [PushOutcome] {
        for index in batch.devices.indices { batch.marks?.submitted(index) }
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                state.batches.append(batch)
                state.events.append("sent \(batch.notification.rawValue)")
                if state.isHolding { state.held.append(continuation) }
                return state.isHolding
            }
            changes.continuation.yield()
            if !isHeld { continuation.resume() }
        }
        state.withLock { $0.events.append("answered \(batch.notification.rawValue)") }
        let outcomes = batch.devices.indices.map { batch.cancellation.isCancelled ? PushOutcome.notSent : answer(batch, $0) }
        for (index, outcome) in outcomes.enumerated() { batch.marks?.ended(index, outcome) }
        if outcomes.contains(.accepted) { batch.onFirstAccepted?() }
        return outcomes
    }

    func wait(forBatches count: Int) async {
        if batches.count >= count { return }
        for await _ in changes.stream where batches.count >= count { return }
    }

    /// Returns once the first batch is cancelled.
    func waitForCancellation() async {
        while batches.first?.cancellation.isCancelled != true { await Task.yield() }
    }

    func hold() { state.withLock { $0.isHolding = true } }

    func letGo() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}
