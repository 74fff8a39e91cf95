import Glibc
import Synchronization
import Testing

@testable import Networking

@Suite("Event loop's timers", .timeLimit(.minutes(1))) struct EventLoopTimeTests {
    @Test("fire in order and not early, and a cancelled one never") func timers() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let fired = Mutex<[Int]>([])
        let start = ContinuousClock.now
        await withCheckedContinuation { continuation in
            loop.perform {
                loop.schedule(after: .milliseconds(20)) {
                    fired.withLock { $0.append(3) }
                    continuation.resume()
                }
                let cancelled = loop.schedule(after: .milliseconds(5)) { fired.withLock { $0.append(0) } }
                loop.schedule(after: .milliseconds(10)) { fired.withLock { $0.append(2) } }
                loop.schedule(after: .zero) { fired.withLock { $0.append(1) } }
                loop.cancel(cancelled)
            }
        }
        #expect(start.duration(to: .now) >= .milliseconds(20))
        #expect(fired.withLock { $0 } == [1, 2, 3])
    }

    @Test("let a task sleep, not too short") func sleeps() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let start = ContinuousClock.now
        await loop.sleep(for: .milliseconds(10))
        #expect(start.duration(to: .now) >= .milliseconds(10))
    }

    @Test("wake a sleeping task that is cancelled") func cancelsSleep() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let task = Task { await loop.sleep(for: .seconds(3_600)) }
        await loop.sleep(for: .milliseconds(1))
        task.cancel()
        await task.value
        let cancelledBefore = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            await loop.sleep(for: .seconds(3_600))
        }
        await cancelledBefore.value
    }

    @Test("wake sleeping tasks when the loop stops") func stopWakes() async throws {
        let loop = try EventLoop.start(name: "test")
        let sleeper = PinnedSleeper(loop: loop)
        let task = Task { await sleeper.sleep() }
        while await !sleeper.isAsleep { await loop.sleep(for: .milliseconds(1)) }
        loop.stop()
        await task.value
    }

    @Test("of a stopped loop still keep a task that sleeps again and again from spinning") func sleepsAfterStop() async throws {
        let loop = try EventLoop.start(name: "test")
        let count = Atomic(0)
        let task = Task {
            while !Task.isCancelled {
                count.add(1, ordering: .relaxed)
                await loop.sleep(for: .milliseconds(20))
            }
        }
        await loop.sleep(for: .milliseconds(1))
        loop.stop()
        let before = ContinuousClock.now
        let countBefore = count.load(ordering: .relaxed)
        await loop.sleep(for: .milliseconds(50))
        let elapsed = before.duration(to: .now)
        #expect(elapsed >= .milliseconds(50))
        #expect(count.load(ordering: .relaxed) - countBefore <= Int(elapsed / .milliseconds(20)) + 3)
        task.cancel()
        await task.value
    }
}

/// Sleeps on its own loop: nothing comes between saying so and doing so.
private actor PinnedSleeper {
    let loop: EventLoop
    private(set) var isAsleep = false

    init(loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    func sleep() async {
        isAsleep = true
        await loop.sleep(for: .seconds(3_600))
    }
}

@Suite("Event loop's turn", .timeLimit(.minutes(1))) struct EventLoopTurnTests {
    @Test("runs jobs that its jobs add, and then the actions for its end") func afterTurn() async throws {
        let loop = try EventLoop.start(name: "test")
        defer { loop.stop() }
        let order = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            loop.perform {
                loop.afterTurn {
                    order.withLock { $0.append("end") }
                    loop.afterTurn {
                        order.withLock { $0.append("next end") }
                        continuation.resume()
                    }
                    loop.perform { order.withLock { $0.append("next job") } }
                }
                loop.perform {
                    order.withLock { $0.append("job") }
                    loop.perform { order.withLock { $0.append("job of a job") } }
                }
            }
        }
        #expect(order.withLock { $0 } == ["job", "job of a job", "end", "next job", "next end"])
    }

    @Test("comes to its timers although jobs never end") func boundsJobs() async throws {
        let loop = try EventLoop.start(name: "test")
        let isEnough = Atomic(false)
        @Sendable func again() {
            if !isEnough.load(ordering: .relaxed) { loop.perform(again) }
        }
        await withCheckedContinuation { continuation in
            loop.perform {
                loop.schedule(after: .milliseconds(1)) {
                    isEnough.store(true, ordering: .relaxed)
                    continuation.resume()
                }
                again()
            }
        }
        loop.stop()
    }

    @Test("ends with every job done, and later jobs are done too") func stop() async throws {
        let loop = try EventLoop.start(name: "test")
        let count = Atomic(0)
        for _ in 0..<5_000 {
            loop.perform { loop.perform { count.add(1, ordering: .relaxed) } }
        }
        loop.stop()
        #expect(count.load(ordering: .relaxed) == 5_000)
        loop.stop()
        for _ in 0..<100 {
            let wasOnLoop = await withCheckedContinuation { continuation in
                loop.perform { continuation.resume(returning: loop.isCurrent) }
            }
            #expect(wasOnLoop)
        }
        #expect(!loop.isCurrent)
    }

    @Test("cannot be ended from within") func stopFromWithin() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop.start(name: "test")
            await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in loop.perform { loop.stop() } }
        }
    }

    @Test("releases handlers when it ends") func releasesHandlers() async throws {
        let loop = try EventLoop.start(name: "test")
        var listener: Listener? = try Listener.bind(try #require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        weak var handler: Silent?
        do {
            let silent = Silent()
            handler = silent
            let descriptor = try #require(listener).rawDescriptor
            await withCheckedContinuation { continuation in
                loop.perform {
                    try? loop.watch(descriptor, for: .readable, handler: silent)
                    continuation.resume()
                }
            }
        }
        #expect(handler != nil)
        loop.stop()
        #expect(handler == nil)
        listener = nil
    }

    @Test("releases a handler too that came after the stop was asked for, in the same turn")
    func releasesLateHandlers() async throws {
        let loop = try EventLoop.start(name: "test")
        var listener: Listener? = try Listener.bind(try #require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        let descriptor = try #require(listener).rawDescriptor
        weak var handler: Silent?
        do {
            let silent = Silent()
            handler = silent
            loop.perform {
                while loop.isRunning { sched_yield() }
                try? loop.watch(descriptor, for: .readable, handler: silent)
            }
        }
        loop.stop()
        #expect(handler == nil)
        listener = nil
    }

    private final class Silent: ReadinessHandler {
        func ready(_ readiness: Readiness) {}
    }
}
