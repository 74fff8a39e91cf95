/// What a registration says of a device; nil leaves the stored value as it is.
package struct DeviceRegistration: Sendable {
    /// The ordinary device token, as bytes: APNs', or the text of FCM's on Android and where iOS is behind FCM. One token is one device. Nil where the device is named otherwise, or has none yet.
    package var pushToken: [UInt8]?
    /// The device's own identifier, where it knows it. When the token is another device's, that one is gone. In a change of a user, the
    /// device the user is at.
    package var subscription: UUID?
    package var environment: PushEnvironment?
    package var platform: DevicePlatform?
    /// Whether ActivityKit's tokens of an iOS device go through FCM; the store says so, who knows the app's credentials.
    package var isRelayed: Bool?
    /// The app's own user; another one moves the device to that user.
    package var externalID: String?
    /// Label to identifier; nil as identifier removes the alias.
    package var aliases: [ExactText: String?] = [:]
    /// Whether a device that is not told to have an `external_id` belongs to nobody: who logs out says so by leaving it out.
    package var namesWholeUser = false
    /// What also names the user, where that is not the `external_id`: a device told another name by it has changed hands.
    package var userLabel: ExactText?
    /// The names that a token vouches for, in an app where every name needs one: who logs in on a device that has others is not who had
    /// it. Nil elsewhere.
    package var vouchedAliases: [ExactText: ExactText]?
    /// Whether a device without a `DeviceProfile.userIDLabel` gets one.
    package var givesUserID = false
    /// Whether a user who leaves takes the tags along.
    package var tagsBelongToUser = false
    /// Key to value; nil as value removes the tag.
    package var tags: [ExactText: String?] = [:]
    package var language: String?
    package var country: String?
    package var appVersion: String?
    package var osVersion: String?
    package var timeZone: String?
    package var sessionCount: Int64?
    /// Of all sessions together.
    package var sessionSeconds: Int64?
    /// Sessions, and seconds in them, on top of those that are stored, or told.
    package var addedSessionCount: Int64 = 0
    package var addedSessionSeconds: Int64 = 0
    /// Seconds since 1970.
    package var firstSession: Int64?
    /// Seconds since 1970.
    package var lastSession: Int64?
    package var location: DeviceLocation?
    /// Whether the app may show ordinary notifications.
    package var isEnabled: Bool?

    /// A registration that says nothing but the token, if that.
    package init(pushToken: [UInt8]? = nil) { self.pushToken = pushToken }

    /// Every alias it says something of, the user's `external_id` included.
    package var toldAliases: [ExactText: ExactText?] {
        var told = aliases.mapValues { $0.map { ExactText($0) } }
        if let externalID {
            told.updateValue(ExactText(externalID), forKey: DeviceProfile.externalIDLabel)
        } else if namesWholeUser, told[DeviceProfile.externalIDLabel] == nil {
            told.updateValue(nil, forKey: DeviceProfile.externalIDLabel)
        }
        return told
    }
}

/// What names a device in a call of its own: something that nobody else knows.
package enum DeviceName: Hashable, Sendable {
    /// Its ordinary token.
    case pushToken([UInt8])
    /// The identifier that its registration was answered with.
    case subscription(UUID)

    /// The token, where that is the name.
    package var pushToken: [UInt8]? {
        guard case .pushToken(let token) = self else { return nil }
        return token
    }
    /// The identifier, where that is the name.
    package var subscription: UUID? {
        guard case .subscription(let subscription) = self else { return nil }
        return subscription
    }
}

/// The answer to a registration.
package struct RegisteredDevice: Hashable, Sendable {
    /// The identifier callers see.
    package let subscriptionID: UUID
    /// Whether the token was unknown before.
    package let isNew: Bool
    /// Puts both together.
    package init(subscriptionID: UUID, isNew: Bool) {
        self.subscriptionID = subscriptionID
        self.isNew = isNew
    }
}

/// What became of a registration.
package enum RegistrationResult: Hashable, Sendable {
    case registered(RegisteredDevice)
    /// With its tags the device would have more than `AdmissionLimits.tagCount`; nothing is stored.
    case tooManyTags
    /// With its aliases the device would have more than `AdmissionLimits.aliasCount`; nothing is stored.
    case tooManyAliases
}

/// The life time Apple gives an activity, counted from its start.
package struct ActivityWindow: Hashable, Sendable {
    /// Updates are accepted for this long, in seconds. Source: Apple, ActivityKit (8 hours).
    package static let updateSeconds: Int64 = 8 * 3600
    /// An end is accepted for this long, in seconds. Source: Apple, ActivityKit (4 hours more on the lock screen).
    package static let endSeconds: Int64 = 12 * 3600
    /// Seconds since 1970.
    package let startedAt: Int64
    /// Seconds since 1970 until which updates are accepted.
    package var updatesUntil: Int64 { startedAt + Self.updateSeconds }
    /// Seconds since 1970 until which an end is accepted.
    package var endUntil: Int64 { startedAt + Self.endSeconds }
    /// The window of an activity started then; seconds since 1970.
    package init(startedAt: Int64) { self.startedAt = startedAt }
}

/// A start token, as a device tells it.
package struct StartTokenRegistration: Sendable {
    package let application: ApplicationID
    package let device: DeviceName
    /// The attributes type.
    package let activityType: String
    package let token: [UInt8]
    /// What the device must have at the moment the token is stored, where the caller proved to be that user.
    package let owner: DeviceAlias?
    /// Puts a validated request together.
    package init(
        application: ApplicationID, device: DeviceName, activityType: String, token: [UInt8], owner: DeviceAlias? = nil
    ) {
        self.application = application
        self.device = device
        self.activityType = activityType
        self.token = token
        self.owner = owner
    }
}

/// What a device says of an activity it holds.
package struct UpdateTokenRegistration: Sendable {
    package let device: DeviceName
    package let activityID: String
    package let token: [UInt8]
    /// The attributes type, when the device says it.
    package let activityType: String?
    /// Seconds since 1970; nil means now, or what is already stored.
    package let startedAt: Int64?
    /// What the device must have at the moment the token is stored, where the caller proved or named the user.
    package let owners: [DeviceAlias]
    /// Puts a validated request together.
    package init(
        device: DeviceName, activityID: String, token: [UInt8], activityType: String?, startedAt: Int64?,
        owners: [DeviceAlias] = []
    ) {
        self.owners = owners
        self.device = device
        self.activityID = activityID
        self.token = token
        self.activityType = activityType
        self.startedAt = startedAt
    }
}

/// What became of an update token.
package enum UpdateTokenResult: Sendable {
    /// Stored. `catchUp` says that the state had moved on and a push of the latest one was queued.
    case stored(ActivityWindow, catchUp: Bool)
    /// The device reported the end of the activity this token belongs to: it is not pushed again. Nothing is stored.
    case ended
    /// There is no such device, or it is not the owner's.
    case unknownDevice
}

/// What devices tell. Every method returns after the commit; one that changes nothing writes nothing.
package protocol DeviceRegistry: Sendable {
    /// Adds or updates the device of a push token.
    func register(_ device: DeviceRegistration, application: Application) async throws(StorageError) -> RegistrationResult
    /// Whether there is such a device, and it has that alias.
    func has(_ alias: DeviceAlias, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool
    /// Stores a start token for a type; false when there is no such device, or it is not the owner's.
    func setStartToken(_ registration: StartTokenRegistration) async throws(StorageError) -> Bool
    /// Removes the device's start token of a type; false when there is none.
    func removeStartToken(activityType: String, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool
    /// Stores an update token, and queues the latest state when it moved on before the token came.
    func setUpdateToken(_ registration: UpdateTokenRegistration, application: ApplicationID)
        async throws(StorageError) -> UpdateTokenResult
    /// Notes that the activity is over on this device; false when the device holds no such activity.
    func endActivity(_ activityID: String, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool
}
