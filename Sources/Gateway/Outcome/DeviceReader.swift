/// A device as dashboards see it; no token is among it.
package struct DeviceDetails: Sendable {
    /// A push-to-start token.
    package struct StartToken: Sendable {
        package let activityType: String
        package let service: PushService
        package let registeredAt: UnixMilliseconds
        /// Puts together what the store holds.
        package init(activityType: String, service: PushService, registeredAt: UnixMilliseconds) {
            self.activityType = activityType
            self.service = service
            self.registeredAt = registeredAt
        }
    }

    /// An activity on the device, as long as its update token is kept.
    package struct HeldActivity: Sendable {
        package let activityID: String
        package let activityType: String?
        package let window: ActivityWindow
        /// When the device said that it was over; nil when it did not.
        package let endedAt: UnixMilliseconds?
        /// Puts together what the store holds.
        package init(activityID: String, activityType: String?, window: ActivityWindow, endedAt: UnixMilliseconds?) {
            self.activityID = activityID
            self.activityType = activityType
            self.window = window
            self.endedAt = endedAt
        }
    }

    /// Most start tokens and most activities that are shown, the newest of each.
    package static let entryCount = 100

    /// The internal number.
    package var device: Int64 = 0
    package var subscriptionID: UUID
    package var platform = DevicePlatform.ios
    /// Of APNs; says nothing on Android.
    package var environment = PushEnvironment.production
    package var externalID: String?
    package var language: String?
    package var country: String?
    package var appVersion: String?
    package var osVersion: String?
    package var timeZone: String?
    package var sessionCount: Int64 = 0
    /// Seconds since 1970.
    package var firstSession: Int64?
    /// Seconds since 1970.
    package var lastSession: Int64?
    /// Of all sessions together.
    package var sessionSeconds: Int64 = 0
    package var location: DeviceLocation?
    package var registeredAt = UnixMilliseconds(rawValue: 0)
    /// By label and by key, in their order.
    package var aliases: [(name: String, value: String)] = []
    package var tags: [(name: String, value: String)] = []
    package var startTokens: [StartToken] = []
    package var activities: [HeldActivity] = []

    /// A device of which nothing else is known yet.
    package init(subscriptionID: UUID) { self.subscriptionID = subscriptionID }
}

/// One push in a device's timeline.
package struct TimelineEntry: Sendable {
    package let notification: UUID
    package let event: ActivityEvent
    package let activityID: String
    package let name: String
    package let delivery: DeviceDelivery
    /// Puts together what the store holds.
    package init(notification: UUID, event: ActivityEvent, activityID: String, name: String, delivery: DeviceDelivery) {
        self.notification = notification
        self.event = event
        self.activityID = activityID
        self.name = name
        self.delivery = delivery
    }
}

/// Some of a device's pushes, the newest first.
package struct TimelinePage: Sendable {
    /// Notifications of the app that one page looks through: there is no index from a device to its pushes, which would double
    /// what a push costs. A page may be empty although more follow.
    package static let lookCount = 1_000

    package let entries: [TimelineEntry]
    /// The notification before which the next page begins; nil when this is the last.
    package let next: NotificationID?
    /// Puts together what the store holds.
    package init(entries: [TimelineEntry], next: NotificationID?) {
        self.entries = entries
        self.next = next
    }
}

/// What dashboards read of one device.
package protocol DeviceReader: Sendable {
    /// Nil when the app has no device of that identifier.
    func device(_ subscription: UUID, application: ApplicationID) async throws(StorageError) -> DeviceDetails?
    /// Pushes to a device of notifications before one, at most `limit`; nil when the app has no such device.
    func timeline(of subscription: UUID, before notification: NotificationID, limit: Int, application: ApplicationID)
        async throws(StorageError) -> TimelinePage?
}

/// What totals are grouped by.
package enum StatisticsGrouping: String, CaseIterable, Sendable {
    case activityType = "activity_type"
    case event
    /// Days of UTC.
    case day
}

/// The totals of a group of notifications.
package struct StatisticsRow: Hashable, Sendable {
    /// The type, event or day (such as 2026-02-28); nil for notifications whose type nobody told.
    package let key: String?
    package let notificationCount: Int64
    package let targetedCount: Int64
    package let acceptedCount: Int64
    package let failedCount: Int64
    package let unknownCount: Int64
    package let clickCount: Int64
    package let clickedDeviceCount: Int64

    /// Of accepted pushes, how many were tapped, rounded to four digits behind the point; nil when none was accepted.
    package var clickThrough: Double? {
        acceptedCount > 0 ? (Double(clickedDeviceCount) / Double(acceptedCount) * 10_000).rounded() / 10_000 : nil
    }

    /// Puts together what the store holds.
    package init(
        key: String?, notificationCount: Int64, targetedCount: Int64, acceptedCount: Int64, failedCount: Int64,
        unknownCount: Int64, clickCount: Int64, clickedDeviceCount: Int64
    ) {
        self.key = key
        self.notificationCount = notificationCount
        self.targetedCount = targetedCount
        self.acceptedCount = acceptedCount
        self.failedCount = failedCount
        self.unknownCount = unknownCount
        self.clickCount = clickCount
        self.clickedDeviceCount = clickedDeviceCount
    }
}

/// Totals over many notifications.
package protocol StatisticsReader: Sendable {
    /// Groups of the notifications stored in that time (seconds since 1970), those with the most notifications first, at most `limit`.
    func statistics(
        in seconds: Range<Int64>, by grouping: StatisticsGrouping, limit: Int, application: ApplicationID
    ) async throws(StorageError) -> [StatisticsRow]
}

/// Everything that dashboards read beside single notifications.
package typealias DashboardReader = DeliveryReader & DeviceReader & StatisticsReader
