/// Where a fan-out stands.
package enum FanOutState: String, Sendable {
    /// No device has been claimed yet.
    case pending
    case sending
    case finished
}

/// Where a page of the list of notifications begins.
package enum NotificationListStart: Hashable, Sendable {
    case newest
    /// Behind the notification of that identifier, which must be there.
    case behind(UUID)
    /// Behind the place of a notification that may be gone.
    case behindPlace(NotificationID)
}

/// A notification with its totals.
package struct NotificationSummary: Sendable {
    /// Its place in the list.
    package let number: NotificationID
    package let publicID: UUID
    package let event: ActivityEvent
    package let activityID: String
    package let activityType: String?
    package let name: String
    package let state: FanOutState
    /// Devices found so far; grows while the audience is being read.
    package let targetedCount: Int64
    package let acceptedCount: Int64
    package let failedCount: Int64
    package let unknownCount: Int64
    /// Why pushes failed, most frequent first.
    package let reasons: [(reason: DeliveryReason, count: Int64)]
    /// Every tap.
    package let clickCount: Int64
    /// Devices that tapped at least once.
    package let clickedDeviceCount: Int64
    /// Devices that said that the push arrived.
    package let receiptCount: Int64
    /// Entries of a start's list that name no device.
    package let unknownEntryCount: Int64
    package let createdAt: UnixMilliseconds
    package let finishedAt: UnixMilliseconds?
    /// Devices whose outcome is not yet known.
    package var pendingCount: Int64 { max(0, targetedCount - acceptedCount - failedCount - unknownCount) }

    /// Puts together what the store holds.
    package init(
        number: NotificationID, publicID: UUID, event: ActivityEvent, activityID: String, activityType: String?, name: String,
        state: FanOutState,
        targetedCount: Int64, acceptedCount: Int64, failedCount: Int64, unknownCount: Int64,
        reasons: [(reason: DeliveryReason, count: Int64)], clickCount: Int64, clickedDeviceCount: Int64,
        receiptCount: Int64 = 0, unknownEntryCount: Int64 = 0, createdAt: UnixMilliseconds, finishedAt: UnixMilliseconds?
    ) {
        self.number = number
        self.publicID = publicID
        self.event = event
        self.activityID = activityID
        self.activityType = activityType
        self.name = name
        self.state = state
        self.targetedCount = targetedCount
        self.acceptedCount = acceptedCount
        self.failedCount = failedCount
        self.unknownCount = unknownCount
        self.reasons = reasons
        self.clickCount = clickCount
        self.clickedDeviceCount = clickedDeviceCount
        self.receiptCount = receiptCount
        self.unknownEntryCount = unknownEntryCount
        self.createdAt = createdAt
        self.finishedAt = finishedAt
    }
}

/// An activity as the dashboards see it.
package struct ActivitySummary: Sendable {
    package let activityID: String
    package let activityType: String?
    package let isEnded: Bool
    /// Devices that hold it and can be pushed one by one; how many are on a channel only Apple knows.
    package let deviceCount: Int64
    /// Seconds since 1970 at which the activity was first known.
    package let startedAt: Int64
    package let lastNotification: UUID?
    /// Its broadcast channels, one an environment at most.
    package let channels: [ActivityChannel]

    /// Puts together what the store holds.
    package init(
        activityID: String, activityType: String?, isEnded: Bool, deviceCount: Int64, startedAt: Int64, lastNotification: UUID?,
        channels: [ActivityChannel] = []
    ) {
        self.activityID = activityID
        self.activityType = activityType
        self.isEnded = isEnded
        self.deviceCount = deviceCount
        self.startedAt = startedAt
        self.lastNotification = lastNotification
        self.channels = channels
    }
}

/// What dashboards read.
package protocol NotificationReader: Sendable {
    /// One notification; nil when the app has none of that identifier.
    func notification(_ publicID: UUID, application: ApplicationID) async throws(StorageError) -> NotificationSummary?
    /// The newest first; nil when the list is to begin behind a notification that the app does not have.
    func notifications(
        activityID: String?, from start: NotificationListStart, limit: Int, application: ApplicationID
    ) async throws(StorageError) -> [NotificationSummary]?
    /// The latest activity of that name; nil when the app knows none.
    func activity(_ activityID: String, application: ApplicationID) async throws(StorageError) -> ActivitySummary?
}
