/// A tap on an activity, or the receipt of a push, as a device tells of it.
package struct Tap: Hashable, Sendable {
    /// What is told.
    package enum Kind: Hashable, Sendable {
        /// Somebody tapped. Told again under the same identifier it is the same tap; without one each is another.
        case tap(UUID?)
        /// The push arrived: told once or often, it is one receipt.
        case receipt
    }

    package let application: ApplicationID
    package let device: DeviceName
    package let activityID: String
    /// The notification that is meant; nil for the latest push of the activity that reached the device.
    package let notification: UUID?
    package let kind: Kind

    /// Puts a validated request together.
    package init(
        application: ApplicationID, device: DeviceName, activityID: String, notification: UUID?, kind: Kind = .tap(nil)
    ) {
        self.application = application
        self.device = device
        self.activityID = activityID
        self.notification = notification
        self.kind = kind
    }
}

/// What became of a tap.
package enum ClickResult: Hashable, Sendable {
    /// Counted for this notification.
    case counted(notification: UUID)
    /// No push to this device for this activity (or of this notification) is recorded.
    case nothingDelivered(fanOutIsOpen: Bool)
    /// There is no such device.
    case unknownDevice
}

/// Where taps are kept.
package protocol TapLedger: Sendable {
    /// Counts taps together: all or none of them. Returns after the commit, one result a tap in their order.
    func count(_ taps: [Tap]) async throws(StorageError) -> [ClickResult]
}

/// Why a tap was not counted.
package enum TapFailure: Error, Equatable, Sendable {
    /// Too many wait already; this one was not looked at.
    case tooManyWaiting
    case storage(StorageError)
}

/// Counts taps one by one, as callers see it.
package protocol TapCounter: Sendable {
    /// Returns after the commit.
    func count(_ tap: Tap) async throws(TapFailure) -> ClickResult
}

/// How taps are put together.
package struct TapLimits: Sendable {
    /// Most taps of one statement. Source: a prototype counted 7,000 taps a second one by one, 51,000 with 50 a statement and
    /// 75,000 with 200; `benchmark clicks` repeats that with the real thing.
    package var batchCount = 100
    /// How long the first tap of a batch waits for others. Default 5 ms: nobody notices it.
    package var wait: Duration = .milliseconds(5)
    /// Most batches in the database at once, so that most of a loop's connections are left to others.
    package var openBatchCount = 3
    /// Most taps that wait; more are refused. Default 5,000: less than a second's work.
    package var waitingCount = 5_000
    /// Seconds after which a refused tap should be told again.
    package static let retrySeconds = 1
    /// The defaults.
    package init() {}
}
