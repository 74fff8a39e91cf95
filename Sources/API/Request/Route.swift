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
    case live
    case ready
    case metrics
    case openAPI

    /// The method; HEAD is answered where GET is.
    var method: String {
        switch self {
        case .startActivity, .pushActivity, .createAppSegment, .createSegment, .previewAudience, .countUnsaved, .registerDevice,
            .setUpdateToken, .setStartToken, .recordClick, .endActivity:
            "POST"
        case .changeAppSegment, .changeSegment: "PATCH"
        case .removeStartToken, .removeAppSegment, .removeSegment: "DELETE"
        case .listAppSegments, .readAppSegment, .listSegments, .readSegment, .readNotification, .watchNotification,
            .listNotifications,
            .readActivity, .listActivities, .listDeliveries, .readDevice, .listPushes,
            .readStatistics, .readMessage, .live, .ready, .metrics,
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
        case .live: ["livez"]
        case .ready: ["readyz"]
        case .metrics: ["metrics"]
        case .openAPI: ["openapi.json"]
        }
    }

    /// The shape of its errors.
    var envelope: Envelope {
        switch self {
        case .startActivity, .pushActivity, .countUnsaved, .readMessage: .errors
        case .createAppSegment, .listAppSegments, .readAppSegment, .changeAppSegment, .removeAppSegment: .success
        default: .detail
        }
    }

    /// The path as metrics and logs name it, such as `/v1/notifications/:notification`.
    var name: String { "/" + pattern.joined(separator: "/") }
}
