import Gateway
import HTTP

/// A batch on its way: which of its pushes are done, which are on the wire, and which still wait.
///
/// One object a batch; its pushes are indexes. It belongs to one pool.
final class BatchLane {
    let batch: PushBatch
    let enqueuedAt: ContinuousClock.Instant
    /// By index; `notSent` until it is known.
    private(set) var outcomes: [PushOutcome]
    private var isDone: [Bool]
    private var openCount: Int
    /// The first index that was never submitted.
    private var next = 0
    /// Indexes that were submitted, not processed, and go out once more before the others.
    private var again: [Int] = []
    /// Indexes that had their one more try after an answer that asked for another connection.
    private var resent: Set<Int> = []
    private var hasAccepted = false
    private let finish: CheckedContinuation<[PushOutcome], Never>
    private var template: (value: HTTP2RequestTemplate, tokenGeneration: Int)?
    /// Bytes of the largest body.
    let bodyByteCount: Int

    init(batch: PushBatch, enqueuedAt: ContinuousClock.Instant, finish: CheckedContinuation<[PushOutcome], Never>) {
        self.batch = batch
        self.enqueuedAt = enqueuedAt
        self.finish = finish
        outcomes = Array(repeating: .notSent, count: batch.devices.count)
        isDone = Array(repeating: false, count: batch.devices.count)
        openCount = batch.devices.count
        bodyByteCount = batch.bodies.reduce(0) { max($0, $1.count) }
    }

    /// Pushes that are not on the wire and not done.
    var waitingCount: Int { batch.devices.count - next + again.count }
    /// Whether every push has its outcome.
    var isFinished: Bool { openCount == 0 }

    /// The next push to submit; nil when none waits.
    func takeNext() -> Int? {
        if let index = again.popLast() { return index }
        guard next < batch.devices.count else { return nil }
        defer { next += 1 }
        return next
    }

    /// Puts a push back that was provably not processed; it costs nothing.
    func putBack(_ index: Int) { if !isDone[index] { again.append(index) } }

    /// Puts a push back once; false when it had its one more try already.
    func putBackOnce(_ index: Int) -> Bool {
        guard resent.insert(index).inserted else { return false }
        putBack(index)
        return true
    }

    func complete(_ index: Int, _ outcome: PushOutcome) {
        guard !isDone[index] else { return }
        isDone[index] = true
        outcomes[index] = outcome
        openCount -= 1
        if outcome == .accepted, !hasAccepted {
            hasAccepted = true
            batch.onFirstAccepted?()
        }
        if openCount == 0 { finish.resume(returning: outcomes) }
    }

    /// Ends everything that waits; what is on the wire is awaited.
    func completeWaiting(_ outcome: PushOutcome) {
        while let index = takeNext() { complete(index, outcome) }
    }

    /// The request's common part under that token, laid out on first use.
    func template(for token: IssuedToken, authority: String) -> HTTP2RequestTemplate {
        if let template, template.tokenGeneration == token.generation { return template.value }
        let value = PushTemplate.make(batch, token: token.value, authority: authority)
        template = (value, token.generation)
        return value
    }
}
