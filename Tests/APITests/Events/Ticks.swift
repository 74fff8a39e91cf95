import Synchronization

/// Lets tickers go on one tick at a time.
final class Ticks: Sendable {
    private struct State {
        var sleepers: [CheckedContinuation<Void, Never>] = []
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isOver = false
    }
    private let state = Mutex(State())

    /// What the ticker sleeps with.
    func sleep() async {
        await withCheckedContinuation { continuation in
            let (isOver, waiters) = state.withLock { state in
                if !state.isOver { state.sleepers.append(continuation) }
                defer { state.waiters = [] }
                return (state.isOver, state.waiters)
            }
            if isOver { continuation.resume() }
            for waiter in waiters { waiter.resume() }
        }
        // After the end, what else there is to do on the ticker's loop must get its turn.
        await Task.yield()
    }

    /// Lets every ticker run free: one that nobody listens to ends.
    func end() {
        let sleepers = state.withLock { state in
            state.isOver = true
            defer { state.sleepers = [] }
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.resume() }
    }

    /// Returns once a ticker sleeps: what it had to do is done.
    func waitForSleeper() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.isEmpty { state.waiters.append(continuation) }
                return !state.sleepers.isEmpty
            }
            if isThere { continuation.resume() }
        }
    }

    /// Wakes the ticker that sleeps, once one does.
    func begin() async {
        await waitForSleeper()
        let sleeper = state.withLock { $0.sleepers.removeFirst() }
        sleeper.resume()
    }

    /// One whole tick of one ticker, which must go on behind it.
    func pass() async {
        await begin()
        await waitForSleeper()
    }
}
