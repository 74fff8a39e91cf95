import Store
import Synchronization

/// Whether the database can be used on every loop: a request may be served by any of them, and each has its own connections.
final class DatabaseReadiness: Sendable {
    private let stores = Mutex<[Store]>([])

    func add(_ store: Store) { stores.withLock { $0.append(store) } }

    /// The worst of all loops.
    func reachability() async -> Reachability {
        await withTaskGroup(of: Reachability.self) { group in
            for store in stores.withLock({ $0 }) { group.addTask { await store.reachability() } }
            var worst = Reachability.reachable
            for await one in group where worst != .away && one != .reachable { worst = one }
            return worst
        }
    }
}
