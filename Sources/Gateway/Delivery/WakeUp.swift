import Synchronization

/// Wakes one sleeper before its time; a call while nobody sleeps is kept for the next sleeper.
package final class WakeUp: Sendable {
    private enum State {
        case idle
        case called
        case asleep(CheckedContinuation<Void, Never>, nap: Int)
    }
    private struct Guarded {
        var state = State.idle
        var nap = 0
    }
    private let guarded = Mutex(Guarded())

    /// Nobody sleeps.
    package init() {}

    /// Wakes the sleeper.
    package func call() {
        let sleeper: CheckedContinuation<Void, Never>? = guarded.withLock { guarded in
            guard case .asleep(let sleeper, _) = guarded.state else {
                guarded.state = .called
                return nil
            }
            guarded.state = .idle
            return sleeper
        }
        sleeper?.resume()
    }

    /// Sleeps until called, or until `limit` returns. Only one task may sleep.
    package func sleep(limit: @escaping @Sendable () async -> Void) async {
        let nap = guarded.withLock { guarded in
            guarded.nap += 1
            return guarded.nap
        }
        var alarm: Task<Void, Never>?
        await withCheckedContinuation { continuation in
            let isCalled = guarded.withLock { guarded in
                if case .called = guarded.state {
                    guarded.state = .idle
                    return true
                }
                guarded.state = .asleep(continuation, nap: nap)
                return false
            }
            guard !isCalled else { return continuation.resume() }
            // Only now, so that a limit that passes at once still finds the sleeper.
            alarm = Task {
                await limit()
                self.end(nap)
            }
        }
        alarm?.cancel()
    }

    private func end(_ nap: Int) {
        let sleeper: CheckedContinuation<Void, Never>? = guarded.withLock { guarded in
            guard case .asleep(let sleeper, let current) = guarded.state, current == nap else { return nil }
            guarded.state = .idle
            return sleeper
        }
        sleeper?.resume()
    }
}
