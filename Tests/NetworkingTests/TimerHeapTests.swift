import Synchronization
import Testing

@testable import Networking

@Suite("Timer heap") struct TimerHeapTests {
    /// A generator that gives the same numbers in every run.
    struct FixedGenerator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    /// Numbers of the timers that fired, in order.
    final class Log: Sendable {
        let fired = Mutex<[Int]>([])
        func action(_ number: Int) -> @Sendable () -> Void {
            { self.fired.withLock { $0.append(number) } }
        }
    }

    @Test("fires 10,000 timers in order and none that was cancelled") func order() {
        var generator = FixedGenerator(state: 42)
        var heap = TimerHeap()
        let log = Log()
        var expected: [(deadline: UInt64, number: Int)] = []
        var timers: [TimerID] = []
        for number in 0..<10_000 {
            let deadline = UInt64.random(in: 0..<1_000, using: &generator)
            timers.append(heap.schedule(at: deadline, firesOnStop: false, log.action(number)))
            expected.append((deadline, number))
        }
        let cancelled = Set((0..<3_000).map { _ in Int.random(in: 0..<10_000, using: &generator) })
        for number in cancelled { heap.cancel(timers[number]) }
        #expect(heap.count == 10_000 - cancelled.count)
        while let action = heap.takeDue(at: 1_000, scheduledBefore: heap.nextSequence) { action() }
        let left = expected.filter { !cancelled.contains($0.number) }.sorted {
            ($0.deadline, $0.number) < ($1.deadline, $1.number)
        }
        #expect(log.fired.withLock { $0 } == left.map(\.number))
        #expect(heap.nextDeadline == nil)
    }

    @Test("ignores the name of a timer that has fired, even when its place is used again") func staleName() {
        var heap = TimerHeap()
        let log = Log()
        let first = heap.schedule(at: 1, firesOnStop: false, log.action(1))
        heap.takeDue(at: 1, scheduledBefore: .max)?()
        _ = heap.schedule(at: 2, firesOnStop: false, log.action(2))
        heap.cancel(first)
        heap.takeDue(at: 2, scheduledBefore: .max)?()
        #expect(log.fired.withLock { $0 } == [1, 2])
    }

    @Test("leaves what is not due, and what was scheduled during the round") func leaves() {
        var heap = TimerHeap()
        _ = heap.schedule(at: 5, firesOnStop: false) {}
        let sequence = heap.nextSequence
        _ = heap.schedule(at: 1, firesOnStop: false) {}
        #expect(heap.takeDue(at: 4, scheduledBefore: sequence) == nil)
        #expect(heap.nextDeadline == 1)
        #expect(heap.takeDue(at: 4, scheduledBefore: heap.nextSequence) != nil)
        #expect(heap.takeDue(at: 4, scheduledBefore: heap.nextSequence) == nil)
    }

    @Test("reads delays in nanoseconds, none below zero and none that overflows")
    func delays() {
        #expect(MonotonicClock.nanoseconds(of: .milliseconds(1_500)) == 1_500_000_000)
        #expect(MonotonicClock.nanoseconds(of: .nanoseconds(7)) == 7)
        #expect(MonotonicClock.nanoseconds(of: .seconds(-1)) == 0)
        #expect(MonotonicClock.nanoseconds(of: .milliseconds(-1)) == 0)
        #expect(MonotonicClock.nanoseconds(of: .seconds(Int64.max)) == 1_000_000_000_000_000_000)
    }
}
