import Observability
import Synchronization
import Testing

@testable import Gateway

@Suite("Outcomes PostgreSQL refuses", .timeLimit(.minutes(1))) struct ChunkRecorderTests {
    private static let worker = WorkerID(rawValue: 1)

    private static func record(_ number: Int32) -> ChunkRecord {
        ChunkRecord(chunk: ChunkID(notification: NotificationID(rawValue: 1), number: number, epoch: 1), event: .start)
    }

    @Test("keep no other chunk from being recorded, and are given up")
    func keepOthers() async throws {
        let queue = ScriptedQueue()
        let records = (0..<5).map { Self.record($0) }
        queue.change { $0.refusedChunks = [records[1].chunk, records[4].chunk] }
        let lost = try await ChunkRecorder(queue: queue, logger: Logger(level: .error)).record(records, worker: Self.worker)
        #expect(lost == 0)
        #expect(queue.state.withLock { $0.recorded.map(\.chunk.number) } == [0, 2, 3])
        #expect(queue.state.withLock { $0.givenUp.map(\.number) } == [1, 4])
        // Once together, then each alone.
        #expect(queue.state.withLock { $0.recordCalls } == 6)
    }

    @Test("are not given up because the database is away")
    func outlastOutages() async throws {
        let queue = ScriptedQueue()
        queue.change { $0.failingRecords = 1 }
        let recorder = ChunkRecorder(queue: queue, logger: Logger(level: .error))
        await #expect(throws: StorageError.unavailable) {
            _ = try await recorder.record([Self.record(0)], worker: Self.worker)
        }
        #expect(queue.state.withLock { $0.givenUp }.isEmpty)
    }

    @Test(
        "are told from refusals of the statement and from outages",
        arguments: [
            ("22003", true), ("23514", true), ("54000", true), ("XX001", true), ("42P01", false), ("42501", false),
            ("55P03", false), ("25P02", false), ("P0001", false),
        ])
    func areToldApart(sqlState: String, isAboutValues: Bool) {
        #expect(StorageError.refused(sqlState: sqlState).isAboutValues == isAboutValues)
        #expect(!StorageError.unavailable.isAboutValues)
    }

    @Test("leave the worker free for others, and it does not ask again")
    func leaveTheWorkerFree() async throws {
        let bench = try WorkerBench()
        let poisoned = ChunkID(notification: NotificationID(rawValue: 1), number: 0, epoch: 1)
        bench.queue.change { $0.refusedChunks = [poisoned] }
        bench.enqueue(event: .start, devices: 1...3)
        await bench.run {
            await bench.queue.wait { $0.givenUp == [poisoned] }
            for number in 1...20 { bench.enqueue(event: .start, devices: 10...12, number: Int32(number)) }
            await bench.queue.wait { $0.recorded.count == 20 }
        }
        #expect(bench.queue.state.withLock { $0.givenUp } == [poisoned])
        #expect(bench.sender.batches.count == 21)
    }
}
