import Gateway
import Synchronization

/// Wakes the fan-out workers of all loops. The workers are made after those who ring.
final class WorkerBell: Sendable {
    private let workers = Mutex<[FanOutWorker]>([])

    func hang(_ worker: FanOutWorker) { workers.withLock { $0.append(worker) } }

    func ring() {
        for worker in workers.withLock({ $0 }) { worker.wake() }
    }
}
