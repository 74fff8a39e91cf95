/// A ledger that tells this process of every accepted notification: workers wake, and stop what it supersedes.
package struct AnnouncedLedger: NotificationLedger {
    private let base: any NotificationLedger
    private let board: ProgressBoard
    private let wakeWorkers: @Sendable () -> Void

    /// Wraps the stored ledger.
    package init(
        base: any NotificationLedger, board: ProgressBoard, wakeWorkers: @escaping @Sendable () -> Void
    ) {
        self.base = base
        self.board = board
        self.wakeWorkers = wakeWorkers
    }

    package func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try await base.admitCall(of: application)
    }

    package func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance? {
        try await base.replay(of: key, application: application)
    }

    package func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance {
        let acceptance = try await base.accept(start, application: application)
        if case .accepted = acceptance { wakeWorkers() }
        return acceptance
    }

    package func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance {
        let acceptance = try await base.accept(update, application: application)
        if case .accepted(let notification) = acceptance {
            board.open(notification.id)
            wakeWorkers()
        }
        return acceptance
    }

    package func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress {
        try await base.progress(of: notification)
    }
}
