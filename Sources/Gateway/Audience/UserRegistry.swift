/// A label and what is called by it.
package struct DeviceAlias: Hashable, Sendable {
    package let label: ExactText
    package let identifier: ExactText
    /// Puts both together.
    package init(label: ExactText, identifier: ExactText) {
        self.label = label
        self.identifier = identifier
    }
}

/// A device that a call about a user found or changed.
package struct UserDevice: Hashable, Sendable {
    package let subscriptionID: UUID
    package let profile: DeviceProfile
    /// Puts both together.
    package init(subscriptionID: UUID, profile: DeviceProfile) {
        self.subscriptionID = subscriptionID
        self.profile = profile
    }
}

/// Some devices of an app that belong together.
package struct UserSelector: Hashable, Sendable {
    /// What the caller names.
    package enum Name: Hashable, Sendable {
        case alias(DeviceAlias)
        case subscription(UUID)
    }

    /// Most devices that are one user to these calls. A name that more of them have is no user's.
    package static let deviceCount = 100

    package let name: Name
    /// Whether all devices of the same `external_id` are meant as well: for callers who may see the whole user.
    package let isWholeUser: Bool
    /// Leaves out devices without this alias: what a user proved.
    package let proof: DeviceAlias?

    /// Puts a validated request together.
    package init(_ name: Name, isWholeUser: Bool, proof: DeviceAlias?) {
        self.name = name
        self.isWholeUser = isWholeUser
        self.proof = proof
    }
}

/// What became of the registration of a user's device.
package enum UserRegistration: Sendable {
    case registered(UserDevice, isNew: Bool)
    /// There is no such device, and none was to be made. Nothing is stored.
    case unknown
    /// Nothing is stored.
    case refused(DeviceRefusal)
}

/// What became of a change to a user.
package enum UserChange: Sendable {
    /// Never empty; the device registered first comes first.
    case changed([UserDevice])
    /// No device is meant.
    case unknown
    /// More than `UserSelector.deviceCount` devices are meant; nothing is changed.
    case tooManyDevices
    /// One of the devices may not become this; nothing is changed.
    case refused(DeviceRefusal)
}

/// Users as OneSignal's wire has them: the devices that share a name. Every method returns after the commit.
package protocol UserRegistry: Sendable {
    /// Adds or updates one device, named by its token, its identifier, both, or as a new one by neither. Unless `mayBeNew`, the
    /// identifier must be known.
    func registerUser(_ device: DeviceRegistration, mayBeNew: Bool, application: Application)
        async throws(StorageError) -> UserRegistration
    /// The devices that are meant, changed by nothing.
    func readUser(_ user: UserSelector, application: ApplicationID) async throws(StorageError) -> UserChange
    /// Tells the same of every device that is meant, and of sessions the one that the user is at (`UserDevice.active`): all of them
    /// change, or none.
    func changeUser(_ user: UserSelector, by change: DeviceRegistration, application: ApplicationID)
        async throws(StorageError) -> UserChange
    /// Removes the devices that are meant with everything they told; says which they were.
    func removeUser(_ user: UserSelector, application: ApplicationID) async throws(StorageError) -> UserChange
}
