import Synchronization

/// Where the loops of this process tell each other what happens to notifications, so that nobody has to ask PostgreSQL.
///
/// It only makes things faster: a waiter that misses a message here finds the same in the database at its next look.
package final class ProgressBoard: Sendable {
    /// What a waiter learns.
    package enum Message: Hashable, Sendable {
        /// APNs accepted a push of the notification.
        case accepted
        /// Outcomes were recorded, or the wait was long enough: look into the database.
        case look
    }

    /// Most notifications remembered at once; beyond it the oldest are forgotten.
    package static let entryCount = 10_000

    private struct Entry {
        var isAccepted = false
        var waiters: [Int: CheckedContinuation<Message, Never>] = [:]
    }
    private struct State {
        var entries: [NotificationID: Entry] = [:]
        var order: [NotificationID] = []
        var nextWaiter = 0
    }
    private let state = Mutex(State())

    /// An empty board.
    package init() {}

    /// Begins to remember a notification, before its first push can leave.
    package func open(_ notification: NotificationID) {
        let forgotten: [CheckedContinuation<Message, Never>] = state.withLock { state in
            guard state.entries[notification] == nil else { return [] }
            state.entries[notification] = Entry()
            state.order.append(notification)
            guard state.order.count > Self.entryCount else { return [] }
            let oldest = state.order.removeFirst()
            return state.entries.removeValue(forKey: oldest).map { Array($0.waiters.values) } ?? []
        }
        for waiter in forgotten { waiter.resume(returning: .look) }
    }

    /// Says that APNs accepted a push.
    package func pushAccepted(of notification: NotificationID) {
        let waiters = state.withLock { state in
            state.entries[notification]?.isAccepted = true
            return Self.takeWaiters(of: notification, &state)
        }
        for waiter in waiters { waiter.resume(returning: .accepted) }
    }

    /// Says that outcomes were recorded.
    package func outcomesRecorded(of notification: NotificationID) {
        let waiters = state.withLock { state in Self.takeWaiters(of: notification, &state) }
        for waiter in waiters { waiter.resume(returning: .look) }
    }

    /// Waits for the next message; `sleep` bounds the wait and then counts as `.look`.
    package func nextMessage(
        about notification: NotificationID, sleep: @escaping @Sendable () async -> Void
    ) async -> Message {
        let (waiter, known): (Int, Message?) = state.withLock { state in
            state.nextWaiter += 1
            return (state.nextWaiter, Self.immediateMessage(about: notification, state))
        }
        if let known {
            if known == .look { await sleep() }
            return known
        }
        var alarm: Task<Void, Never>?
        let message = await withCheckedContinuation { continuation in
            let immediate: Message? = state.withLock { state in
                if let message = Self.immediateMessage(about: notification, state) { return message }
                state.entries[notification]?.waiters[waiter] = continuation
                return nil
            }
            if let immediate { return continuation.resume(returning: immediate) }
            // Only now, so that a sleep that ends at once still finds the waiter.
            alarm = Task {
                await sleep()
                self.giveUp(waiter, on: notification)
            }
        }
        alarm?.cancel()
        return message
    }

    /// Forgets a notification nobody waits for any more.
    package func close(_ notification: NotificationID) {
        let waiters = state.withLock { state in
            let waiters = Self.takeWaiters(of: notification, &state)
            if state.entries.removeValue(forKey: notification) != nil, let index = state.order.firstIndex(of: notification) {
                state.order.remove(at: index)
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: .look) }
    }

    private func giveUp(_ waiter: Int, on notification: NotificationID) {
        let continuation = state.withLock { $0.entries[notification]?.waiters.removeValue(forKey: waiter) }
        continuation?.resume(returning: .look)
    }

    private static func immediateMessage(about notification: NotificationID, _ state: State) -> Message? {
        guard let entry = state.entries[notification] else { return .look }
        return entry.isAccepted ? .accepted : nil
    }

    private static func takeWaiters(of notification: NotificationID, _ state: inout State) -> [CheckedContinuation<
        Message, Never
    >] {
        let waiters = state.entries[notification]?.waiters.values.map { $0 } ?? []
        state.entries[notification]?.waiters.removeAll()
        return waiters
    }
}
