import Gateway

/// Which pushes of a batch are done, which are on the wire, and which still wait; its pushes are indexes.
struct BatchProgress {
    /// By index; `notSent` until it is known.
    private(set) var outcomes: [PushOutcome]
    private var isDone: [Bool]
    private(set) var openCount: Int
    /// The first index that was never submitted.
    private var next = 0
    /// Indexes that were submitted, not processed, and go out once more before the others.
    private var again: [Int] = []
    /// Indexes that had their one more try after an answer that asked for another connection.
    private var resent: Set<Int> = []

    /// So many pushes, all waiting.
    init(count: Int) {
        outcomes = Array(repeating: .notSent, count: count)
        isDone = Array(repeating: false, count: count)
        openCount = count
    }

    /// Pushes that are not on the wire and not done.
    var waitingCount: Int { outcomes.count - next + again.count }

    /// The next push to submit; nil when none waits.
    mutating func takeNext() -> Int? {
        if let index = again.popLast() { return index }
        guard next < outcomes.count else { return nil }
        next += 1
        return next - 1
    }

    /// Puts a push back that was provably not processed; it costs nothing. False when it is done.
    mutating func putBack(_ index: Int) -> Bool {
        guard !isDone[index] else { return false }
        again.append(index)
        return true
    }

    /// Whether a push may have its one more try, which it has then had.
    mutating func isFirstResending(_ index: Int) -> Bool { resent.insert(index).inserted }

    /// Gives a push its outcome; false when it has one.
    mutating func complete(_ index: Int, _ outcome: PushOutcome) -> Bool {
        guard !isDone[index] else { return false }
        isDone[index] = true
        outcomes[index] = outcome
        openCount -= 1
        return true
    }
}
