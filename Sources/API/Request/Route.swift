/// Everything that can be asked for.
enum Route: String, CaseIterable, Sendable {
    case startActivity
    case pushActivity
    case createAppSegment
    case listAppSegments
    case readAppSegment
    case changeAppSegment
    case removeAppSegment
    case createSegment
    case listSegments
    case readSegment
    case changeSegment
    case removeSegment
    case previewAudience
    case countUnsaved
    case registerDevice
    case setUpdateToken
    case setStartToken
    case removeStartToken
    case recordClick
    case endActivity
    case joinChannel
    case readNotification
    case watchNotification
    case listNotifications
    case readActivity
    case listActivities
    case listDeliveries
    case readDevice
    case listPushes
    case readStatistics
    case readMessage
    case setTypeToken
    case removeTypeToken
    case setActivityToken
    case removeActivityToken
    case confirmReceipt
    case reportClick
    case createUser
    case readUser
    case changeUser
    case removeUser
    case readIdentity
    case changeIdentity
    case removeAlias
    case addSubscription
    case changeSubscription
    case removeSubscription
    case moveSubscription
    case readSubscriptionIdentity
    case changeSubscriptionIdentity
    case setUserActivityToken
    case readClientParameters
    case readAndroidParameters
    case startLiveNotification
    case updateLiveNotification
    case endLiveNotification
    case listLiveNotifications
    // Before what has any segment in its place.
    case listNotificationTypes
    case nameNotificationType
    case readLiveNotification
    case listInstanceDeliveries
    case sendBatch
    case sendPublicBatch
    case sendTrack
    case sendIdentify
    case readProjectSettings
    case createCampaign
    case startBroadcast
    case updateBroadcast
    case endBroadcast
    case live
    case ready
    case metrics
    case openAPI

    /// The method; HEAD is answered where GET is.
    var method: String {
        switch self {
        case .startActivity, .pushActivity, .createAppSegment, .createSegment, .previewAudience, .countUnsaved, .registerDevice,
            .setUpdateToken, .setStartToken, .recordClick, .endActivity, .joinChannel, .createUser, .addSubscription,
            .setActivityToken,
            .setUserActivityToken, .reportClick, .startLiveNotification, .updateLiveNotification, .endLiveNotification,
            .sendBatch, .sendPublicBatch, .sendTrack, .sendIdentify, .createCampaign, .startBroadcast, .updateBroadcast,
            .endBroadcast:
            "POST"
        case .setTypeToken, .confirmReceipt: "PUT"
        case .changeAppSegment, .changeSegment, .changeUser, .changeIdentity, .changeSubscription, .moveSubscription,
            .changeSubscriptionIdentity, .nameNotificationType:
            "PATCH"
        case .removeStartToken, .removeAppSegment, .removeSegment, .removeUser, .removeAlias, .removeSubscription,
            .removeTypeToken, .removeActivityToken:
            "DELETE"
        case .listAppSegments, .readAppSegment, .listSegments, .readSegment, .readNotification, .watchNotification,
            .listNotifications,
            .readActivity, .listActivities, .listDeliveries, .readDevice, .listPushes,
            .readStatistics, .readMessage, .readUser, .readIdentity, .readSubscriptionIdentity, .listLiveNotifications,
            .listNotificationTypes, .readLiveNotification, .listInstanceDeliveries, .readProjectSettings,
            .readClientParameters, .readAndroidParameters, .live, .ready, .metrics,
            .openAPI:
            "GET"
        }
    }

    /// The segments of the path; one that begins with a colon stands for any segment that is not empty.
    var pattern: [String] {
        switch self {
        case .startActivity: ["apps", ":app", "activities", "activity", ":type"]
        case .pushActivity: ["apps", ":app", "live_activities", ":activity", "notifications"]
        case .createAppSegment, .listAppSegments: ["apps", ":app", "segments"]
        case .readAppSegment, .changeAppSegment, .removeAppSegment: ["apps", ":app", "segments", ":segment"]
        case .createSegment, .listSegments: ["v1", "segments"]
        case .readSegment, .changeSegment, .removeSegment: ["v1", "segments", ":segment"]
        case .previewAudience: ["v1", "audiences", "preview"]
        case .countUnsaved: ["notifications", "count-unsaved"]
        case .registerDevice: ["v1", "devices"]
        case .setUpdateToken: ["v1", "live-activities", "update-tokens"]
        case .setStartToken, .removeStartToken: ["v1", "live-activities", "start-tokens"]
        case .recordClick: ["v1", "live-activities", "clicks"]
        case .endActivity: ["v1", "live-activities", "ends"]
        case .readNotification: ["v1", "notifications", ":notification"]
        case .watchNotification: ["v1", "notifications", ":notification", "events"]
        case .listNotifications: ["v1", "notifications"]
        case .listActivities: ["v1", "activities"]
        case .listDeliveries: ["v1", "notifications", ":notification", "deliveries"]
        case .readDevice: ["v1", "devices", ":device"]
        case .listPushes: ["v1", "devices", ":device", "pushes"]
        case .readStatistics: ["v1", "stats"]
        case .readMessage: ["notifications", ":notification"]
        case .readActivity: ["v1", "activities", ":activity"]
        case .joinChannel: ["v1", "activities", ":activity", "subscribe"]
        case .createUser: ["apps", ":app", "users"]
        case .readUser, .changeUser, .removeUser: Self.user
        case .readIdentity, .changeIdentity: Self.user + ["identity"]
        case .removeAlias: Self.user + ["identity", ":alias"]
        case .addSubscription: Self.user + ["subscriptions"]
        case .changeSubscription, .removeSubscription: Self.subscription
        case .moveSubscription: Self.subscription + ["owner"]
        case .readSubscriptionIdentity, .changeSubscriptionIdentity: Self.subscription + ["user", "identity"]
        case .setTypeToken, .removeTypeToken:
            ["apps", ":app", "activities", "tokens", "start", ":type", "subscriptions", ":subscription"]
        case .setActivityToken: ["apps", ":app", "live_activities", ":activity", "token"]
        case .setUserActivityToken: Self.user + ["live_activities", ":activity", "token"]
        case .readClientParameters: ["apps", ":app", "ios_params.js"]
        case .readAndroidParameters: ["apps", ":app", "android_params.js"]
        case .removeActivityToken: ["apps", ":app", "live_activities", ":activity", "token", ":subscription"]
        case .confirmReceipt: ["notifications", ":notification", "report_received"]
        case .reportClick: ["apps", ":app", "live_activities", ":activity", "click"]
        case .startLiveNotification: Self.liveNotifications + ["start"]
        case .updateLiveNotification: Self.liveNotifications + ["update"]
        case .endLiveNotification: Self.liveNotifications + ["end"]
        case .listLiveNotifications: Self.liveNotifications
        case .listNotificationTypes: Self.liveNotifications + ["types"]
        case .nameNotificationType: Self.liveNotifications + ["types", ":identifier"]
        case .readLiveNotification: Self.liveNotifications + [":instance"]
        case .listInstanceDeliveries: Self.liveNotifications + [":instance", "deliveries"]
        case .sendBatch: ["v1", "b"]
        case .sendPublicBatch: ["v1", "batch"]
        case .sendTrack: ["v1", "track"]
        case .sendIdentify: ["v1", "identify"]
        case .readProjectSettings: ["v1", "projects", ":write_key", "settings"]
        case .createCampaign: ["core-services", "v1", "campaigns"]
        case .startBroadcast: Self.broadcast + ["start"]
        case .updateBroadcast: Self.broadcast + ["update"]
        case .endBroadcast: Self.broadcast + ["end"]
        case .live: ["livez"]
        case .ready: ["readyz"]
        case .metrics: ["metrics"]
        case .openAPI: ["openapi.json"]
        }
    }

    private static let user = ["apps", ":app", "users", "by", ":label", ":id"]
    private static let subscription = ["apps", ":app", "subscriptions", ":subscription"]
    private static let liveNotifications = ["v1", "live_notifications"]
    private static let broadcast = ["v1.0", "live-activity", "broadcast"]

    /// The header that names the workspace beside `Authorization`, on MoEngage's wire; nil for all other routes.
    var workspaceHeader: String? {
        switch self {
        case .createCampaign: CampaignRoutes.header
        case .startBroadcast, .updateBroadcast, .endBroadcast: BroadcastRoutes.header
        default: nil
        }
    }

    /// Whether it takes events of Customer.io's SDKs, which need not have their key in a header.
    var takesEvents: Bool { [.sendBatch, .sendPublicBatch, .sendTrack, .sendIdentify].contains(self) }

    /// Whether it is one of the routes that devices on OneSignal's wire call, which an app may open.
    var isOfOneSignalDevices: Bool { need != nil }

    /// What a device must show on OneSignal's wire where its app wants proof of identity; nil for all other routes.
    var need: IdentityNeed? {
        switch self {
        case .createUser, .readUser, .changeUser, .removeUser, .readIdentity, .changeIdentity, .removeAlias, .addSubscription,
            .moveSubscription, .readSubscriptionIdentity, .changeSubscriptionIdentity, .setTypeToken, .removeTypeToken,
            .setActivityToken, .setUserActivityToken, .removeActivityToken:
            .user
        case .changeSubscription, .removeSubscription, .confirmReceipt, .reportClick: .nobody
        default: nil
        }
    }

    /// Who a device must prove to be.
    enum IdentityNeed: Sendable {
        case user
        /// Reports of what happened on a device prove nothing and show nothing. What a device says of itself gives it no name:
        /// OneSignal's SDK sends it without a token, and the `subscription_id` is a secret of the device.
        case nobody
    }

    /// The shape of its errors.
    var envelope: Envelope {
        switch self {
        case .startActivity, .pushActivity, .countUnsaved, .readMessage, .setTypeToken, .removeTypeToken, .setActivityToken,
            .setUserActivityToken, .removeActivityToken, .confirmReceipt, .reportClick, .readClientParameters,
            .readAndroidParameters:
            .errors
        case .createUser, .readUser, .changeUser, .removeUser, .readIdentity, .changeIdentity, .removeAlias, .addSubscription,
            .changeSubscription, .removeSubscription, .moveSubscription, .readSubscriptionIdentity,
            .changeSubscriptionIdentity:
            .objects
        case .createAppSegment, .listAppSegments, .readAppSegment, .changeAppSegment, .removeAppSegment: .success
        case .startLiveNotification, .updateLiveNotification, .endLiveNotification, .listLiveNotifications,
            .listNotificationTypes, .nameNotificationType, .readLiveNotification, .listInstanceDeliveries:
            .meta
        case .createCampaign, .startBroadcast, .updateBroadcast, .endBroadcast: .error
        default: .detail
        }
    }

    /// The path as metrics and logs name it, such as `/v1/notifications/:notification`.
    var name: String { "/" + pattern.joined(separator: "/") }
}
