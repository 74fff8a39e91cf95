import Synchronization

@testable import Gateway

/// A clock that stands still until a test moves it.
final class ManualClock: Sendable {
    private struct Sleeper {
        let wakesAt: Duration
        let continuation: CheckedContinuation<Void, Never>
    }
    private struct State {
        var elapsed: Duration = .zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var nextSleeper = 0
    }
    private let state = Mutex(State())
    private let start = ContinuousClock.now

    var fanOutClock: FanOutClock {
        FanOutClock(
            now: { UnixMilliseconds(rawValue: 1_800_000_000_000 + self.milliseconds) },
            instant: { self.start + self.state.withLock { $0.elapsed } }, sleep: { await self.sleep($0) })
    }

    /// Who sleeps now.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Until the next of them wakes; nil while nobody sleeps.
    var timeToNextWake: Duration? {
        state.withLock { state in state.sleepers.values.map { $0.wakesAt - state.elapsed }.min() }
    }

    private var milliseconds: Int64 {
        let elapsed = state.withLock { $0.elapsed }
        return Int64(elapsed / .milliseconds(1))
    }

    /// Moves the clock and wakes who is due.
    func advance(by duration: Duration) {
        let due: [Sleeper] = state.withLock { state in
            state.elapsed += duration
            let keys = state.sleepers.filter { $0.value.wakesAt <= state.elapsed }.map(\.key)
            return keys.compactMap { state.sleepers.removeValue(forKey: $0) }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Moves the clock to the moment at which the next sleeper wakes; nowhere while nobody sleeps.
    ///
    /// For loops that let time pass until something happens: whoever has work to do is not outrun, however busy the machine is.
    func tick() {
        let due: [Sleeper] = state.withLock { state in
            guard let next = state.sleepers.values.map(\.wakesAt).min() else { return [] }
            state.elapsed = max(state.elapsed, next)
            let keys = state.sleepers.filter { $0.value.wakesAt <= state.elapsed }.map(\.key)
            return keys.compactMap { state.sleepers.removeValue(forKey: $0) }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    private func sleep(_ duration: Duration) async {
        let number = state.withLock { state in
            state.nextSleeper += 1
            return state.nextSleeper
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.cancelled.remove(number) != nil || duration <= .zero { return true }
                    state.sleepers[number] = Sleeper(wakesAt: state.elapsed + duration, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume()
        }
    }
}
