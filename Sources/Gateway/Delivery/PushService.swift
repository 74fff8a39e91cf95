/// The service that takes pushes for a token; stored beside the token, as `service`.
package enum PushService: Int16, CaseIterable, Hashable, Sendable {
    /// APNs; the token is ActivityKit's.
    case apnsProduction = 0
    case apnsSandbox = 1
    /// FCM, to an Android device; the token is its registration token, UTF-8.
    case fcm = 2
    /// FCM, which passes on to APNs; the token is a `RelayedToken`.
    case fcmToAPNs = 3
    /// APNs, to all subscribers of a broadcast channel; the token is the channel's identifier as Apple writes it, UTF-8.
    case broadcastProduction = 4
    case broadcastSandbox = 5

    /// The service of APNs in an environment.
    package init(apns environment: PushEnvironment) { self = environment == .production ? .apnsProduction : .apnsSandbox }

    /// The service of broadcast channels in an environment.
    package init(broadcast environment: PushEnvironment) {
        self = environment == .production ? .broadcastProduction : .broadcastSandbox
    }

    /// Apple's environment; nil for FCM, which has one only.
    package var environment: PushEnvironment? {
        switch self {
        case .apnsProduction, .broadcastProduction: .production
        case .apnsSandbox, .broadcastSandbox: .sandbox
        case .fcm, .fcmToAPNs: nil
        }
    }

    /// Whether one push reaches all subscribers of a channel.
    package var isBroadcast: Bool { self == .broadcastProduction || self == .broadcastSandbox }
}

/// What FCM needs to reach a Live Activity: ActivityKit's token and the app's registration token, in one value.
///
/// Stored as one byte that counts ActivityKit's, then its bytes, then the registration token in UTF-8.
package struct RelayedToken: Hashable, Sendable {
    /// ActivityKit's push-to-start or update token, 1 to 255 bytes.
    package let activityToken: [UInt8]
    /// FCM's registration token, UTF-8.
    package let registrationToken: [UInt8]

    /// Puts both together; nil when one is empty, or ActivityKit's is too long.
    package init?(activityToken: [UInt8], registrationToken: [UInt8]) {
        guard (1...255).contains(activityToken.count), !registrationToken.isEmpty else { return nil }
        self.activityToken = activityToken
        self.registrationToken = registrationToken
    }

    /// Reads the stored form; nil when it is something else.
    package init?(stored: some Collection<UInt8>) {
        guard let count = stored.first else { return nil }
        let rest = stored.dropFirst()
        guard rest.count > Int(count) else { return nil }
        self.init(activityToken: Array(rest.prefix(Int(count))), registrationToken: Array(rest.dropFirst(Int(count))))
    }

    package var stored: [UInt8] { [UInt8(activityToken.count)] + activityToken + registrationToken }
}
