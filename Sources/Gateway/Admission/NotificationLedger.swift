/// A notification that is stored: committed, and therefore never lost.
package struct AcceptedNotification: Hashable, Sendable {
    /// The internal number.
    package let id: NotificationID
    /// The identifier callers see.
    package let publicID: UUID
    /// Puts both together.
    package init(id: NotificationID, publicID: UUID) {
        self.id = id
        self.publicID = publicID
    }
}

/// What became of a start.
package enum StartAcceptance: Sendable {
    /// Stored; the fan-out can begin.
    case accepted(AcceptedNotification)
    /// The idempotency key was used before: the notification of its first use.
    case replayed(publicID: UUID, sameBody: Bool)
    /// The app has `AdmissionLimits.unfinishedStartCount` starts that have not finished; nothing is stored and the key is not used up.
    case overloaded
    /// Nobody targeted holds a start token for the type; nothing is stored and the key is not used up.
    case nobody
    /// These segments do not exist; nothing is stored.
    case unknownSegments([String])
}

/// What became of an update or end.
package enum UpdateAcceptance: Sendable {
    /// Stored; the fan-out can begin.
    case accepted(AcceptedNotification)
    /// No activity of that name is known to the app.
    case unknownActivity
    /// The activity has ended; nothing is ever sent after an end.
    case ended
    /// The activity runs but no device can be pushed; nothing is stored.
    case nobody
}

/// How far a fan-out is, for a caller that waits.
package struct FanOutProgress: Hashable, Sendable {
    /// Pushes APNs accepted and that are recorded.
    package let acceptedCount: Int64
    /// Whether nothing is left to send or to wait for.
    package let isFinished: Bool
    /// Whether a newer state of an activity that runs took the place of what was unsent.
    package let isOvertaken: Bool
    /// Puts them together.
    package init(acceptedCount: Int64, isFinished: Bool, isOvertaken: Bool = false) {
        self.acceptedCount = acceptedCount
        self.isFinished = isFinished
        self.isOvertaken = isOvertaken
    }
}

/// Whether a call fits the app's rate.
package enum RateDecision: Hashable, Sendable {
    case admitted
    /// Too many; a call after this many whole seconds passes.
    case refused(retryAfterSeconds: Int)
}

/// Where requests become notifications. Every method that stores something returns after the commit.
package protocol NotificationLedger: Sendable {
    /// Counts one call of the app against the limit shared by all daemons; a refused call is not counted.
    func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision
    /// The earlier use of an idempotency key; nil when it is new.
    func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance?
    /// Checks that somebody is reached and stores the start with its activity, key and fan-out in one transaction.
    func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance
    /// Stores an update or end, gives it the activity's next timestamp, and supersedes what is unsent of older ones.
    func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance
    /// How far a fan-out is, from what is recorded.
    func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress
}
