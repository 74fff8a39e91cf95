import Gateway
import HTTP

/// What all routes of a kind have in common.
enum CommonErrors {
    /// Refusals that follow from a route's keys, path, body and query.
    static func examples(of route: Route) -> [ErrorExample] {
        let kinds = route.allowedKinds
        guard !kinds.isEmpty else { return [] }
        if let header = route.workspaceHeader {
            return [
                ErrorExample("missing_headers", .broadcast(.missingCredentials(header: header)), key: "none"),
                ErrorExample("invalid_data_key", .broadcast(.invalidDataKey), key: "read"),
                ErrorExample("no_object", .broadcast(.payload([.init(.dictionary, target: "body")])), body: "[]"),
            ]
        }
        let noObject = ErrorExample("no_object", .invalidBody("must be a JSON object"), body: "[]")
        // What a wrong key is answered with depends on the route, and on a header.
        if route.takesEvents { return [noObject] }
        var examples = [ErrorExample("no_key", .unauthorized, key: "none")]
        if let other = KeyKind.allCases.last(where: { !kinds.contains($0) }) {
            examples.append(ErrorExample("wrong_kind_of_key", .wrongKeyKind(other), key: other.name))
        }
        if kinds.contains(.client) {
            examples.append(ErrorExample("malformed_token", .identity(.malformed), key: IdentityExample.malformed))
        }
        if route.pattern.contains(":app") {
            examples.append(ErrorExample("wrong_app", .wrongApplication, path: ["app": Example.nothing]))
        }
        if route.description.body != nil {
            examples.append(noObject)
        }
        if route.pattern.contains(":label") { examples.append(tooLong("label", named: "label")) }
        if [.setTypeToken, .removeTypeToken].contains(route) { examples.append(tooLong("activity_type", named: "type")) }
        if !route.description.query.isEmpty {
            let name = "nonsense"
            examples.append(
                ErrorExample(
                    "unknown_parameter", .fields([FieldError(field: name, problem: .unknownKey)]), query: [(name, "1")]))
        }
        return examples
    }

    /// A parameter of the path that is no identifier.
    private static func tooLong(_ field: String, named parameter: String) -> ErrorExample {
        let (actual, limit) = (AdmissionLimits.identifierByteCount + 1, AdmissionLimits.identifierByteCount)
        return .field(
            field, .tooLong(actual: actual, limit: limit, unit: .bytes),
            path: [parameter: String(repeating: "x", count: actual)])
    }

    /// Errors that no request can provoke by itself.
    static func withoutExample(of route: Route) -> [(status: Int, text: String)] {
        guard !route.allowedKinds.isEmpty || [.readProjectSettings, .readClientParameters].contains(route) else { return [] }
        var errors = [
            (500, "The database refused a statement: a fault of the gateway or of its schema."),
            (503, "The database is away, or too much waits: repeat after Retry-After."),
        ]
        if [.startActivity, .pushActivity].contains(route) {
            errors.append((429, "60 calls of the app in 60 s: repeat after Retry-After."))
        }
        if route.workspaceHeader != nil { errors += broadcastErrors(of: route) }
        if route.envelope == .meta {
            errors.append((404, "There is no such thing, or live notifications are not enabled for this workspace."))
        }
        if [.startLiveNotification, .updateLiveNotification, .endLiveNotification].contains(route) {
            errors.append((429, "10 calls of the app in 1 s: repeat after Retry-After."))
        }
        if route.allowedKinds.contains(.client), !route.takesEvents {
            errors.append((401, "No key that is in force, an identity token that does not count, or none where one is required."))
        }
        if route.takesEvents { errors.append((401, "No key that is in force, with X-Strict-Mode: 1.")) }
        if route == .watchNotification {
            errors.append((429, "Too many streams of the app are open: repeat after Retry-After."))
        }
        return errors
    }

    private static func broadcastErrors(of route: Route) -> [(status: Int, text: String)] {
        var errors = [
            (401, "No credentials, or they and the header name different workspaces, or the key is not the workspace's."),
            (403, "The app has no signing key, or what is asked for is not possible now."),
        ]
        switch route {
        case .startBroadcast: errors.append((429, "5 calls of the workspace in 60 s: repeat after Retry-After."))
        case .createCampaign: errors.append((429, "5 calls of the workspace in 60 s: repeat after Retry-After."))
        default: errors.append((429, "500 calls of the workspace, or 5 of the campaign, in 60 s: repeat after Retry-After."))
        }
        if route != .createCampaign { errors.append((413, "The push would be larger than 5,120 bytes; a start, 4,096.")) }
        return errors
    }
}

extension Envelope {
    /// The schema of its errors.
    var schema: Schema {
        switch self {
        case .errors: .named("Errors")
        case .success: .named("SegmentErrors")
        case .objects: .named("ErrorObjects")
        case .detail: .named("Detail")
        case .meta: .named("Meta")
        case .error: .named("BroadcastError")
        }
    }
}

/// A parameter of a path, the same wherever it is.
struct PathParameter {
    let name: String
    let text: String
    let schema: Schema
    let example: String

    init(_ name: String, of route: Route) {
        self.name = name
        switch name {
        case "app": (text, schema, example) = ("the app's id", .uuid, Example.app)
        case "type":
            let isOfOneSignal = [.setTypeToken, .removeTypeToken].contains(route)
            (text, schema, example) = (
                "the Swift type of the attributes", .identifier,
                isOfOneSignal ? LiveActivityDescriptions.activityType : Example.activityType
            )
        case "label": (text, schema, example) = ("what kind of name follows", .identifier, DeviceProfile.externalIDLabel.text)
        case "id":
            let name = route == .removeUser ? UserDescriptions.leavingFan : UserDescriptions.fan
            (text, schema, example) = ("a user by that name", .identifier, name)
        case "alias": (text, schema, example) = ("the kind of name", .identifier, UserDescriptions.alias)
        case "subscription": (text, schema, example) = ("a device", .uuid, Example.device)
        case "activity": (text, schema, example) = ("the caller's id of the activity, without /", .identifier, Example.activity)
        case "instance": (text, schema, example) = ("a live notification", .ulid, Example.instance)
        case "identifier":
            (text, schema, example) = ("the kind of live notification", .identifier, LiveNotificationDescriptions.type)
        case "notification": (text, schema, example) = ("a notification", .uuid, Example.notification)
        case "device": (text, schema, example) = ("a subscription_id", .uuid, Example.device)
        case "write_key": (text, schema, example) = ("a client or rest key", .text, IngestionDescriptions.writeKey)
        case "segment":
            let isOfApp = route.pattern.contains(":app")
            (text, schema, example) = ("a segment", .uuid, isOfApp ? Example.appSegment : Example.segment)
        default: preconditionFailure("\(name) is a parameter of a path without a description")
        }
    }
}

/// Schemas that have a name of their own.
enum SharedSchemas {
    static let all: [(String, Schema)] = [
        ("Errors", .object([("errors", .list(of: .text))])),
        ("SegmentErrors", .object([("success", .literals("false")), ("errors", .list(of: .text))])),
        (
            "ErrorObjects", .object([("errors", .list(of: .object([("code", .text), ("title", .text)])))])
        ),
        ("UserProperties", UserDescriptions.properties), ("Subscription", UserDescriptions.device),
        ("Detail", .object([("detail", .text)], optional: [("field", .text)])),
        (
            "Meta",
            .object([
                ("meta", .any(of: .object([("error", .text)]), .object([("errors", .list(of: .text))])))
            ])
        ),
        ("BroadcastError", BroadcastDescriptions.error),
        ("Notification", .object(notification)),
        (
            "NotificationWithMinutes",
            .object(notification, optional: [("minutes", .list(of: minute, 0...DashboardRoutes.minuteCount))])
        ),
        ("Filter", ActivityDescriptions.filter),
    ]

    private static let notification: [(String, Schema)] = [
        ("id", .uuid), ("event", .choice("start", "update", "end")), ("activity_id", .identifier),
        ("activity_type", .nullable(.identifier)), ("name", .name),
        ("state", .choice(FanOutState.pending.rawValue, FanOutState.sending.rawValue, FanOutState.finished.rawValue)),
        ("targeted", .count), ("accepted", .count), ("failed", .count), ("unknown", .count), ("pending", .count),
        ("reasons", .map(of: .count)), ("clicks", .count), ("clicked_devices", .count), ("unknown_entries", .count),
        ("created_at", .date),
        ("finished_at", .nullable(.date)),
    ]
    private static let minute = Schema.object([("minute", .date), ("accepted", .count), ("clicked_devices", .count)])
}
