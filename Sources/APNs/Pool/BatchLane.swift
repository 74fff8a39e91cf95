import Gateway
import HTTP

/// A batch on its way, with what its pushes need at hand.
///
/// One object a batch; its pushes are indexes. It belongs to one pool.
final class BatchLane {
    let batch: PushBatch
    /// Names the batch among those of its pool, until it is finished.
    let number: Int32
    // Copies of what a push needs of the batch: an access across modules costs more than the access itself.
    let notification: NotificationID
    let devices: [Int64]
    let tokenBytes: [UInt8]
    private let tokenEnds: [Int32]
    let bodyIndexes: [UInt8]
    /// Where it is noted how far each push got; nil when nobody wants to know.
    let marks: PushMarks?
    let enqueuedAt: ContinuousClock.Instant
    private var progress: BatchProgress
    private var hasAccepted = false
    private let finish: CheckedContinuation<[PushOutcome], Never>
    private var template: (value: HTTP2RequestTemplate, tokenGeneration: Int)?
    /// Bytes of the largest body.
    let bodyByteCount: Int

    init(
        batch: PushBatch, number: Int32, enqueuedAt: ContinuousClock.Instant, finish: CheckedContinuation<[PushOutcome], Never>
    ) {
        self.batch = batch
        self.number = number
        notification = batch.notification
        devices = batch.devices
        tokenBytes = batch.tokens.bytes
        tokenEnds = batch.tokens.ends
        bodyIndexes = batch.bodyIndexes
        marks = batch.marks
        self.enqueuedAt = enqueuedAt
        self.finish = finish
        progress = BatchProgress(count: batch.devices.count)
        bodyByteCount = batch.bodies.reduce(0) { max($0, $1.count) }
    }

    /// Pushes that are not on the wire and not done.
    var waitingCount: Int { progress.waitingCount }
    /// Whether every push has its outcome.
    var isFinished: Bool { progress.openCount == 0 }

    /// The next push to submit; nil when none waits.
    func takeNext() -> Int? { progress.takeNext() }

    /// Puts a push back that was provably not processed; it costs nothing.
    func putBack(_ index: Int) { if progress.putBack(index) { marks?.putBack(index) } }

    /// Puts a push back once; false when it had its one more try already.
    func putBackOnce(_ index: Int) -> Bool {
        guard progress.isFirstResending(index) else { return false }
        putBack(index)
        return true
    }

    /// Gives a push its outcome; the last one ends the batch.
    func complete(_ index: Int, _ outcome: PushOutcome) {
        guard progress.complete(index, outcome) else { return }
        marks?.ended(index, outcome)
        if !hasAccepted, outcome == .accepted {
            hasAccepted = true
            batch.onFirstAccepted?()
        }
        if isFinished { finish.resume(returning: progress.outcomes) }
    }

    /// Ends everything that waits; what is on the wire is awaited.
    func completeWaiting(_ outcome: PushOutcome) {
        while let index = takeNext() { complete(index, outcome) }
    }

    /// The bytes of a device's token within `tokenBytes`.
    func tokenRange(_ index: Int) -> Range<Int> {
        (index == 0 ? 0 : Int(tokenEnds[index - 1]))..<Int(tokenEnds[index])
    }

    /// The request's common part under that token, laid out on first use.
    func template(for token: IssuedToken, authority: String) -> HTTP2RequestTemplate {
        if let template, template.tokenGeneration == token.generation { return template.value }
        let value = PushTemplate.make(batch, token: token.value, authority: authority)
        template = (value, token.generation)
        return value
    }
}
