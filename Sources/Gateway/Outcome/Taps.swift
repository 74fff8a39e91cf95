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

/// Counts taps one by one, as callers see it.
package protocol TapCounter: Sendable {
    /// Returns after the commit.
    func count(_ tap: Tap) async throws(BatchFailure) -> ClickResult
}
