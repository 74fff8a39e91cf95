import Synchronization
import Testing

@testable import Networking

/// An actor pinned to a loop, as a connection is.
private actor Pinned {
    let loop: EventLoop
    private(set) var count = 0

    init(loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    var isOnLoop: Bool { loop.isCurrent }
    func increment() { count += 1 }
    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerID {
        loop.schedule(after: delay, action)
    }
    /// Counts in a callback of the loop, which is not part of a task.
    func countByTimer() async {
        await withCheckedContinuation { continuation in
            loop.schedule(after: .zero) {
                self.assumeIsolated { $0.count += 1 }
                continuation.resume()
            }
        }
    }
}

@Suite("Event loop") struct EventLoopTests {
    @Test("runs pinned actors on its thread") func executor() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let actor = Pinned(loop: loop)
        #expect(await actor.isOnLoop)
        #expect(!loop.isCurrent)
    }

    @Test("lets its callbacks assume the isolation of a pinned actor") func isolation() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let actor = Pinned(loop: loop)
        await actor.countByTimer()
        #expect(await actor.count == 1)
    }

    @Test("traps when another loop's thread assumes isolation") func otherLoop() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop.start(name: "one")
            let other = try EventLoop.start(name: "two")
            let actor = Pinned(loop: loop)
            await withCheckedContinuation { continuation in
                other.perform {
                    actor.assumeIsolated { _ in }
                    continuation.resume()
                }
            }
        }
    }

    @Test("traps when its state is touched from elsewhere") func foreignThread() async {
        await #expect(processExitsWith: .failure) {
            try EventLoop.start(name: "one").schedule(after: .zero) {}
        }
    }

    @Test("runs every job of 10,000 enqueued from other threads") func crossThread() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let actor = Pinned(loop: loop)
        await withTaskGroup { group in
            for _ in 0..<10_000 { group.addTask { await actor.increment() } }
        }
        #expect(await actor.count == 10_000)
    }
}
