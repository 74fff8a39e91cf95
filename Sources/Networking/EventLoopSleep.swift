import Synchronization

extension EventLoop {
    /// Suspends the calling task by the loop's timers; returns early when the task is cancelled or the loop stops.
    ///
    /// From any task. Nothing is thrown: a caller that cares looks at `Task.isCancelled`. On a loop that has stopped the runtime's own
    /// timers are used, so that a task that sleeps again and again neither spins nor keeps `stop` from returning.
    package func sleep(for duration: Duration) async {
        guard isRunning else {
            try? await Task.sleep(for: duration)
            return
        }
        let sleeper = Sleeper()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                onLoop { sleeper.begin(on: self, duration, continuation) }
            }
        } onCancel: {
            onLoop { sleeper.wake(on: self) }
        }
    }

    private func onLoop(_ action: @escaping @Sendable () -> Void) {
        if isCurrent { action() } else { perform(action) }
    }
}

/// One call of `sleep`. Both ends of it run on the loop, in either order.
private final class Sleeper: Sendable {
    private enum State {
        case new
        case asleep(CheckedContinuation<Void, Never>, TimerID)
        case awake
    }

    private let state = Mutex(State.new)

    func begin(on loop: EventLoop, _ duration: Duration, _ continuation: CheckedContinuation<Void, Never>) {
        state.withLock { state in
            guard case .new = state else { return continuation.resume() }
            state = .asleep(continuation, loop.scheduleWaiter(after: duration) { self.wake(on: loop) })
        }
    }

    func wake(on loop: EventLoop) {
        let before = state.withLock { state in
            defer { state = .awake }
            return state
        }
        guard case .asleep(let continuation, let timer) = before else { return }
        loop.cancel(timer)
        continuation.resume()
    }
}
