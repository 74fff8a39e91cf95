/// How one device's push of a notification ended, and what the device made of it.
package struct DeviceDelivery: Hashable, Sendable {
    /// Whether it went to all devices of a broadcast channel, which count as one recipient.
    package let isChannel: Bool
    /// Nil when the device is not registered any more, and for a channel.
    package let subscriptionID: UUID?
    package let reason: DeliveryReason
    /// When it ended.
    package let endedAt: UnixMilliseconds
    /// The `apns-id` of the push, whether or not it left.
    package let apnsID: UUID
    /// Nil when nobody tapped.
    package let firstClickAt: UnixMilliseconds?
    package let tapCount: Int64

    /// Puts together what the store holds.
    package init(
        isChannel: Bool = false, subscriptionID: UUID?, reason: DeliveryReason, endedAt: UnixMilliseconds, apnsID: UUID,
        firstClickAt: UnixMilliseconds?, tapCount: Int64
    ) {
        self.isChannel = isChannel
        self.subscriptionID = subscriptionID
        self.reason = reason
        self.endedAt = endedAt
        self.apnsID = apnsID
        self.firstClickAt = firstClickAt
        self.tapCount = tapCount
    }
}

/// Some deliveries of a notification, in the order of the devices' internal numbers.
package struct DeliveryPage: Sendable {
    package let deliveries: [DeviceDelivery]
    /// The device behind which the next page begins; nil when this is the last.
    package let next: Int64?
    /// Puts together what the store holds.
    package init(deliveries: [DeviceDelivery], next: Int64?) {
        self.deliveries = deliveries
        self.next = next
    }
}

/// What happened to a notification in one minute.
package struct NotificationMinute: Hashable, Sendable {
    /// Its begin.
    package let startsAt: UnixMilliseconds
    /// Pushes APNs accepted, by the time they were recorded.
    package let acceptedCount: Int64
    /// Devices that tapped for the first time.
    package let clickedDeviceCount: Int64
    /// Puts together what the store holds.
    package init(startsAt: UnixMilliseconds, acceptedCount: Int64, clickedDeviceCount: Int64) {
        self.startsAt = startsAt
        self.acceptedCount = acceptedCount
        self.clickedDeviceCount = clickedDeviceCount
    }
}

/// An activity in a list.
package struct ListedActivity: Sendable {
    /// Its place in the list.
    package let number: Int64
    package let activityID: String
    package let activityType: String?
    package let createdAt: UnixMilliseconds
    package let endedAt: UnixMilliseconds?
    /// Puts together what the store holds.
    package init(
        number: Int64, activityID: String, activityType: String?, createdAt: UnixMilliseconds, endedAt: UnixMilliseconds?
    ) {
        self.number = number
        self.activityID = activityID
        self.activityType = activityType
        self.createdAt = createdAt
        self.endedAt = endedAt
    }
}

/// What dashboards read of single devices, minutes and activities.
package protocol DeliveryReader: Sendable {
    /// Deliveries of devices behind one, at most `limit`; nil when the app has no such notification.
    func deliveries(of notification: UUID, behind device: Int64, limit: Int, application: ApplicationID)
        async throws(StorageError) -> DeliveryPage?
    /// The minutes in which something happened, the first `limit` of them.
    func minutes(of notification: UUID, limit: Int, application: ApplicationID) async throws(StorageError) -> [NotificationMinute]
    /// Activities with a smaller number, the newest first, at most `limit`.
    func activities(before number: Int64, limit: Int, application: ApplicationID) async throws(StorageError) -> [ListedActivity]
}

extension UUID {
    /// The `apns-id` of a device's push: the same whenever it is sent again.
    ///
    /// A UUID of version 8 (RFC 9562): the low 60 bits of the notification, then the low 62 bits of the device.
    package static func ofPush(notification: NotificationID, device: Int64) -> UUID {
        let number = UInt64(bitPattern: notification.rawValue)
        return UUID(
            high: (number << 4) & 0xFFFF_FFFF_FFFF_0000 | 0x8000 | number & 0x0FFF,
            low: 0x8000_0000_0000_0000 | UInt64(bitPattern: device) & 0x3FFF_FFFF_FFFF_FFFF)
    }
}
