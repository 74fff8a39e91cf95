import Networking
import Observability
import Store

/// Makes partitions ahead and removes what nobody asks for again, from time to time; any daemon may do it.
struct Upkeep: Sendable {
    /// Time between two rounds.
    static let interval: Duration = .seconds(600)
    /// Pause after a round that failed.
    static let pauseAfterFailure: Duration = .seconds(5)

    let loop: EventLoop
    let store: Store
    let logger: Logger

    /// Works until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                try await store.maintain()
                await loop.sleep(for: Self.interval)
            } catch {
                logger.log(.warning, "Upkeep of the database failed; it is tried again", [.reason: "\(error)"])
                await loop.sleep(for: Self.pauseAfterFailure)
            }
        }
    }
}
