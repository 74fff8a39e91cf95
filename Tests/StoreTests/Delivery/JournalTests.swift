import Gateway
import Glibc
import Observability
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import Store

/// One abandoned journal, until it is removed.
private final class OneJournal: PushJournals, AbandonedJournal {
    let id = UUID.random()
    private let contents: Mutex<JournalContents?>

    init(_ pages: [JournaledChunk], isComplete: Bool = true) {
        contents = Mutex(JournalContents(pages: pages, isComplete: isComplete))
    }

    var isRemoved: Bool { contents.withLock { $0 == nil } }
    func begin() -> (any WorkerJournal)? { nil }
    func abandoned() -> [any AbandonedJournal] { isRemoved ? [] : [self] }
    func read() throws(JournalDistrust) -> JournalContents {
        guard let contents = contents.withLock({ $0 }) else { throw .unreadable("removed") }
        return contents
    }
    func remove() { contents.withLock { $0 = nil } }
    func removeIfForgotten() {}
}

extension StoreFixture {
    /// A page of a chunk whose pushes got so far.
    fileprivate static func page(_ chunk: Chunk, _ outcome: (Int) -> PushOutcome) -> JournaledChunk {
        JournaledChunk(
            id: chunk.id, devices: chunk.devices,
            attempts: chunk.attempts.isEmpty ? chunk.devices.map { _ in 0 } : chunk.attempts,
            outcomes: chunk.devices.indices.map(outcome))
    }

    /// Makes a journal that of a worker.
    fileprivate func adopt(_ journal: UUID, by worker: WorkerID) async throws {
        try await session.queryUnprepared(
            "update worker set journal = $1 where worker_id = $2", [.uuid(journal.bytes), .int32(worker.rawValue)])
    }

    /// Settles a journal the way a daemon does, at one moment and again when late claims are over.
    fileprivate func settle(_ journal: OneJournal, times: Int = 2) async throws {
        let start = ContinuousClock.now
        let elapsed = Mutex(Duration.zero)
        let recovery = JournalRecovery(
            executor: TestDatabase.loop, journals: journal, queue: store,
            clock: FanOutClock(
                now: { UnixMilliseconds(rawValue: 1_000 * Int64(time(nil))) }, instant: { start + elapsed.withLock { $0 } },
                sleep: { _ in }), logger: .silent)
        for _ in 0..<times {
            try await recovery.settle()
            elapsed.withLock { $0 += JournalRecovery.lateClaimTime }
        }
    }
}

@Suite("A dead worker's journal", .enabled(if: TestDatabase.isAvailable)) struct JournalTests {
    /// Accepted, refused, on the wire, and never sent, in turns.
    private static func outcome(_ index: Int) -> PushOutcome {
        [.accepted, .rejected(.badTopic), .unknown, .notSent][index % 4]
    }

    @Test("of a start leaves unknown what was on the wire, and sends the rest once: every device is counted once")
    func settlesStart() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(30)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            var pages: [JournaledChunk] = []
            let dead = try await fixture.store.registerWorker(node: "a")
            var devices: [Int64] = []
            for _ in 0..<2 {
                let chunk = try #require(try await fixture.claim(dead, 8))
                devices += chunk.devices
                pages.append(StoreFixture.page(chunk, Self.outcome))
            }
            // Claimed, and not one push of it was made.
            let unsent = try #require(try await fixture.claim(dead, 8))
            let journal = OneJournal(pages)
            try await fixture.adopt(journal.id, by: dead)
            try await fixture.settle(journal)
            #expect(journal.isRemoved)

            let second = try await fixture.store.registerWorker(node: "b")
            let pushed = try await fixture.deliverEverything(second, deviceCount: 8)[notification.id] ?? []
            let resent = devices.indices.filter { Self.outcome($0 % 8) == .notSent }.map { devices[$0] }
            #expect(Set(pushed).count == pushed.count)
            #expect(Set(pushed).intersection(devices) == Set(resent))
            #expect(Set(pushed).isSuperset(of: unsent.devices) && pushed.count == 30 - 16 + 4)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.targetedCount == 30 && summary.pendingCount == 0)
            #expect(summary.acceptedCount == 4 + 4 + 14 && summary.failedCount == 4 && summary.unknownCount == 4)
            #expect(summary.reasons.map(\.reason) == [.badTopic])
            #expect(try await fixture.number("select count(*) from delivery where status = 0") == 4)
            #expect(try await fixture.number("select count(*) from delivery") == 30)
            #expect(try await !fixture.store.extendLease(of: dead, seconds: 15))
        }
    }

    @Test("of an update is sent again unless its outcome is known")
    func settlesUpdate() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...8 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let notification = try await fixture.accept(.update, of: "match-1")
            let dead = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(dead, 8))
            let journal = OneJournal([StoreFixture.page(chunk, Self.outcome)])
            try await fixture.adopt(journal.id, by: dead)
            try await fixture.settle(journal)
            // What was on the wire waits a moment before its second try.
            try await fixture.session.execute("update delivery_retry set not_before = now()")
            let second = try await fixture.store.registerWorker(node: "b")
            let pushed = try await fixture.deliverEverything(second)[notification.id] ?? []
            #expect(Set(pushed) == Set([2, 3, 6, 7].map { chunk.devices[$0] }) && pushed.count == 4)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.targetedCount == 8)
            #expect(summary.acceptedCount == 6 && summary.failedCount == 2 && summary.unknownCount == 0)
        }
    }

    @Test("changes nothing when it is settled again, as after a crash in the middle of settling")
    func isIdempotent() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(8)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let dead = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(dead, 8))
            let journal = OneJournal([StoreFixture.page(chunk, Self.outcome)])
            try await fixture.adopt(journal.id, by: dead)
            try await fixture.settle(journal, times: 1)
            let second = try await fixture.store.registerWorker(node: "b")
            try await fixture.deliverEverything(second)
            let settled = try await fixture.summary(notification)
            #expect(settled.state == .finished && settled.unknownCount == 2 && settled.acceptedCount == 4)
            for _ in 0..<3 { try await fixture.settle(journal) }
            let again = try await fixture.summary(notification)
            #expect(again.acceptedCount == settled.acceptedCount && again.unknownCount == settled.unknownCount)
            #expect(again.targetedCount == 8 && again.failedCount == 2 && again.state == .finished)
            #expect(try await fixture.claim(second) == nil)
        }
    }

    @Test("does not touch a chunk that another worker took over, or that the dead one had closed")
    func obeysFence() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...9 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let notification = try await fixture.accept(.update, of: "match-1")
            let dead = try await fixture.store.registerWorker(node: "a")
            let second = try await fixture.store.registerWorker(node: "b")
            let closed = try #require(try await fixture.claim(dead, 3))
            let taken = try #require(try await fixture.claim(dead, 3))
            #expect(try await fixture.store.record([StoreFixture.record(closed, .update)], worker: dead) == [])
            try await fixture.expire(dead)
            let takenOver = try #require(try await fixture.claim(second, 3))
            #expect(takenOver.id.number == taken.id.number && takenOver.id.epoch == taken.id.epoch + 1)
            let journal = OneJournal([closed, taken].map { StoreFixture.page($0) { _ in .rejected(.badTopic) } })
            try await fixture.adopt(journal.id, by: dead)
            try await fixture.settle(journal)
            #expect(journal.isRemoved)
            #expect(try await fixture.store.record([StoreFixture.record(takenOver, .update)], worker: second) == [])
            try await fixture.deliverEverything(second)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.targetedCount == 9 && summary.acceptedCount == 9)
        }
    }

    @Test("with gaps leaves what has no page to the rule of the lease: such a start is unknown as a whole")
    func obeysGaps() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(8)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let dead = try await fixture.store.registerWorker(node: "a")
            let paged = try #require(try await fixture.claim(dead, 4))
            let pageless = try #require(try await fixture.claim(dead, 4))
            let journal = OneJournal([StoreFixture.page(paged, Self.outcome)], isComplete: false)
            try await fixture.adopt(journal.id, by: dead)
            try await fixture.settle(journal)
            let second = try await fixture.store.registerWorker(node: "b")
            let pushed = try await fixture.deliverEverything(second)[notification.id] ?? []
            #expect(pushed == [paged.devices[3]] && Set(pushed).isDisjoint(with: pageless.devices))
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.unknownCount == 1 + 4)
        }
    }

    @Test("sends nothing of a start whose activity has ended meanwhile")
    func obeysSupersession() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(4)
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.hold("match-1", device: 1)
            let dead = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(dead, 4))
            let journal = OneJournal([StoreFixture.page(chunk, Self.outcome)])
            try await fixture.adopt(journal.id, by: dead)
            _ = try await fixture.accept(.end, of: "match-1")
            try await fixture.settle(journal)
            let second = try await fixture.store.registerWorker(node: "b")
            #expect(try await fixture.deliverEverything(second)[start.id] == nil)
            let summary = try await fixture.summary(start)
            #expect(summary.state == .finished && summary.targetedCount == 4)
            #expect(summary.acceptedCount == 1 && summary.failedCount == 2 && summary.unknownCount == 1)
            #expect(Set(summary.reasons.map(\.reason)) == [.badTopic, .superseded])
        }
    }

    @Test("goes on counting how often a push was tried when that was a retry")
    func keepsAttempts() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(4)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            let dead = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(dead))
            var record = ChunkRecord(chunk: chunk.id, event: .start)
            record.retries = chunk.devices.map {
                RetryRecord(device: $0, attempt: 5, notBefore: UnixMilliseconds(rawValue: 1_000))
            }
            #expect(try await fixture.store.record([record], worker: dead) == [])
            let retried = try #require(try await fixture.claim(dead))
            #expect(retried.isRetry && retried.attempts == [5, 5, 5, 5])
            let journal = OneJournal([StoreFixture.page(retried, Self.outcome)])
            try await fixture.adopt(journal.id, by: dead)
            try await fixture.settle(journal)
            let second = try await fixture.store.registerWorker(node: "b")
            let again = try #require(try await fixture.claim(second))
            #expect(again.devices == [retried.devices[3]] && again.attempts == [6] && again.isRetry)
            #expect(try await fixture.store.record([StoreFixture.record(again, .start)], worker: second) == [])
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.targetedCount == 4 && summary.acceptedCount == 2)
        }
    }

    @Test("does not hand out a chunk that was sent by nobody when it had too many owners: it may be what kills them")
    func boundsOwners() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(4)
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            for number in 1...5 {
                let dead = try await fixture.store.registerWorker(node: "a")
                let chunk = try #require(try await fixture.claim(dead))
                #expect(chunk.devices.count == 4 && chunk.id.epoch == number)
                let journal = OneJournal([])
                try await fixture.adopt(journal.id, by: dead)
                try await fixture.settle(journal)
            }
            let last = try await fixture.store.registerWorker(node: "b")
            #expect(try await fixture.claim(last) == nil)
            let summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.targetedCount == 4 && summary.unknownCount == 4)
        }
    }

    @Test("is found by its name, with every worker that registered under it, and by no other")
    func isFound() async throws {
        try await StoreFixture.with { fixture in
            let id = UUID.random()
            let first = try await fixture.store.registerWorker(node: "a", journal: id)
            let second = try await fixture.store.registerWorker(node: "a", journal: id)
            _ = try await fixture.store.registerWorker(node: "a", journal: .random())
            _ = try await fixture.store.registerWorker(node: "a")
            #expect(try await fixture.store.workers(ofJournal: id) == [first, second])
            #expect(try await fixture.store.workers(ofJournal: .random()) == [])
        }
    }
}
