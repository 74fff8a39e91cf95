import Synchronization
import Testing

@testable import Gateway

/// A ledger that only knows how far a fan-out is.
private final class ProgressLedger: NotificationLedger {
    let answers: Mutex<[Result<FanOutProgress, StorageError>]>
    init(_ answers: [Result<FanOutProgress, StorageError>]) { self.answers = Mutex(answers) }

    func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress {
        let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        return try answer.get()
    }
    func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision { .admitted }
    func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance? { nil }
    func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance { .nobody }
    func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance { .nobody }
}

@Suite("Fan-out waiter", .timeLimit(.minutes(1))) struct LedgerFanOutWaiterTests {
    private let notification = AcceptedNotification(id: NotificationID(rawValue: 5), publicID: .random())
    private let nothingYet = FanOutProgress(acceptedCount: 0, isFinished: false)

    private func wait(
        _ answers: [Result<FanOutProgress, StorageError>], isOpen: Bool = true, accepting: Bool = false
    ) async -> FirstAcceptance {
        let board = ProgressBoard()
        let clock = ManualClock()
        if isOpen { board.open(notification.id) }
        let waiter = LedgerFanOutWaiter(ledger: ProgressLedger(answers), board: board, clock: clock.fanOutClock)
        let waiting = Task { await waiter.waitForFirstAcceptance(of: notification, timeout: .seconds(5)) }
        let ticking = Task {
            while !Task.isCancelled {
                clock.tick()
                await Task.yield()
            }
        }
        if accepting { board.pushAccepted(of: notification.id) }
        let verdict = await waiting.value
        ticking.cancel()
        return verdict
    }

    @Test("returns as soon as this process saw a push accepted")
    func seesOwnAcceptance() async {
        #expect(await wait([.success(nothingYet)], accepting: true) == .accepted)
    }

    @Test("finds what another daemon recorded", arguments: [true, false])
    func seesRecordedAcceptance(isOpen: Bool) async {
        let accepted = FanOutProgress(acceptedCount: 1, isFinished: false)
        #expect(await wait([.success(nothingYet), .success(accepted)], isOpen: isOpen) == .accepted)
    }

    @Test("says that nobody was reached when everything failed")
    func seesFailure() async {
        let failed = FanOutProgress(acceptedCount: 0, isFinished: true)
        #expect(await wait([.success(nothingYet), .success(failed)]) == .reachedNobody)
    }

    @Test("tells an update that a newer one took the place of from one that failed", arguments: [true, false])
    func seesNewerState(isFinished: Bool) async {
        let overtaken = FanOutProgress(acceptedCount: 0, isFinished: isFinished, isOvertaken: true)
        #expect(await wait([.success(nothingYet), .success(overtaken)]) == .overtaken)
        let accepted = FanOutProgress(acceptedCount: 1, isFinished: isFinished, isOvertaken: true)
        #expect(await wait([.success(accepted)]) == .accepted)
    }

    @Test("gives up waiting, not the work, when the time is over or the database is away")
    func timesOut() async {
        #expect(await wait([.success(nothingYet)]) == .timedOut)
        #expect(await wait([.failure(.unavailable)]) == .timedOut)
    }
}
