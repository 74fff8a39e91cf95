import Gateway

/// Notifications and activities, as dashboards read them.
enum ReadingDescriptions {
    /// The place where a page of the list begins.
    static func cursor(of list: Cursor.List) -> RouteDescription.QueryParameter {
        let words = Array(repeating: UInt64(1), count: list.wordCount)
        return .init("cursor", "next_cursor of the page before", .text, example: Cursor(list: list, words: words).text)
    }
    static let wrongCursor = ErrorExample.field(
        "cursor", .notOneOf("the next_cursor of a page of this list"), query: [("cursor", "nonsense")])

    /// How long a page is.
    static func limit(_ range: ClosedRange<Int>, default value: Int) -> RouteDescription.QueryParameter {
        .init("limit", "most entries of the page", .integer(range, default: value), example: "20")
    }
    static func wrongLimit(_ range: ClosedRange<Int>) -> ErrorExample {
        .field("limit", .notOneOf("\(range.lowerBound) to \(range.upperBound)"), query: [("limit", "0")])
    }

    private static let isUnknown = ErrorExample(
        "unknown", Refusal.unknownNotification, path: ["notification": Example.nothing])

    static let notification = RouteDescription(
        area: .reading, summary: "One notification with its totals, and by minute for a chart",
        query: [.init("per", "adds minutes", .choice("minute"), example: "minute")],
        answers: [.init(200, "minutes is there with per only.", .json(.named("NotificationWithMinutes")))],
        errors: [isUnknown, .field("per", .notOneOf("minute"), query: [("per", "hour")])])

    static let events = RouteDescription(
        area: .reading, summary: "The totals as they change, as server-sent events, until the fan-out has finished",
        answers: [
            .init(
                200, "Events totals, and finished as the last; their data is what the notification's own route answers.",
                .events(.named("Notification"))),
            .init(204, "The fan-out has finished, and Last-Event-ID says that the client has its totals.", .none),
        ], errors: [isUnknown])

    static let notifications = RouteDescription(
        area: .reading, summary: "Notifications, the newest first",
        query: [
            .init("activity_id", "of this activity only", .identifier, example: Example.activity),
            .init("before", "the last notification of the page before; instead of cursor", .uuid, example: Example.notification),
            limit(ReadingRoutes.limits, default: ReadingRoutes.defaultLimit), cursor(of: .notifications),
        ],
        answers: [
            .init(
                200, "A page.",
                .json(
                    .object([
                        ("notifications", .list(of: .named("Notification"))), ("limit", .count),
                        ("next_cursor", .nullable(.text)),
                    ])))
        ],
        errors: [
            wrongLimit(ReadingRoutes.limits), wrongCursor, .field("before", .notUUID, query: [("before", "1")]),
            ErrorExample(
                "unknown_before", .fields([FieldError(field: "before", problem: .notOneOf("the id of a notification"))]),
                query: [("before", Example.nothing)]),
        ])

    static let activity = RouteDescription(
        area: .reading, summary: "One activity: the newest of its id",
        answers: [
            .init(
                200, "The window counts from when the gateway first knew it.",
                .json(
                    .object([
                        ("activity_id", .identifier), ("activity_type", .nullable(.identifier)),
                        ("state", .choice("active", "ended")), ("devices", .count), ("started_at", .seconds),
                        ("updates_until", .seconds), ("end_until", .seconds), ("last_notification_id", .nullable(.uuid)),
                        ("channels", .list(of: .object(ChannelDescriptions.channel))),
                    ])))
        ], errors: [ErrorExample("unknown", .notFound("There is no activity of this id."), path: ["activity": "none"])])

    static let activities = RouteDescription(
        area: .reading, summary: "Activities, the newest first",
        query: [limit(DashboardRoutes.limits, default: DashboardRoutes.defaultLimit), cursor(of: .activities)],
        answers: [
            .init(
                200, "A page.",
                .json(
                    .object([
                        (
                            "activities",
                            .list(
                                of: .object([
                                    ("activity_id", .identifier), ("activity_type", .nullable(.identifier)),
                                    ("state", .choice("active", "ended")), ("created_at", .date), ("ended_at", .nullable(.date)),
                                ]))
                        ), ("next_cursor", .nullable(.text)),
                    ])))
        ], errors: [wrongLimit(DashboardRoutes.limits), wrongCursor])

    /// How a push to a device ended.
    static let delivery: [(String, Schema)] = [
        ("outcome", .choice("accepted", "failed", "unknown")), ("reason", .nullable(.text)), ("joined_channel", .bool),
        ("apns_id", .uuid), ("at", .date),
        ("first_click_at", .nullable(.date)), ("taps", .count),
    ]

    static let deliveries = RouteDescription(
        area: .reading, summary: "One row a device, or broadcast channel, whose push has ended",
        query: [limit(DashboardRoutes.limits, default: DashboardRoutes.defaultLimit), cursor(of: .deliveries)],
        answers: [
            .init(
                200, "A page.",
                .json(
                    .object([
                        (
                            "deliveries",
                            .list(
                                of: .object(
                                    [("recipient", .choice("device", "channel")), ("subscription_id", .nullable(.uuid))]
                                        + delivery))
                        ),
                        ("next_cursor", .nullable(.text)),
                    ])))
        ], errors: [isUnknown, wrongLimit(DashboardRoutes.limits), wrongCursor])
}
