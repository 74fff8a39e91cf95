import Synchronization

/// A number that only rises. Adding is one relaxed atomic operation.
package final class Counter: Sendable {
    private let total = Atomic<Int>(0)

    init() {}

    /// Adds `amount`, 0 or more; default 1.
    package func add(_ amount: Int = 1) {
        precondition(amount >= 0, "a counter does not fall")
        total.wrappingAdd(amount, ordering: .relaxed)
    }

    /// What was added so far.
    package var value: Int { total.load(ordering: .relaxed) }
}

/// A number that rises and falls.
package final class Gauge: Sendable {
    private let current = Atomic<Int>(0)

    init() {}

    /// Replaces the number.
    package func set(_ value: Int) { current.store(value, ordering: .relaxed) }

    /// Adds `amount`, which may be negative.
    package func add(_ amount: Int) { current.wrappingAdd(amount, ordering: .relaxed) }

    /// The number now.
    package var value: Int { current.load(ordering: .relaxed) }
}

/// How often values fell into each of some ranges, and their sum.
package final class Histogram: Sendable {
    /// Bounds for durations in seconds, from a millisecond to 10 s.
    package static let secondsBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// Upper bounds, each inclusive, rising.
    let bounds: [Double]
    /// How many values fell between the bound before and this one; the last holds what is above all bounds.
    private let buckets: [Counter]
    private let sumBits = Atomic<UInt64>(Double.zero.bitPattern)

    init(bounds: [Double]) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "bounds rise")
        precondition(bounds.allSatisfy(\.isFinite), "the range above the last bound is there already")
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Counter() }
    }

    /// Counts one value. What is not a number is left out.
    package func observe(_ value: Double) {
        guard !value.isNaN else { return }
        buckets[bounds.firstIndex { value <= $0 } ?? bounds.count].add()
        var bits = sumBits.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: bits) + value
            let (exchanged, original) = sumBits.weakCompareExchange(
                expected: bits, desired: sum.bitPattern, ordering: .relaxed)
            if exchanged { return }
            bits = original
        }
    }

    /// Counts one duration, in seconds.
    package func observe(_ duration: Duration) { observe(duration / .seconds(1)) }

    /// How many values are at or below each bound, in order, then all; and their sum.
    func snapshot() -> (cumulative: [Int], sum: Double) {
        var total = 0
        let cumulative = buckets.map { bucket in
            total += bucket.value
            return total
        }
        return (cumulative, Double(bitPattern: sumBits.load(ordering: .relaxed)))
    }
}
