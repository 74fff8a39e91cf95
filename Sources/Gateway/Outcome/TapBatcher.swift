/// Has the taps of one event loop counted together: one statement and one commit for many.
///
/// A tap waits until its batch is full or `TapLimits.wait` is over, and for one of the open batches to end. It is answered when its
/// batch is committed.
package actor TapBatcher: TapCounter {
    private struct Waiting {
        let tap: Tap
        let continuation: CheckedContinuation<Result<ClickResult, TapFailure>, Never>
    }

    private let executor: any SerialExecutor
    private let ledger: any TapLedger
    private let limits: TapLimits
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
    /// Taps that were not refused, since the start.
    private(set) var acceptedCount = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - executor: the event loop on which the callers are.
    ///   - sleep: returns after that time.
    package init(
        executor: any SerialExecutor, ledger: any TapLedger, limits: TapLimits = TapLimits(),
        sleep: @escaping @Sendable (Duration) async -> Void
    ) {
        self.executor = executor
        self.ledger = ledger
        self.limits = limits
        self.sleep = sleep
    }

    package func count(_ tap: Tap) async throws(TapFailure) -> ClickResult {
        guard waitingCount < limits.waitingCount else { throw .tooManyWaiting }
        waitingCount += 1
        acceptedCount += 1
        let result = await withCheckedContinuation { continuation in
            forming.append(Waiting(tap: tap, continuation: continuation))
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
        Task {
            await sleep(limits.wait)
            guard number == formingNumber else { return }
            isDue = true
            openBatches()
        }
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
            Task { await count(batch) }
        }
    }

    private func count(_ batch: [Waiting]) async {
        do throws(StorageError) {
            let results = try await ledger.count(batch.map(\.tap))
            precondition(results.count == batch.count, "a result for each tap")
            for (waiting, result) in zip(batch, results) { waiting.continuation.resume(returning: .success(result)) }
        } catch {
            if error.isAboutValues, batch.count > 1 {
                await countOneByOne(batch)
            } else {
                fail(batch, error)
            }
            // One after the other would hear the same, each a time-out later.
            if error == .unavailable { failEverybody() }
        }
        openBatchCount -= 1
        openBatches()
    }

    /// One tap that PostgreSQL refuses must not keep the others from being counted.
    private func countOneByOne(_ batch: [Waiting]) async {
        for waiting in batch {
            do throws(StorageError) {
                let result = try await ledger.count([waiting.tap])
                waiting.continuation.resume(returning: .success(result[0]))
            } catch {
                fail([waiting], error)
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
