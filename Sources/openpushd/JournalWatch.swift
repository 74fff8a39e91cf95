import Gateway
import Networking
import Observability

/// Settles the journals of this host's dead workers: before the workers of this process claim anything, and ever after.
struct JournalWatch: Sendable {
    /// Time between two looks: well within the 11 s that the lease of a worker lasts at least after its death.
    static let interval: Duration = .seconds(1)

    private let recovery: JournalRecovery?
    private let loop: EventLoop
    private let workers: WorkerBell
    private let logger: Logger
    private let first = AsyncStream.makeStream(of: Void.self)

    /// Works with the connections of one loop.
    init(_ services: LoopServices, _ shared: SharedServices) {
        loop = services.loop
        workers = shared.workers
        logger = shared.logger
        recovery = shared.journals.map { journals in
            JournalRecovery(
                executor: services.loop, journals: journals, queue: services.store, clock: SystemClocks.fanOut(on: services.loop),
                logger: shared.logger)
        }
    }

    /// Works until the task is cancelled.
    func run() async {
        defer { first.continuation.finish() }
        guard let recovery else { return }
        while !Task.isCancelled {
            do {
                if try await recovery.settle() { workers.ring() }
                first.continuation.finish()
            } catch {
                logger.log(.warning, "The journals of dead workers wait for the database", [.reason: "\(error)"])
            }
            await loop.sleep(for: Self.interval)
        }
    }

    /// Returns once every journal was looked at, or `run` has ended. The database may be away until then.
    func firstLook() async { for await _ in first.stream {} }
}
