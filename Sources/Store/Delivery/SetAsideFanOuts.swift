package import Gateway
import Synchronization

/// Fan-outs this process passes over for a while: it cannot read what is stored of them, or PostgreSQL refuses what they would store.
///
/// They are left as they are: a newer version reads what this one does not, or an operator mends it. Each process keeps a list of its
/// own, shared by its loops, so that nothing has to be undone when one of another version comes.
package final class SetAsideFanOuts: Sendable {
    /// How long a fan-out is passed over until it is tried again.
    package static let pause: Duration = .seconds(60)
    /// Most fan-outs passed over at once; beyond it the one that waits longest is tried again at once. As many are known as readable.
    package static let limit = 10_000

    private struct State {
        /// When each is tried again.
        var retries: [NotificationID: ContinuousClock.Instant] = [:]
        /// What was read once needs no second look.
        var readable: Set<NotificationID> = []
    }
    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant
    private let report: @Sendable (NotificationID, StorageError) -> Void

    /// An empty list.
    ///
    /// - Parameter report: told of each fan-out that is set aside, once until it works again.
    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        report: @escaping @Sendable (NotificationID, StorageError) -> Void = { _, _ in }
    ) {
        self.now = now
        self.report = report
    }

    /// How many are set aside: passed over now, or due to be tried again.
    package var count: Int {
        let now = now()
        return state.withLock { state in state.retries.count { $0.value + Self.pause > now } }
    }

    /// Those to pass over now.
    func passedOver() -> [NotificationID] {
        let now = now()
        return state.withLock { state in state.retries.isEmpty ? [] : state.retries.filter { $0.value > now }.map(\.key) }
    }

    func add(_ notification: NotificationID, _ error: StorageError) {
        let now = now()
        let isNew = state.withLock { state in
            // Who was not refused again when its time came has recovered, or is gone.
            let isNew = state.retries[notification].map { $0 + Self.pause <= now } ?? true
            state.retries[notification] = now + Self.pause
            if state.retries.count > Self.limit, let oldest = state.retries.min(by: { $0.value < $1.value }) {
                state.retries[oldest.key] = nil
            }
            state.readable.remove(notification)
            return isNew
        }
        if isNew { report(notification, error) }
    }

    func worked(_ notification: NotificationID) {
        state.withLock { state in
            if !state.retries.isEmpty { state.retries[notification] = nil }
        }
    }

    func isKnownReadable(_ notification: NotificationID) -> Bool { state.withLock { $0.readable.contains(notification) } }

    func wasRead(_ notification: NotificationID) {
        state.withLock { state in
            if state.readable.count >= Self.limit { state.readable.removeAll() }
            state.readable.insert(notification)
        }
    }
}
