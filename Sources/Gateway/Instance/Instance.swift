/// Where an operation on an instance came from.
package enum InstanceSource: Int16, Sendable {
    case api = 0
    case device = 1

    /// The name in answers: `api` or `device`.
    package var name: String { self == .api ? "api" : "device" }
}

/// Where an instance is in its life. Every state but `active` is the last one.
///
/// | from | what happens | to |
/// |---|---|---|
/// | | a start is accepted, or the app tells of an activity it started | active |
/// | active | the start's fan-out is finished and reached nobody | failed |
/// | active | an end is accepted, or a device tells of one | ended |
/// | active | `expiresAt` has come | expired |
package enum InstanceState: String, Sendable {
    case active
    case ended
    case expired
    case failed

    /// The state that these facts make.
    ///
    /// - Parameters:
    ///   - failure: why the start reached nobody; nil when it did, or may still.
    ///   - now, endedAt, expiresAt: seconds since 1970.
    package init(failure: String?, endedAt: Int64?, expiresAt: Int64, now: Int64) {
        if failure != nil {
            self = .failed
        } else if endedAt != nil {
            self = .ended
        } else {
            self = now >= expiresAt ? .expired : .active
        }
    }
}

/// What became of one delivery.
///
/// | from | what happens | to |
/// |---|---|---|
/// | | the operation is accepted | queued |
/// | queued | APNs accepted a push of it | sent |
/// | queued | nobody is left to push, and nobody could be pushed at all | undeliverable |
/// | queued | nobody is left to push, and APNs accepted none | failed |
/// | undeliverable | a device's token came late, and its push was accepted | sent |
///
/// What a device did itself is sent from the start.
package enum InstanceDeliveryStatus: String, Sendable {
    case queued
    case sent
    case failed
    case undeliverable

    /// The status that a fan-out's totals make.
    ///
    /// - Parameter unknownCount: pushes that APNs may have accepted; they count as handed over.
    package init(targetedCount: Int64, acceptedCount: Int64, unknownCount: Int64, isFinished: Bool) {
        if acceptedCount > 0 {
            self = .sent
        } else if !isFinished {
            self = .queued
        } else if unknownCount > 0 {
            self = .sent
        } else {
            self = targetedCount == 0 ? .undeliverable : .failed
        }
    }
}

/// One operation on an instance.
package struct InstanceDelivery: Sendable {
    package let id: InstanceID
    package let operation: ActivityEvent
    package let source: InstanceSource
    package let status: InstanceDeliveryStatus
    /// Why it is failed or undeliverable; nil otherwise.
    package let failureReason: String?
    /// Seconds since 1970.
    package let createdAt: Int64
    /// The notification, whose deliveries say device by device what happened; nil for what a device did.
    package let notification: UUID?
    /// How often devices told that it arrived, and that somebody opened it.
    package let deliveredCount: Int64
    package let openedCount: Int64

    /// Puts together what is stored.
    package init(
        id: InstanceID, operation: ActivityEvent, source: InstanceSource, status: InstanceDeliveryStatus, failureReason: String?,
        createdAt: Int64, notification: UUID?, deliveredCount: Int64 = 0, openedCount: Int64 = 0
    ) {
        self.id = id
        self.operation = operation
        self.source = source
        self.status = status
        self.failureReason = failureReason
        self.createdAt = createdAt
        self.notification = notification
        self.deliveredCount = deliveredCount
        self.openedCount = openedCount
    }
}

/// One live notification: an activity under an identifier of its own, for the devices of one profile.
package struct Instance: Sendable {
    package let id: InstanceID
    package let notificationType: String
    /// Nil when the start named none.
    package let platform: DevicePlatform?
    package let state: InstanceState
    /// Why the start reached nobody; nil unless the state is `failed`.
    package let failureReason: String?
    /// Seconds since 1970.
    package let startedAt: Int64
    package let endedAt: Int64?
    package let expiresAt: Int64
    /// The JSON objects that were told last: of the start, and of the latest operation that had them.
    package let attributes: [UInt8]
    package let contentState: [UInt8]
    package let deepLink: String?
    /// The newest one.
    package let lastDelivery: InstanceDelivery?

    /// Puts together what is stored.
    package init(
        id: InstanceID, notificationType: String, platform: DevicePlatform?, state: InstanceState, failureReason: String?,
        startedAt: Int64, endedAt: Int64?, expiresAt: Int64, attributes: [UInt8], contentState: [UInt8], deepLink: String?,
        lastDelivery: InstanceDelivery?
    ) {
        self.id = id
        self.notificationType = notificationType
        self.platform = platform
        self.state = state
        self.failureReason = failureReason
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.expiresAt = expiresAt
        self.attributes = attributes
        self.contentState = contentState
        self.deepLink = deepLink
        self.lastDelivery = lastDelivery
    }
}
