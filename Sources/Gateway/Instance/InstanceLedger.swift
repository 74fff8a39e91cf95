/// A start with everything the ledger stores of it.
package struct StoredInstanceStart: Sendable {
    package let id: InstanceID
    package let delivery: InstanceID
    package let request: InstanceStart
    /// The types under which devices of the profile may hold tokens; each gets the push under its own.
    package let types: [String]
    /// What is pushed.
    package let command: StartCommand

    /// Puts it together.
    package init(id: InstanceID, delivery: InstanceID, request: InstanceStart, types: [String], command: StartCommand) {
        self.types = types
        self.id = id
        self.delivery = delivery
        self.request = request
        self.command = command
    }
}

/// An update or end with everything the ledger stores of it.
package struct StoredInstanceUpdate: Sendable {
    package let delivery: InstanceID
    package let request: InstanceUpdate
    /// What is pushed, made of the request and of what the instance had when it was looked at. Stored is only what the request says.
    package let command: UpdateCommand
    package let basis: Basis

    /// What becomes of an update that another delivery came before.
    package enum Basis: Sendable {
        /// It is out of date, unless this is still the newest delivery; nil when there was none.
        case delivery(InstanceID?)
        /// It is made of what the instance has by then, with the instance to itself.
        case whatIsThere(@Sendable (InstanceMaterial) -> RemadeUpdate)
    }

    /// Puts it together.
    package init(delivery: InstanceID, request: InstanceUpdate, command: UpdateCommand, basis: Basis) {
        self.delivery = delivery
        self.request = request
        self.command = command
        self.basis = basis
    }
}

/// What an instance has, as far as an update shows it again.
package struct InstanceMaterial: Sendable {
    package let attributes: [UInt8]
    package let contentState: [UInt8]
    package let deepLink: String?
    /// Puts together what is stored.
    package init(attributes: [UInt8], contentState: [UInt8], deepLink: String?) {
        self.attributes = attributes
        self.contentState = contentState
        self.deepLink = deepLink
    }
}

/// An update that was made anew.
package enum RemadeUpdate: Sendable {
    case made(UpdateCommand)
    /// The push would have that many bytes, more than its service takes.
    case tooLarge(byteCount: Int)
}

/// What became of an update in the ledger.
package enum InstanceUpdateAcceptance: Sendable {
    case accepted
    case unknownInstance
    case over(InstanceState)
    /// Another delivery came in between; nothing is stored.
    case outOfDate
    /// With what came in between the push would have that many bytes; nothing is stored.
    case tooLarge(byteCount: Int)
}

/// A kind of live notification, as apps register it.
package struct NotificationType: Hashable, Sendable {
    /// Reverse DNS.
    package let identifier: String
    /// The Swift type an SDK registered for it; nil when none did.
    package let attributesType: String?
    /// What people call it; nil until somebody names it.
    package let friendlyName: String?
    /// Puts together what is stored.
    package init(identifier: String, attributesType: String?, friendlyName: String?) {
        self.identifier = identifier
        self.attributesType = attributesType
        self.friendlyName = friendlyName
    }
}

/// A page of instances or of deliveries, newest first.
package struct InstancePage<Element: Sendable>: Sendable {
    package let elements: [Element]
    /// Whether older ones follow.
    package let hasMore: Bool
    /// Puts both together.
    package init(elements: [Element], hasMore: Bool) {
        self.elements = elements
        self.hasMore = hasMore
    }
}

/// Where live notifications are kept. Every method that stores something returns after the commit.
package protocol InstanceLedger: Sendable {
    /// Counts one call of the app against the limit shared by all daemons; a refused call is not counted.
    func admitInstanceCall(of application: ApplicationID) async throws(StorageError) -> RateDecision
    /// The attributes type registered for a notification type last; nil when there is none.
    func attributesType(of notificationType: String, application: ApplicationID) async throws(StorageError) -> String?
    /// All attributes types that were registered for a notification type: versions of an app may differ.
    func attributesTypes(of notificationType: String, application: ApplicationID) async throws(StorageError) -> [String]
    /// Notes what an SDK registered; several app versions may say several.
    func register(attributesType: String?, of notificationType: String, application: ApplicationID) async throws(StorageError)
    /// Keeps what a user is called by, for devices that come later; false when nothing of it is new.
    func keep(_ names: ProfileNames, application: ApplicationID) async throws(StorageError) -> Bool
    /// What was kept of a user, by label.
    func names(ofUser user: String, application: ApplicationID) async throws(StorageError) -> [ExactText: String]
    /// Stores the instance, its delivery and, when anybody can be pushed, the start. False: too many starts have not finished.
    func start(_ start: StoredInstanceStart, application: Application) async throws(StorageError) -> Bool
    /// Stores an update or end with its delivery.
    func update(_ update: StoredInstanceUpdate, application: Application) async throws(StorageError) -> InstanceUpdateAcceptance
    /// Notes what a device did by itself; false when the device is not the profile's.
    func report(_ report: InstanceReport, application: ApplicationID) async throws(StorageError) -> Bool
    /// Counts that a push arrived (`false`) or was opened, once for a message id; false when there is no such delivery.
    func count(opened: Bool, delivery: InstanceID, messageID: String, application: ApplicationID) async throws(StorageError)
        -> Bool
    /// An instance; nil when there is none.
    func instance(_ id: InstanceID, application: ApplicationID) async throws(StorageError) -> Instance?
    /// The deliveries of an instance behind `after`, newest first; nil when there is no such instance.
    func deliveries(of id: InstanceID, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<InstanceDelivery>?
    /// The instances of a profile behind `after`, newest first.
    func instances(of profile: AliasReference, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<Instance>
    /// All notification types, by identifier.
    func notificationTypes(application: ApplicationID) async throws(StorageError) -> [NotificationType]
    /// Names a notification type; nil removes the name. False when there is no such type.
    func name(_ friendlyName: String?, notificationType: String, application: ApplicationID) async throws(StorageError) -> Bool
}
