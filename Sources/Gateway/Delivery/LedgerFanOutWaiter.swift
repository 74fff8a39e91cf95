/// Waits with the help of the progress board, and looks into the ledger for what other daemons do.
package struct LedgerFanOutWaiter: FanOutWaiter {
    /// Longest time between two looks into the ledger.
    package static let lookInterval: Duration = .milliseconds(200)

    private let ledger: any NotificationLedger
    private let board: ProgressBoard
    private let clock: FanOutClock

    /// A waiter over one ledger and this process's board.
    package init(ledger: any NotificationLedger, board: ProgressBoard, clock: FanOutClock) {
        self.ledger = ledger
        self.board = board
        self.clock = clock
    }

    package func waitForFirstAcceptance(of notification: AcceptedNotification, timeout: Duration) async -> FirstAcceptance {
        defer { board.close(notification.id) }
        let deadline = clock.instant() + timeout
        while true {
            let remaining = clock.instant().duration(to: deadline)
            guard remaining > .zero else { return .timedOut }
            let nap = min(Self.lookInterval, remaining)
            if await board.nextMessage(about: notification.id, sleep: { [clock] in await clock.sleep(nap) }) == .accepted {
                return .accepted
            }
            // The database being away is no verdict: the fan-out may have reached somebody.
            guard let progress = try? await ledger.progress(of: notification.id) else { continue }
            if progress.acceptedCount > 0 { return .accepted }
            if progress.isOvertaken { return .overtaken }
            if progress.isFinished { return .reachedNobody }
        }
    }
}
