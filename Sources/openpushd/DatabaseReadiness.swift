import Store
import Synchronization

/// Whether the database can be used on every loop: a request may be served by any of them, and each has its own connections.
final class DatabaseReadiness: Sendable {
    private struct State {
        var stores: [Store] = []
        /// Who asks while one looks hears the same: anybody may ask, as often as they like.
        var look: Task<Reachability, Never>?
    }
    private let state = Mutex(State())

    func add(_ store: Store) { state.withLock { $0.stores.append(store) } }

    /// The worst of all loops.
    func reachability() async -> Reachability {
        let look = state.withLock { state in
            if let look = state.look { return look }
            let stores = state.stores
            let look = Task {
                let worst = await Self.worst(of: stores)
                self.state.withLock { $0.look = nil }
                return worst
            }
            state.look = look
            return look
        }
        return await look.value
    }

    private static func worst(of stores: [Store]) async -> Reachability {
        await withTaskGroup(of: Reachability.self) { group in
            for store in stores { group.addTask { await store.reachability() } }
            var worst = Reachability.reachable
            for await one in group where worst != .away && one != .reachable { worst = one }
            return worst
        }
    }
}
