/// The alert of a live notification, in one language.
package struct InstanceAlert: Hashable, Sendable {
    package let title: String
    package let body: String
    package let sound: String?
    /// Puts a validated alert together.
    package init(title: String, body: String, sound: String?) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}

/// A start that passed validation.
package struct InstanceStart: Sendable {
    /// What names the profile; a device that has any of these aliases is the profile's.
    package let profile: [AliasReference]
    package let notificationType: String
    /// The only device to start it on; nil for all of the profile's.
    package let pushToken: [UInt8]?
    package let platform: DevicePlatform?
    /// JSON objects, byte for byte.
    package let attributes: [UInt8]
    package let contentState: [UInt8]
    package let alert: InstanceAlert?
    package let deepLink: String?
    /// Seconds since 1970.
    package let expiresAt: Int64

    /// Puts a validated request together.
    package init(
        profile: [AliasReference], notificationType: String, pushToken: [UInt8]?, platform: DevicePlatform?, attributes: [UInt8],
        contentState: [UInt8], alert: InstanceAlert?, deepLink: String?, expiresAt: Int64
    ) {
        self.profile = profile
        self.notificationType = notificationType
        self.pushToken = pushToken
        self.platform = platform
        self.attributes = attributes
        self.contentState = contentState
        self.alert = alert
        self.deepLink = deepLink
        self.expiresAt = expiresAt
    }
}

/// An update or end that passed validation.
package struct InstanceUpdate: Sendable {
    package let instance: InstanceID
    /// `update` or `end`.
    package let event: ActivityEvent
    /// JSON objects, byte for byte; nil keeps what was told last. An update has a content state.
    package let attributes: [UInt8]?
    package let contentState: [UInt8]?
    package let alert: InstanceAlert?
    /// Nil keeps the instance's.
    package let deepLink: String?

    /// Puts a validated request together.
    package init(
        instance: InstanceID, event: ActivityEvent, attributes: [UInt8]?, contentState: [UInt8]?, alert: InstanceAlert?,
        deepLink: String?
    ) {
        self.instance = instance
        self.event = event
        self.attributes = attributes
        self.contentState = contentState
        self.alert = alert
        self.deepLink = deepLink
    }
}

/// What became of a start.
package enum InstanceStartDecision: Sendable {
    case started(InstanceID)
    /// The app calls too often; a call after this many whole seconds passes.
    case rateLimited(retryAfterSeconds: Int)
    /// The push would be larger than APNs takes; sizes in bytes. Nothing is stored.
    case tooLarge(byteCount: Int, limit: Int)
    /// The app has too many starts that have not finished; nothing is stored.
    case overloaded
}

/// What became of an update or end.
package enum InstanceUpdateDecision: Sendable {
    case accepted(InstanceID)
    case unknownInstance
    /// The instance is in this last state; nothing is stored.
    case over(InstanceState)
    /// It is not as the template of the instance demands; nothing is stored.
    case invalid(FieldErrors)
    case rateLimited(retryAfterSeconds: Int)
    case tooLarge(byteCount: Int, limit: Int)
}

/// What a device tells of an activity of its own.
package struct InstanceReport: Sendable {
    /// `start` or `end`.
    package let event: ActivityEvent
    package let instance: InstanceID
    /// The device, and the aliases of the profile it belongs to.
    package let pushToken: [UInt8]
    package let profile: [AliasReference]
    package let notificationType: String
    package let platform: DevicePlatform
    /// JSON objects; nil when it told none.
    package let attributes: [UInt8]?
    package let contentState: [UInt8]?
    /// Seconds since 1970.
    package let at: Int64
    /// What makes it one report, however often it is told.
    package let messageID: String

    /// Puts a validated event together.
    package init(
        event: ActivityEvent, instance: InstanceID, pushToken: [UInt8], profile: [AliasReference], notificationType: String,
        platform: DevicePlatform, attributes: [UInt8]?, contentState: [UInt8]?, at: Int64, messageID: String
    ) {
        self.event = event
        self.instance = instance
        self.pushToken = pushToken
        self.profile = profile
        self.notificationType = notificationType
        self.platform = platform
        self.attributes = attributes
        self.contentState = contentState
        self.at = at
        self.messageID = messageID
    }
}
