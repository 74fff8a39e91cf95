import Store
import Synchronization

/// Whether the database answers on every loop: a request may be served by any of them, and each has its own connections.
final class DatabaseReadiness: Sendable {
    private let stores = Mutex<[Store]>([])

    func add(_ store: Store) { stores.withLock { $0.append(store) } }

    func isReachable() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for store in stores.withLock({ $0 }) { group.addTask { await store.isReachable() } }
            return await group.allSatisfy { $0 }
        }
    }
}
