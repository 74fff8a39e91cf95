/// Has requests of one event loop answered together: one statement and one commit for many.
///
/// A request waits until its batch is full or `BatchLimits.wait` is over (or, where batches are eager, no other is open), and for one of
/// the open batches to end. Its batch begins after
/// it came, and it is answered when that is committed: nobody hears what was read before they asked.
package actor RequestBatcher<Request: Sendable, Answer: Sendable> {
    private struct Waiting {
        let request: Request
        let continuation: CheckedContinuation<Result<Answer, BatchFailure>, Never>
    }

    private let executor: any SerialExecutor & TaskExecutor
    private let answerTogether: @Sendable ([Request]) async throws(StorageError) -> [Answer]
    private let limits: BatchLimits
    private let sleep: @Sendable (Duration) async -> Void

    /// Full batches, the oldest first.
    private var full: [[Waiting]] = []
    private var forming: [Waiting] = []
    /// Whether the batch that is forming has waited long enough.
    private var isDue = false
    /// Which batch is forming, so that a late alarm does not meet the next one.
    private var formingNumber = 0
    private var openBatchCount = 0
    private var waitingCount = 0
    /// Requests that were not refused, since the start.
    private(set) var acceptedCount = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - executor: the event loop on which the callers are.
    ///   - sleep: returns after that time.
    ///   - answerTogether: answers all or none, one answer a request in their order.
    package init(
        executor: any SerialExecutor & TaskExecutor, limits: BatchLimits, sleep: @escaping @Sendable (Duration) async -> Void,
        answerTogether: @escaping @Sendable ([Request]) async throws(StorageError) -> [Answer]
    ) {
        self.executor = executor
        self.limits = limits
        self.sleep = sleep
        self.answerTogether = answerTogether
    }

    /// Returns after the commit.
    package func answer(_ request: Request) async throws(BatchFailure) -> Answer {
        guard waitingCount < limits.waitingCount else { throw .tooManyWaiting }
        waitingCount += 1
        acceptedCount += 1
        let result = await withCheckedContinuation { continuation in
            forming.append(Waiting(request: request, continuation: continuation))
            if forming.count == limits.batchCount {
                full.append(takeForming())
                openBatches()
            } else if forming.count == 1 {
                setAlarm()
            }
        }
        return try result.get()
    }

    private func setAlarm() {
        let number = formingNumber
        // What is awaited comes back to the loop as well: a hop to another thread costs more than most of this.
        Task(executorPreference: executor) { await self.alarm(number) }
    }

    private func alarm(_ number: Int) async {
        // What the loop has at hand at this moment came along.
        if !limits.isEager || openBatchCount > 0 { await sleep(limits.wait) }
        guard number == formingNumber else { return }
        isDue = true
        openBatches()
    }

    private func takeForming() -> [Waiting] {
        defer {
            forming = []
            isDue = false
            formingNumber += 1
        }
        return forming
    }

    /// A batch that is due still grows while all that may be open are.
    private func openBatches() {
        while openBatchCount < limits.openBatchCount {
            let batch: [Waiting]
            if !full.isEmpty { batch = full.removeFirst() } else if isDue { batch = takeForming() } else { return }
            openBatchCount += 1
            waitingCount -= batch.count
            Task(executorPreference: executor) { await self.answer(batch) }
        }
    }

    private func answer(_ batch: [Waiting]) async {
        let begunAt = ContinuousClock.now
        do throws(StorageError) {
            let answers = try await answerTogether(batch.map(\.request))
            precondition(answers.count == batch.count, "an answer to each request")
            for (waiting, answer) in zip(batch, answers) { waiting.continuation.resume(returning: .success(answer)) }
        } catch {
            if error.isAboutValues, batch.count > 1 {
                await answerOneByOne(batch)
            } else {
                fail(batch, error)
            }
            // One after the other would hear the same, each a time-out later. What failed at once may have been one connection.
            if error == .unavailable, begunAt.duration(to: .now) >= limits.silence { failEverybody() }
        }
        openBatchCount -= 1
        if limits.isEager, openBatchCount == 0, !forming.isEmpty { isDue = true }
        openBatches()
    }

    /// One request that PostgreSQL refuses must not keep the others from being answered.
    private func answerOneByOne(_ batch: [Waiting]) async {
        for (place, waiting) in batch.enumerated() {
            do throws(StorageError) {
                let answers = try await answerTogether([waiting.request])
                waiting.continuation.resume(returning: .success(answers[0]))
            } catch {
                fail([waiting], error)
                if error == .unavailable { return fail(Array(batch[(place + 1)...]), error) }
            }
        }
    }

    private func failEverybody() {
        let everybody = full + [takeForming()]
        full = []
        waitingCount = 0
        for batch in everybody { fail(batch, .unavailable) }
    }

    private func fail(_ batch: [Waiting], _ error: StorageError) {
        for waiting in batch { waiting.continuation.resume(returning: .failure(.storage(error))) }
    }
}
