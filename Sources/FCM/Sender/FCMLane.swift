import Gateway

/// A batch on its way through FCM. One object a batch; its pushes are indexes. It belongs to one sender.
final class FCMLane {
    let batch: PushBatch
    /// Names the batch among those of its sender, until it is finished.
    let number: Int
    let account: FCMAccount
    /// `/v1/projects/PROJECT/messages:send`.
    let path: String
    let message: FCMMessage
    let enqueuedAt: ContinuousClock.Instant
    private let finish: CheckedContinuation<[PushOutcome], Never>
    private var outcomes: [PushOutcome]
    private var isDone: [Bool]
    private var openCount: Int
    private var next = 0
    /// Indexes that were provably not processed, and go out before the others.
    private var again: [Int] = []
    /// Indexes that had their one more try with a new access token.
    private var resent: Set<Int> = []
    private var hasAccepted = false

    init(
        batch: PushBatch, account: FCMAccount, number: Int, enqueuedAt: ContinuousClock.Instant,
        finish: CheckedContinuation<[PushOutcome], Never>
    ) {
        self.batch = batch
        self.account = account
        self.number = number
        self.enqueuedAt = enqueuedAt
        self.finish = finish
        path = "/v1/projects/\(account.projectID)/messages:send"
        message = FCMMessage(batch: batch)
        outcomes = Array(repeating: .notSent, count: batch.devices.count)
        isDone = Array(repeating: false, count: batch.devices.count)
        openCount = batch.devices.count
    }

    /// Pushes that are neither with the client nor done.
    var waitingCount: Int { outcomes.count - next + again.count }
    /// Whether every push has its outcome.
    var isFinished: Bool { openCount == 0 }

    /// The next push to submit; nil when none waits.
    func takeNext() -> Int? {
        if let index = again.popLast() { return index }
        guard next < outcomes.count else { return nil }
        next += 1
        return next - 1
    }

    /// Puts a push back that was provably not processed; it costs nothing.
    func putBack(_ index: Int) {
        guard !isDone[index] else { return }
        again.append(index)
        batch.marks?.putBack(index)
    }

    /// Puts a push back once; false when it had its one more try already.
    func putBackOnce(_ index: Int) -> Bool {
        guard resent.insert(index).inserted else { return false }
        putBack(index)
        return true
    }

    /// Gives a push its outcome; the last one ends the batch.
    func complete(_ index: Int, _ outcome: PushOutcome) {
        guard !isDone[index] else { return }
        isDone[index] = true
        outcomes[index] = outcome
        openCount -= 1
        batch.marks?.ended(index, outcome)
        if !hasAccepted, outcome == .accepted {
            hasAccepted = true
            batch.onFirstAccepted?()
        }
        if isFinished { finish.resume(returning: outcomes) }
    }

    /// Ends everything that waits; what is with the client is awaited.
    func completeWaiting(_ outcome: PushOutcome) {
        while let index = takeNext() { complete(index, outcome) }
    }

    /// Ends the pushes whose body is larger than FCM takes, before anything is sent.
    func completeTooLarge() {
        let tooLarge = Set(batch.bodies.indices.filter { isTooLarge(batch.bodies[$0]) })
        guard !tooLarge.isEmpty else { return }
        let waiting = (0..<outcomes.count).filter { !tooLarge.contains(Int(batch.bodyIndexes[$0])) }
        let refused = (0..<outcomes.count).filter { tooLarge.contains(Int(batch.bodyIndexes[$0])) }
        next = outcomes.count
        again = waiting.reversed()
        for index in refused { complete(index, .rejected(.fcmMessageTooLarge)) }
    }

    private func isTooLarge(_ body: [UInt8]) -> Bool {
        guard batch.service == .fcm else { return body.count > AdmissionLimits.payloadByteCount }
        return FCMData.countedByteCount(body).map { $0 > FCMData.byteCount } ?? true
    }
}
