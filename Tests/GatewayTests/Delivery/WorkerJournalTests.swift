import Synchronization
import Testing

@testable import Gateway

@Suite("A worker's journal", .timeLimit(.minutes(1))) struct WorkerJournalTests {
    @Test("has the page of a chunk before the first push leaves, with every device and how often it was tried")
    func opensPageFirst() async throws {
        let bench = try WorkerBench(sender: ScriptedSender(isHolding: true))
        let chunk = bench.enqueue(devices: 1...4) { chunk in
            chunk.services = [1, 0, 1, 0]
            chunk.attempts = [1, 2, 3, 4]
        }
        try await bench.run {
            await bench.sender.wait(forBatches: 2)
            let page = try #require(bench.journals.pages.first)
            #expect(page.chunk == chunk && bench.journals.pages.count == 1)
            let attempts = Dictionary(uniqueKeysWithValues: zip(page.devices, page.attempts))
            #expect(attempts == [1: 1, 2: 2, 3: 3, 4: 4])
            #expect(page.marks == Array(repeating: .submitted, count: 4) && !page.isClosed)
        }
    }

    @Test("says of every device what became of its push, whatever its environment")
    func marksOutcomes() async throws {
        let outcomes: [Int64: PushOutcome] = [
            1: .accepted, 2: .rejected(.badTopic), 3: .unknown, 4: .notSent, 5: .deferred(.shutdown, delayMilliseconds: 9),
            6: .tokenDead(.unregistered, since: nil),
        ]
        let bench = try WorkerBench(sender: ScriptedSender { batch, index in outcomes[batch.devices[index]] ?? .accepted })
        bench.queue.change { $0.failingRecords = .max }
        bench.enqueue(devices: 1...6) { $0.services = [0, 1, 0, 1, 0, 1] }
        try await bench.run {
            await bench.queue.wait { $0.recordCalls > 0 }
            let page = try #require(bench.journals.pages.first)
            let marks = Dictionary(uniqueKeysWithValues: zip(page.devices, page.marks.map(\.rawValue)))
            #expect(marks == [1: 200, 2: 406, 3: -1, 4: 0, 5: 0, 6: 425])
            #expect(!page.isClosed)
            bench.queue.change { $0.failingRecords = 0 }
            while bench.recorded().isEmpty { bench.clock.tick(); await Task.yield() }
        }
        #expect(bench.journals.pages.allSatisfy { $0.isClosed })
    }

    @Test("is named when the worker registers, and goes when the worker leaves in order")
    func isRemovedInOrder() async throws {
        let bench = try WorkerBench()
        bench.enqueue(devices: 1...3)
        await bench.run { await bench.queue.wait { $0.recorded.count == 1 } }
        #expect(bench.queue.state.withLock { $0.registeredJournals } == bench.journals.begun.map { $0.id })
        #expect(bench.journals.begun.map(\.isRemoved) == [true])
    }

    @Test("stays for the next daemon when the worker cannot give its chunks back")
    func staysWithoutDatabase() async throws {
        let bench = try WorkerBench()
        bench.enqueue(devices: 1...3)
        await bench.run {
            await bench.queue.wait { $0.recorded.count == 1 }
            bench.queue.change { $0.failingGiveBacks = .max }
        }
        #expect(bench.journals.begun.map(\.isRemoved) == [false])
    }

    @Test("is replaced with a lost lease, and the worker does without where none can be written")
    func isReplaced() async throws {
        let bench = try WorkerBench()
        await bench.run {
            await bench.queue.wait { $0.registeredWorkers == 1 }
            bench.journals.state.withLock { $0.isOff = true }
            bench.queue.change { $0.isLeaseLost = true }
            while bench.queue.state.withLock({ $0.registeredWorkers < 2 }) {
                bench.clock.tick(); await Task.yield()
            }
            bench.enqueue(devices: 1...3)
            await bench.queue.wait { $0.recorded.count == 1 }
        }
        #expect(bench.queue.state.withLock { $0.registeredJournals } == [bench.journals.begun[0].id, nil])
        #expect(bench.journals.begun.map(\.isRemoved) == [true])
        #expect(bench.journals.pages.isEmpty && bench.deliveries().count == 3)
    }

    @Test("takes no page of a chunk whose lease was lost before it could be sent: nothing of it leaves")
    func sendsNothingOfLostChunk() async throws {
        let bench = try WorkerBench()
        bench.queue.change { $0.failingLoads = .max }
        bench.enqueue(event: .start, devices: 1...3)
        await bench.run {
            await bench.queue.wait { $0.claimed.count == 1 && $0.failingLoads < .max }
            bench.queue.change { $0.isLeaseLost = true }
            while bench.queue.state.withLock({ $0.registeredWorkers < 2 }) {
                bench.clock.tick(); await Task.yield()
            }
            bench.queue.change { $0.failingLoads = 0 }
            bench.enqueue(notification: 2, devices: 4...6)
            while bench.recorded().isEmpty { bench.clock.tick(); await Task.yield() }
        }
        #expect(bench.sender.batches.flatMap(\.devices) == [4, 5, 6])
        #expect(bench.journals.pages.map(\.devices) == [[4, 5, 6]])
    }
}
