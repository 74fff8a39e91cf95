/// What became of one push; a value, never an error.
package enum PushOutcome: Hashable, Sendable {
    /// APNs took responsibility (status 200).
    case accepted
    /// Sending again will not help; the token stays.
    case rejected(DeliveryReason)
    /// Sending again will not help, and the token is dead unless it was registered after `since`.
    case tokenDead(DeliveryReason, since: UnixMilliseconds?)
    /// Nothing was done with it; it may be sent again after the delay, in milliseconds.
    case deferred(DeliveryReason, delayMilliseconds: Int64)
    /// It never left this process or was provably not processed; sending it costs no attempt.
    case notSent
    /// It left, and no answer came.
    case unknown
}

/// Why a push ended as it did: one stable number, stored as `delivery.status`, and the name callers see.
package struct DeliveryReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int16
    package init(rawValue: Int16) { self.rawValue = rawValue }
    private init(_ rawValue: Int16) { self.rawValue = rawValue }

    /// Left, and no answer came; counted as `unknown`.
    package static let unknown = DeliveryReason(0)
    /// A newer state of the activity, or its end, took its place; counted as `failed`.
    package static let superseded = DeliveryReason(1)
    /// The time to live passed before APNs took it; counted as `failed`.
    package static let expired = DeliveryReason(2)
    /// It was tried too often: every daemon that had it died; counted as `failed`.
    package static let attemptsExhausted = DeliveryReason(3)
    /// No connection to APNs could be made within the time to live.
    package static let connectionFailed = DeliveryReason(4)
    /// The app's credentials are refused by APNs and its pushes are held back.
    package static let credentialsRefused = DeliveryReason(5)
    /// The stored token or the device went away between claim and send.
    package static let tokenGone = DeliveryReason(6)
    /// APNs took it (status 200).
    package static let accepted = DeliveryReason(200)
    /// An answer whose reason this version does not know, by status class.
    package static let otherClientError = DeliveryReason(400)
    package static let otherServerError = DeliveryReason(500)

    package static let badCollapseID = DeliveryReason(401)
    package static let badDeviceToken = DeliveryReason(402)
    package static let badExpirationDate = DeliveryReason(403)
    package static let badMessageID = DeliveryReason(404)
    package static let badPriority = DeliveryReason(405)
    package static let badTopic = DeliveryReason(406)
    package static let deviceTokenNotForTopic = DeliveryReason(407)
    package static let duplicateHeaders = DeliveryReason(408)
    package static let idleTimeout = DeliveryReason(409)
    package static let invalidPushType = DeliveryReason(410)
    package static let missingDeviceToken = DeliveryReason(411)
    package static let missingTopic = DeliveryReason(412)
    package static let payloadEmpty = DeliveryReason(413)
    package static let topicDisallowed = DeliveryReason(414)
    package static let badCertificate = DeliveryReason(415)
    package static let badCertificateEnvironment = DeliveryReason(416)
    package static let expiredProviderToken = DeliveryReason(417)
    package static let forbidden = DeliveryReason(418)
    package static let invalidProviderToken = DeliveryReason(419)
    package static let missingProviderToken = DeliveryReason(420)
    package static let unrelatedKeyIDInToken = DeliveryReason(421)
    package static let badEnvironmentKeyInToken = DeliveryReason(422)
    package static let badPath = DeliveryReason(423)
    package static let methodNotAllowed = DeliveryReason(424)
    package static let unregistered = DeliveryReason(425)
    package static let expiredToken = DeliveryReason(426)
    package static let payloadTooLarge = DeliveryReason(427)
    package static let tooManyProviderTokenUpdates = DeliveryReason(428)
    package static let tooManyRequests = DeliveryReason(429)
    package static let internalServerError = DeliveryReason(501)
    package static let serviceUnavailable = DeliveryReason(502)
    package static let shutdown = DeliveryReason(503)

    /// APNs took a start that puts the device on the activity's broadcast channel (status 200).
    package static let acceptedForChannel = DeliveryReason(201)
    // Of APNs, for broadcast channels.
    package static let broadcastFeatureNotEnabled = DeliveryReason(430)
    package static let missingChannelID = DeliveryReason(431)
    package static let badChannelID = DeliveryReason(432)
    package static let channelNotRegistered = DeliveryReason(433)
    package static let missingPushType = DeliveryReason(434)
    package static let topicMismatch = DeliveryReason(435)

    // Of FCM.
    package static let fcmInvalidArgument = DeliveryReason(601)
    package static let fcmUnregistered = DeliveryReason(602)
    package static let fcmSenderIDMismatch = DeliveryReason(603)
    package static let fcmThirdPartyAuthError = DeliveryReason(604)
    package static let fcmUnauthenticated = DeliveryReason(605)
    package static let fcmPermissionDenied = DeliveryReason(606)
    package static let fcmQuotaExceeded = DeliveryReason(607)
    package static let fcmInternal = DeliveryReason(608)
    package static let fcmUnavailable = DeliveryReason(609)
    package static let fcmUnspecifiedError = DeliveryReason(610)
    package static let fcmMessageTooLarge = DeliveryReason(611)

    /// Every reason with its name; Apple's spelling where it is Apple's reason.
    package static let names: [(reason: DeliveryReason, name: String)] = [
        (.unknown, "Unknown"), (.superseded, "Superseded"), (.expired, "Expired"), (.attemptsExhausted, "AttemptsExhausted"),
        (.connectionFailed, "ConnectionFailed"), (.credentialsRefused, "CredentialsRefused"), (.tokenGone, "TokenGone"),
        (.accepted, "Accepted"), (.otherClientError, "OtherClientError"), (.otherServerError, "OtherServerError"),
        (.badCollapseID, "BadCollapseId"), (.badDeviceToken, "BadDeviceToken"), (.badExpirationDate, "BadExpirationDate"),
        (.badMessageID, "BadMessageId"), (.badPriority, "BadPriority"), (.badTopic, "BadTopic"),
        (.deviceTokenNotForTopic, "DeviceTokenNotForTopic"), (.duplicateHeaders, "DuplicateHeaders"),
        (.idleTimeout, "IdleTimeout"), (.invalidPushType, "InvalidPushType"), (.missingDeviceToken, "MissingDeviceToken"),
        (.missingTopic, "MissingTopic"), (.payloadEmpty, "PayloadEmpty"), (.topicDisallowed, "TopicDisallowed"),
        (.badCertificate, "BadCertificate"), (.badCertificateEnvironment, "BadCertificateEnvironment"),
        (.expiredProviderToken, "ExpiredProviderToken"), (.forbidden, "Forbidden"),
        (.invalidProviderToken, "InvalidProviderToken"), (.missingProviderToken, "MissingProviderToken"),
        (.unrelatedKeyIDInToken, "UnrelatedKeyIdInToken"), (.badEnvironmentKeyInToken, "BadEnvironmentKeyInToken"),
        (.badPath, "BadPath"), (.methodNotAllowed, "MethodNotAllowed"), (.unregistered, "Unregistered"),
        (.expiredToken, "ExpiredToken"), (.payloadTooLarge, "PayloadTooLarge"),
        (.tooManyProviderTokenUpdates, "TooManyProviderTokenUpdates"), (.tooManyRequests, "TooManyRequests"),
        (.internalServerError, "InternalServerError"), (.serviceUnavailable, "ServiceUnavailable"), (.shutdown, "Shutdown"),
        (.acceptedForChannel, "AcceptedForChannel"), (.broadcastFeatureNotEnabled, "BroadcastFeatureNotEnabled"),
        (.missingChannelID, "MissingChannelId"), (.badChannelID, "BadChannelId"),
        (.channelNotRegistered, "ChannelNotRegistered"), (.missingPushType, "MissingPushType"),
        (.topicMismatch, "TopicMismatch"), (.fcmInvalidArgument, "FcmInvalidArgument"),
        (.fcmUnregistered, "FcmUnregistered"), (.fcmSenderIDMismatch, "FcmSenderIdMismatch"),
        (.fcmThirdPartyAuthError, "FcmThirdPartyAuthError"), (.fcmUnauthenticated, "FcmUnauthenticated"),
        (.fcmPermissionDenied, "FcmPermissionDenied"), (.fcmQuotaExceeded, "FcmQuotaExceeded"),
        (.fcmInternal, "FcmInternal"), (.fcmUnavailable, "FcmUnavailable"),
        (.fcmUnspecifiedError, "FcmUnspecifiedError"), (.fcmMessageTooLarge, "FcmMessageTooLarge"),
    ]
    private static let nameByValue = [Int16: String](uniqueKeysWithValues: names.map { ($0.reason.rawValue, $0.name) })
    private static let reasonByName = [String: DeliveryReason](uniqueKeysWithValues: names.map { ($0.name, $0.reason) })

    /// The name callers see in `reasons`.
    package var name: String { Self.nameByValue[rawValue] ?? "Status\(rawValue)" }
    /// The reason of that name; nil when this version does not know it.
    package init?(name: String) {
        guard let match = Self.reasonByName[name] else { return nil }
        self = match
    }
    /// How the totals count it.
    package var tally: Tally {
        switch self {
        case .accepted, .acceptedForChannel: .accepted
        case .unknown: .unknown
        default: .failed
        }
    }
}

/// The three ways a device's push can end in the totals.
package enum Tally: Hashable, Sendable {
    case accepted
    case failed
    case unknown
}
