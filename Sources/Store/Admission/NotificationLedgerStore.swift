package import Gateway
import PostgreSQL

extension Store: NotificationLedger {
    package func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try await admit(callOf: application)
    }

    package func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance? {
        let result = try await query(StartStatements.replay, [.application(application), .uuid(key.key)])
        return Self.replay(result, of: key)
    }

    package func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance {
        try await acceptStart(start, application: application)
    }

    package func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance {
        try await acceptUpdate(update, application: application)
    }

    package func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress {
        let result = try await query(FanOutStatements.progress, [.notification(notification)])
        guard result.rowCount == 1 else { return FanOutProgress(acceptedCount: 0, isFinished: true) }
        return FanOutProgress(
            acceptedCount: result.int64(row: 0, column: 0), isFinished: result.bool(row: 0, column: 1),
            isOvertaken: result.bool(row: 0, column: 2))
    }
}
