import Synchronization

/// How many bytes requests hold together beyond what the server counts as theirs.
final class HeldBytes: Sendable {
    private let limit: Int
    private let held = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// Whether so many more may be held; then they are, until they are released.
    func take(_ count: Int) -> Bool {
        held.withLock { held in
            guard count <= limit - held else { return false }
            held += count
            return true
        }
    }

    /// Lets go of as many as were taken.
    func release(_ count: Int) { held.withLock { $0 -= count } }
}
