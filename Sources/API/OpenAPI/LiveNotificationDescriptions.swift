import Gateway

/// Customer.io's Live Notifications.
enum LiveNotificationDescriptions {
    /// The kind that the examples start.
    static let type = InstanceTemplate.segments.rawValue
    private static let profile = "person@example.com"

    private static let ulid = Schema.ulid
    private static let started = Schema.object([("instance_id", ulid)])
    private static let alert = Schema.openObject(
        [("title", .nonEmptyText), ("body", .nonEmptyText)], optional: [("sound", .text)])
    private static let shared: [(String, Schema)] = [
        ("push_payload", .openObject([], optional: [("alert", alert)])), ("deep_link", .text),
    ]

    private static let isUnknown = Refusal.unknownInstance
    private static let attributes = #""attributes":{"header":"Chica's Tacos"}"#
    private static let state =
        #""content_state":{"status":"Preparing your order","segmentsTotal":4,"segmentsComplete":2,"trailingText":"25 min"}"#
    private static let payload = #""push_payload":{"alert":{"title":"Your order is on its way","body":"Track it here"}}"#

    private static func startBody(_ identifiers: String, _ more: String) -> String {
        #"{"identifiers":\#(identifiers),"notification_type":"\#(type)",\#(attributes),\#(state)\#(more)}"#
    }
    private static let person = #"{"email":"\#(profile)"}"#

    static let start = RouteDescription(
        area: .customerIO, summary: "Start a live notification for a profile",
        body: .init(
            schema: .openObject(
                [
                    (
                        "identifiers",
                        .openObject([], optional: ProfileName.allCases.map { ($0.rawValue, Schema.identifier) })
                    ),
                    ("notification_type", .identifier), ("attributes", .anyObject), ("content_state", .anyObject),
                ],
                optional: [
                    ("device_id", .nonEmptyText), ("platform", DeviceDescriptions.platform), ("app_identifier", .text),
                    ("expiration", .seconds),
                ] + shared),
            examples: [
                .init("ios", 200, startBody(person, #","platform":"ios","expiration":0,\#(payload)"#)),
                .init("android", 200, startBody(#"{"id":"fan-1"}"#, #","platform":"android""#)),
            ]),
        answers: [.init(200, "It is stored, and sent afterwards.", .json(started))],
        errors: [
            .field(
                "identifiers", .notExactlyOne(of: ProfileName.allCases.map(\.rawValue).joined(separator: ", ")),
                body: startBody("{}", ",\(payload)")),
            .field("push_payload.alert", .missing, body: startBody(person, #","platform":"ios""#)),
            .field("app_identifier", .unknownApp, body: startBody(person, #","app_identifier":"no.such.app",\#(payload)"#)),
            .field(
                "expiration", .notOneOf("0, or whole seconds since 1970 within the next 6 hours"),
                body: startBody(person, #","expiration":1,\#(payload)"#)),
        ])

    private static func operation(
        _ summary: String, _ required: [(String, Schema)], optional: [(String, Schema)], instance: String, more: String
    ) -> RouteDescription {
        let body = { (id: String) in #"{"instance_id":"\#(id)"\#(more)}"# }
        return RouteDescription(
            area: .customerIO, summary: summary,
            body: .init(
                schema: .openObject(
                    [("instance_id", ulid)] + required, optional: optional + [("attributes", .map(of: .anything))] + shared),
                examples: [.init("state", 200, body(instance))]),
            answers: [.init(200, "It is stored, and sent afterwards.", .json(started))],
            errors: [
                .field("instance_id", .notULID, body: body("match-1")),
                ErrorExample("unknown", isUnknown, body: body(Example.noInstance)),
                ErrorExample(
                    "over", .fields([FieldError(field: "instance_id", problem: .over(.ended))]),
                    body: body(Example.endedInstance)),
            ])
    }

    static let update = operation(
        "Push a new content state to a live notification", [("content_state", .anyObject)], optional: [],
        instance: Example.instance, more: ",\(state)")
    static let end = operation(
        "End a live notification; without a content state it shows the last one", [],
        optional: [("content_state", .map(of: .anything))], instance: Example.endingInstance, more: "")

    // MARK: Reading

    private static let delivery: [(String, Schema)] = [
        ("id", ulid), ("operation", .choice("start", "update", "end")),
        ("status", .choice("queued", "sent", "failed", "undeliverable")), ("source", .choice("api", "device")),
        ("failure_reason", .nullable(.text)), ("created_at", .seconds),
    ]
    private static let instance = Schema.object([
        ("instance_id", ulid), ("notification_type", .identifier), ("platform", DeviceDescriptions.platform),
        ("state", .choice("active", "ended", "expired", "failed")), ("failure_reason", .nullable(.text)),
        ("started_at", .seconds), ("ended_at", .nullable(.seconds)), ("expires_at", .nullable(.seconds)),
        ("last_delivery", .nullable(.object(delivery))),
    ])
    private static let unknownPaths = [
        ErrorExample("unknown", isUnknown, path: ["instance": Example.noInstance]),
        ErrorExample.field("instance_id", .notULID, path: ["instance": "match-1"]),
    ]
    private static let limit = ReadingDescriptions.limit(
        LiveNotificationReading.limits, default: LiveNotificationReading.defaultLimit)
    private static let wrongPage = [
        ReadingDescriptions.wrongLimit(LiveNotificationReading.limits), ReadingDescriptions.wrongCursor,
    ]

    static let read = RouteDescription(
        area: .customerIO, summary: "A live notification's state and its newest delivery",
        answers: [.init(200, "platform is ios when the start named none.", .json(instance))], errors: unknownPaths)

    static let deliveries = RouteDescription(
        area: .customerIO, summary: "Every delivery of a live notification, the newest first",
        query: [limit, ReadingDescriptions.cursor(of: .instanceDeliveries)],
        answers: [
            .init(
                200, "A page. notification_id names what /v1/notifications tells more of.",
                .json(
                    .object([
                        ("instance_id", ulid),
                        (
                            "deliveries",
                            .list(
                                of: .object(
                                    delivery + [
                                        ("notification_id", .nullable(.uuid)), ("delivered", .count), ("opened", .count),
                                    ]))
                        ),
                        ("next_cursor", .nullable(.text)),
                    ])))
        ], errors: unknownPaths + wrongPage)

    static let list = RouteDescription(
        area: .customerIO, summary: "The live notifications of a profile, the newest first",
        query: [
            .init("profile", "LABEL:VALUE, the label as in identifiers", .text, example: "email:\(profile)", isRequired: true),
            limit, ReadingDescriptions.cursor(of: .instances),
        ],
        answers: [
            .init(
                200, "A page.",
                .json(.object([("live_notifications", .list(of: instance)), ("next_cursor", .nullable(.text))])))
        ],
        errors: wrongPage + [
            .field(
                "profile",
                .notOneOf(
                    "LABEL:VALUE with one of the labels \(ProfileName.allCases.map(\.rawValue).joined(separator: ", "))"),
                query: [("profile", profile)])
        ])

    private static let friendlyName: (String, Schema) = ("friendly_name", .nullable(.name))

    static let types = RouteDescription(
        area: .customerIO, summary: "The notification types that SDKs registered or starts named",
        answers: [
            .init(
                200, "By identifier.",
                .json(
                    .object([
                        (
                            "notification_types",
                            .list(
                                of: .object([
                                    ("identifier", .identifier), ("attributes_type", .nullable(.identifier)), friendlyName,
                                ]))
                        )
                    ])))
        ])

    static let name = RouteDescription(
        area: .customerIO, summary: "Name a notification type for people; null removes the name",
        body: .init(
            schema: .openObject([friendlyName]),
            examples: [
                .init("name", 200, #"{"friendly_name":"Orders"}"#), .init("no_name", 200, #"{"friendly_name":null}"#),
            ]),
        answers: [.init(200, "It is called so.", .json(.object([("identifier", .identifier), friendlyName])))],
        errors: [
            .field("friendly_name", .missing, body: "{}"),
            ErrorExample("unknown", .unknownNotificationType, path: ["identifier": "no.such.type"]),
        ])
}
