import Glibc
import Synchronization

/// What has to be undone before this process ends, however it ends: programs it started, a database, its directory.
final class Undoing: Sendable {
    typealias Step = @Sendable () async -> Void

    /// The process has one, which a signal can reach.
    static let ofProcess = Undoing()

    private struct State {
        var steps: [(number: Int, step: Step)] = []
        var count = 0
        var isOver = false
    }
    private let state = Mutex(State())

    /// Adds a step and tells its number. When the end has begun the step is done at once, and the caller hears `CancellationError`.
    func add(_ step: @escaping Step) async throws -> Int {
        let number = state.withLock { state -> Int? in
            guard !state.isOver else { return nil }
            state.count += 1
            state.steps.append((state.count, step))
            return state.count
        }
        if let number { return number }
        await step()
        throw CancellationError()
    }

    /// Does one step now; nothing when it was done.
    func undo(_ number: Int) async {
        let found = state.withLock { state in
            state.steps.firstIndex { $0.number == number }.map { state.steps.remove(at: $0) }
        }
        await found?.step()
    }

    /// Does all steps, the latest first, and ends the process; none can be added any more. Whoever asks second waits for that.
    func endProcess(status: Int32) async -> Never {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        while !isFirst { try? await Task.sleep(for: .seconds(1)) }
        while let last = state.withLock({ $0.steps.popLast() }) { await last.step() }
        exit(status)
    }
}
