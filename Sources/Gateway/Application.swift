/// Which of Apple's two services a token belongs to.
package enum PushEnvironment: Int16, CaseIterable, Hashable, Sendable {
    case production = 0
    case sandbox = 1

    /// The name in configuration, requests and answers: `production` or `sandbox`.
    package var name: String { self == .production ? "production" : "sandbox" }
    /// Reads `production` or `sandbox`; nil for anything else.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// What identifies a signing key at Apple. Provider tokens, connections and limits belong to it.
package struct ProviderKey: Hashable, Sendable {
    /// Ten characters; the `iss` of a provider token.
    package let teamID: String
    /// Ten characters; the `kid` of a provider token.
    package let keyID: String
    /// Puts team and key together.
    package init(teamID: String, keyID: String) {
        self.teamID = teamID
        self.keyID = keyID
    }
}

/// How devices come in without an API key.
package struct DeviceAccess: Hashable, Sendable {
    /// Whether the device routes of OneSignal's wire need no key.
    package var isOpen: Bool
    /// Verifies the tokens with which the app's backend says who its users are; a public key in PEM on P-256.
    package var identityKeyPEM: [UInt8]?
    /// Whether a device must prove its user by such a token.
    package var requiresIdentity: Bool
    /// By default everything needs a key.
    package init(isOpen: Bool = false, identityKeyPEM: [UInt8]? = nil, requiresIdentity: Bool = false) {
        self.isOpen = isOpen
        self.identityKeyPEM = identityKeyPEM
        self.requiresIdentity = requiresIdentity
    }
}

/// A tenant: one app, on iOS, Android or both, with the credentials that reach its devices.
package struct Application: Hashable, Sendable {
    /// The internal number.
    package let id: ApplicationID
    /// The `app_id` in routes.
    package let publicID: UUID
    /// What the operator calls it.
    package let name: String
    /// The bundle identifier, without any push-type suffix; nil for an app on Android only.
    package let bundleID: String?
    /// The signing key's team and key identifiers; nil when iOS devices are reached through FCM, or there are none.
    package let providerKey: ProviderKey?
    /// The Android app's package name, such as `com.example.score`; nil for an app on iOS only.
    package let androidPackageName: String?
    /// The service account for FCM; nil when the app has none.
    package let fcmAccount: FCMAccount?
    /// The environment of a device that names none.
    package let defaultEnvironment: PushEnvironment
    package let deviceAccess: DeviceAccess
    /// Whether Customer.io's routes answer.
    package let hasLiveNotifications: Bool
    /// Whether starts put devices on broadcast channels.
    package let hasBroadcastChannels: Bool
    /// Whether they can: channels are Apple's, and need the app's own key.
    package var usesChannels: Bool { hasBroadcastChannels && bundleID != nil && providerKey != nil }
    /// Whether the iOS devices of the app are reached through FCM: it has a service account, and no key of Apple's.
    package var relaysThroughFCM: Bool { providerKey == nil && fcmAccount != nil }

    /// Puts together what the store holds.
    package init(
        id: ApplicationID, publicID: UUID, name: String, bundleID: String?, providerKey: ProviderKey?,
        androidPackageName: String? = nil,
        fcmAccount: FCMAccount? = nil,
        defaultEnvironment: PushEnvironment, deviceAccess: DeviceAccess = DeviceAccess(), hasLiveNotifications: Bool = false,
        hasBroadcastChannels: Bool = false
    ) {
        self.id = id
        self.publicID = publicID
        self.name = name
        self.bundleID = bundleID
        self.providerKey = providerKey
        self.androidPackageName = androidPackageName
        self.fcmAccount = fcmAccount
        self.defaultEnvironment = defaultEnvironment
        self.deviceAccess = deviceAccess
        self.hasLiveNotifications = hasLiveNotifications
        self.hasBroadcastChannels = hasBroadcastChannels
    }
}

/// What an API key may do.
package enum KeyKind: Int16, CaseIterable, Sendable {
    /// Everything an app's backend does.
    case rest = 0
    /// Device routes only; safe to ship inside an app.
    case client = 1
    /// Reading routes only, for dashboards.
    case read = 2

    /// The name in commands and answers: `rest`, `client` or `read`.
    package var name: String {
        switch self {
        case .rest: "rest"
        case .client: "client"
        case .read: "read"
        }
    }
    /// Reads `rest`, `client` or `read`; nil for anything else.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// Who is asking: an API key that is in force, and the app it belongs to.
package struct Principal: Sendable {
    /// The app of the key.
    package let application: Application
    /// What the key may do.
    package let kind: KeyKind
    /// Puts key and app together.
    package init(application: Application, kind: KeyKind) {
        self.application = application
        self.kind = kind
    }
}

/// Finds who is asking.
package protocol PrincipalDirectory: Sendable {
    /// The principal whose key has this SHA-256 digest (32 bytes) and is not revoked; nil when there is none.
    func principal(forKeyDigest digest: [UInt8]) async throws(StorageError) -> Principal?
    /// The app of an `app_id`, for requests that carry no key; nil when there is none.
    func application(named publicID: UUID) async throws(StorageError) -> Application?
}
