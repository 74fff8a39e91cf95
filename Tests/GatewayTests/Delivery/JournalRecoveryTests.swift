import Networking
import Observability
import Synchronization
import Testing

@testable import Gateway

@Suite("A page of a dead worker") struct JournaledChunkTests {
    private static let now = UnixMilliseconds(rawValue: 1_800_000_000_000)

    /// One device for each way a push can have been, in no order; the second try of all.
    private static func record(_ event: ActivityEvent, isSuperseded: Bool = false, expiresAt: Int64 = 1_800_003_600)
        -> ChunkRecord
    {
        let outcomes: [PushOutcome] = [.unknown, .rejected(.badDeviceToken), .notSent, .accepted]
        let page = JournaledChunk(
            id: ChunkID(notification: NotificationID(rawValue: 1), number: 3, epoch: 2), devices: [4, 3, 2, 1],
            attempts: [1, 1, 1, 1], outcomes: outcomes)
        return page.record(
            for: RecoveryBench.job(event, expiresAt: expiresAt), isSuperseded: isSuperseded, now: now, jitter: { 0 })
    }

    private static func reasons(_ record: ChunkRecord) -> [Int64: DeliveryReason] {
        Dictionary(uniqueKeysWithValues: record.deliveries.map { ($0.device, $0.reason) })
    }

    @Test("of a start leaves unknown what was on the wire, and sends what never left at once")
    func start() {
        let record = Self.record(.start)
        #expect(record.chunk == ChunkID(notification: NotificationID(rawValue: 1), number: 3, epoch: 2))
        #expect(Self.reasons(record) == [1: .accepted, 3: .badDeviceToken, 4: .unknown])
        #expect(record.retries == [RetryRecord(device: 2, attempt: 2, notBefore: Self.now)])
        #expect(record.deadTokens.isEmpty)
    }

    @Test("of an update or end is sent again unless its outcome is known", arguments: [ActivityEvent.update, .end])
    func update(event: ActivityEvent) {
        let record = Self.record(event)
        #expect(Self.reasons(record) == [1: .accepted, 3: .badDeviceToken])
        #expect(record.retries.map(\.device) == [2, 4])
        #expect(record.retries.map(\.attempt) == [2, 2])
    }

    @Test("sends nothing of what a newer state took the place of")
    func superseded() {
        let record = Self.record(.update, isSuperseded: true)
        #expect(Self.reasons(record) == [1: .accepted, 2: .superseded, 3: .badDeviceToken, 4: .unknown])
        #expect(record.retries.isEmpty)
    }

    @Test("sends nothing whose time is over")
    func expired() {
        let record = Self.record(.start, expiresAt: 1_799_999_999)
        #expect(Self.reasons(record) == [1: .accepted, 2: .expired, 3: .badDeviceToken, 4: .unknown])
        #expect(record.retries.isEmpty)
    }

    @Test("ends what was tried too often without ever leaving: it may be what kills the daemon")
    func exhausted() {
        let page = JournaledChunk(
            id: ChunkID(notification: NotificationID(rawValue: 1), number: 3, epoch: 2), devices: [1, 2],
            attempts: [98, 99], outcomes: [.notSent, .notSent])
        let record = page.record(for: RecoveryBench.job(.start), isSuperseded: false, now: Self.now, jitter: { 0 })
        #expect(record.retries == [RetryRecord(device: 1, attempt: 99, notBefore: Self.now)])
        #expect(Self.reasons(record) == [2: .attemptsExhausted])
    }

    @Test("reads every mark that is made, and no other", arguments: DeliveryReason.names.map(\.reason))
    func marks(reason: DeliveryReason) {
        let expected: PushOutcome =
            reason == .accepted ? .accepted : reason == .unknown ? .notSent : .rejected(reason)
        #expect(PushMark(rawValue: reason.rawValue).outcome == expected)
        #expect(PushMark(.rejected(.badTopic)).outcome == .rejected(.badTopic))
        #expect(PushMark(.tokenDead(.unregistered, since: nil)).outcome == .rejected(.unregistered))
        #expect(PushMark(.unknown) == .submitted && PushMark.submitted.outcome == .unknown)
        for rawValue in [-2, -200, Int16.min] as [Int16] { #expect(PushMark(rawValue: rawValue).outcome == nil) }
    }
}

/// A recovery on a loop of its own over scripted journals and a scripted queue.
final class RecoveryBench: Sendable {
    let loop: EventLoop
    let queue = ScriptedQueue()
    let journals = ScriptedJournals()
    let clock = ManualClock()
    let recovery: JournalRecovery

    init() throws {
        loop = try EventLoop.start(name: "recovery-test")
        recovery = JournalRecovery(
            executor: loop, journals: journals, queue: queue, clock: clock.fanOutClock, logger: .silent)
    }

    static func with(_ body: (RecoveryBench) async throws -> Void) async throws {
        let bench = try RecoveryBench()
        defer { bench.loop.stop() }
        try await body(bench)
    }

    static func job(_ event: ActivityEvent, expiresAt: Int64 = 1_900_000_000) -> PushJob {
        let content = PushContent(
            event: event, attributesType: nil, attributes: nil, contentState: Array("{}".utf8), alerts: [], sound: nil,
            staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10)
        return PushJob(
            notification: NotificationID(rawValue: 1), application: WorkerBench.application(1), activityID: "match",
            content: content, timestamp: 1_800_000_000, expiresAt: expiresAt)
    }

    static func page(_ number: Int32, notification: Int64 = 1) -> JournaledChunk {
        JournaledChunk(
            id: ChunkID(notification: NotificationID(rawValue: notification), number: number, epoch: 1), devices: [1, 2],
            attempts: [0, 0], outcomes: [.unknown, .notSent])
    }

    /// Settles, and checks whether there was anything.
    func expectSettled(_ expected: Bool = true, at location: SourceLocation = #_sourceLocation) async throws {
        let isAnySettled = try await recovery.settle()
        #expect(isAnySettled == expected, sourceLocation: location)
    }

    /// The journal of worker 7, which was sending starts.
    func abandon(_ pages: [JournaledChunk], isComplete: Bool = true) -> ScriptedAbandonedJournal {
        let journal = journals.abandon(.success(JournalContents(pages: pages, isComplete: isComplete)))
        queue.change { state in
            state.workersOfJournals[journal.id] = [WorkerID(rawValue: 7)]
            state.jobs[NotificationID(rawValue: 1)] = Self.job(.start)
        }
        return journal
    }
}

@Suite("Settling dead workers' journals", .timeLimit(.minutes(1))) struct JournalRecoveryTests {
    @Test("stores what is known in the dead worker's name and hands out its other chunks, before its lease is released")
    func settles() async throws {
        try await RecoveryBench.with { bench in
            let journal = bench.abandon([RecoveryBench.page(0), RecoveryBench.page(4)])
            try await bench.expectSettled()
            let state = bench.queue.state.withLock { $0 }
            #expect(state.recordingWorkers == [WorkerID(rawValue: 7), WorkerID(rawValue: 7)])
            #expect(state.recorded.map(\.chunk.number) == [0, 4])
            #expect(state.recorded.flatMap(\.deliveries).map(\.reason) == [.unknown, .unknown])
            #expect(state.recorded.flatMap(\.retries).map(\.device) == [2, 2])
            #expect(state.handedOut.map { $0.map(\.number) } == [[0, 4]])
            #expect(!state.isReleased)
            #expect(!journal.isRemoved)
        }
    }

    @Test("looks once more for claims that were committed after the death, then lets the worker and its journal go")
    func looksOnceMore() async throws {
        try await RecoveryBench.with { bench in
            let journal = bench.abandon([RecoveryBench.page(0)])
            try await bench.recovery.settle()
            bench.queue.change { $0.lostChunks = [RecoveryBench.page(0).id] }
            bench.clock.advance(by: .seconds(1))
            try await bench.recovery.settle()
            #expect(!journal.isRemoved)
            bench.clock.advance(by: .seconds(1))
            try await bench.recovery.settle()
            let state = bench.queue.state.withLock { $0 }
            #expect(state.recorded.count == 1)
            #expect(state.handedOut.count == 3)
            #expect(state.releasedWorkers == [WorkerID(rawValue: 7)])
            #expect(journal.isRemoved)
            try await bench.expectSettled(false)
        }
    }

    @Test("hands out nothing without a page when the journal has gaps; then such a chunk may have been sent")
    func obeysGaps() async throws {
        try await RecoveryBench.with { bench in
            let journal = bench.abandon([RecoveryBench.page(0)], isComplete: false)
            try await bench.recovery.settle()
            bench.clock.advance(by: .seconds(2))
            try await bench.recovery.settle()
            let state = bench.queue.state.withLock { $0 }
            #expect(state.recorded.map(\.chunk.number).first == 0)
            #expect(state.handedOut.isEmpty && state.isReleased)
            #expect(journal.isRemoved)
        }
    }

    @Test("neither stores nor hands out a chunk of whose notification nothing is known")
    func leavesUnknownNotification() async throws {
        try await RecoveryBench.with { bench in
            _ = bench.abandon([RecoveryBench.page(0), RecoveryBench.page(1, notification: 9)])
            try await bench.recovery.settle()
            let state = bench.queue.state.withLock { $0 }
            #expect(state.recorded.map(\.chunk.notification.rawValue) == [1])
            #expect(state.handedOut.map { $0.map(\.notification.rawValue) } == [[1, 9]])
        }
    }

    @Test("does not believe what it must not: the lease decides then", arguments: [JournalDistrust.otherBoot, .damaged(.head)])
    func distrusts(reason: JournalDistrust) async throws {
        try await RecoveryBench.with { bench in
            let journal = bench.journals.abandon(.failure(reason))
            bench.queue.change { $0.workersOfJournals[journal.id] = [WorkerID(rawValue: 7)] }
            try await bench.expectSettled(false)
            let state = bench.queue.state.withLock { $0 }
            #expect(state.recordCalls == 0 && state.handedOut.isEmpty && !state.isReleased)
            #expect(journal.isRemoved)
        }
    }

    @Test("leaves another database's journal alone, and asks for it once")
    func leavesForeignJournal() async throws {
        try await RecoveryBench.with { bench in
            let journal = bench.journals.abandon(.success(JournalContents(pages: [RecoveryBench.page(0)], isComplete: true)))
            try await bench.expectSettled(false)
            #expect(journal.isForgotten && !journal.isRemoved)
            bench.queue.change { $0.journalFailure = .unavailable }
            try await bench.expectSettled(false)
            #expect(bench.queue.state.withLock { $0.recordCalls } == 0)
        }
    }

    @Test("leaves everything for later while the database is away")
    func waitsForDatabase() async throws {
        try await RecoveryBench.with { bench in
            let journal = bench.abandon([RecoveryBench.page(0)])
            bench.queue.change { $0.journalFailure = .unavailable }
            await #expect(throws: StorageError.unavailable) { try await bench.recovery.settle() }
            bench.queue.change { state in
                state.journalFailure = nil
                state.failingRecords = 1
            }
            await #expect(throws: StorageError.unavailable) { try await bench.recovery.settle() }
            #expect(!journal.isRemoved && bench.queue.state.withLock { $0.handedOut.isEmpty })
            try await bench.expectSettled()
            #expect(bench.queue.state.withLock { $0.recorded.count } == 1)
        }
    }

    @Test("settles the other chunks when the database refuses one, which is neither stored nor handed out")
    func survivesRefusedChunk() async throws {
        try await RecoveryBench.with { bench in
            _ = bench.abandon([RecoveryBench.page(0), RecoveryBench.page(1), RecoveryBench.page(2)])
            bench.queue.change { $0.refusedChunks = [RecoveryBench.page(1).id] }
            try await bench.recovery.settle()
            let state = bench.queue.state.withLock { $0 }
            #expect(state.recorded.map(\.chunk.number) == [0, 2])
            #expect(state.handedOut.map { $0.map(\.number) } == [[0, 1, 2]])
        }
    }

    @Test("goes on with the other journals when the database refuses one, which stays for the operator")
    func survivesRefusal() async throws {
        try await RecoveryBench.with { bench in
            let journal = bench.abandon([RecoveryBench.page(0)])
            bench.queue.change { $0.journalFailure = .refused(sqlState: "42703") }
            try await bench.expectSettled(false)
            bench.queue.change { $0.journalFailure = nil }
            let other = bench.abandon([RecoveryBench.page(1)])
            try await bench.expectSettled()
            #expect(bench.queue.state.withLock { $0.recorded.map(\.chunk.number) } == [1])
            #expect(!journal.isRemoved && !other.isRemoved)
        }
    }
}
