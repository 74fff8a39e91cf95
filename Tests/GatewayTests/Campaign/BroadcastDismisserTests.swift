import Networking
import Observability
import Synchronization
import Testing

@testable import Gateway

/// Dismissal dates in memory.
private final class FakeDismissals: BroadcastDismissals {
    struct State {
        var due = 0
        var next: Int64?
        var isStorageAway = false
        var looks = 0
    }
    private let state = Mutex(State())
    func with<Value: Sendable>(_ body: (inout sending State) -> sending Value) -> Value { state.withLock(body) }

    func dismissDue(limit: Int) async throws(StorageError) -> Int {
        let (isAway, count) = state.withLock { state in
            state.looks += 1
            let count = min(limit, state.due)
            state.due -= count
            return (state.isStorageAway, count)
        }
        if isAway { throw .unavailable }
        return count
    }

    func secondsToNextDismissal() async throws(StorageError) -> Int64? { with { $0.next } }
}

@Suite("Broadcast dismisser", .timeLimit(.minutes(1))) struct BroadcastDismisserTests {
    private let dismissals = FakeDismissals()

    private func dismisser(_ announce: @escaping @Sendable () -> Void = {}) -> BroadcastDismisser {
        BroadcastDismisser(
            executor: KeeperRig.loop, dismissals: dismissals,
            clock: FanOutClock(now: { UnixMilliseconds(rawValue: 0) }, instant: { .now }, sleep: { _ in }),
            logger: Logger(level: .error, sink: { _ in }), announce: announce)
    }

    @Test(
        "comes back when the next date comes, and before long for dates it has not heard of",
        arguments: [(nil, 5), (3600, 5), (2, 2), (0, 1), (-9, 1)] as [(Int64?, Int)])
    func pauses(next: Int64?, seconds: Int) async throws {
        dismissals.with { $0.next = next }
        #expect(try await dismisser().look() == .seconds(seconds))
    }

    @Test("rings for what is to be pushed, and for nothing else")
    func announces() async throws {
        let count = SharedDuration()
        let dismisser = dismisser { count.add(.seconds(1)) }
        _ = try await dismisser.look()
        #expect(count.value == .zero)
        dismissals.with { $0.due = 3 }
        _ = try await dismisser.look()
        #expect(count.value == .seconds(1))
    }

    @Test("goes on when the database comes back")
    func storageAway() async throws {
        dismissals.with { $0.isStorageAway = true }
        let running = Task { [dismisser = dismisser()] in await dismisser.run() }
        while dismissals.with({ $0.looks }) < 2 { await Task.yield() }
        dismissals.with { $0.isStorageAway = false }
        let looks = dismissals.with { $0.looks }
        while dismissals.with({ $0.looks }) < looks + 2 { await Task.yield() }
        running.cancel()
        await running.value
    }
}
