import Gateway

/// Single devices, statistics, and OneSignal's view.
enum DashboardDescriptions {
    private static let isUnknown = ErrorExample(
        "unknown", .notFound("There is no device of this subscription id."), path: ["device": Example.nothing])

    static let device = RouteDescription(
        area: .reading, summary: "What is known of a device, tokens excepted",
        answers: [
            .init(
                200, "Start tokens and activities: the newest 100 of each.",
                .json(
                    .object([
                        ("subscription_id", .uuid), ("platform", DeviceDescriptions.platform),
                        ("environment", .choice(PushEnvironment.allCases.map(\.name))), ("external_id", .nullable(.identifier)),
                        ("aliases", .map(of: .identifier)), ("tags", .map(of: .text)), ("language", .nullable(.text)),
                        ("country", .nullable(.text)), ("app_version", .nullable(.text)), ("os_version", .nullable(.text)),
                        ("timezone", .nullable(.text)), ("session_count", .count), ("session_time", .count),
                        ("lat", .nullable(.latitude)), ("long", .nullable(.longitude)), ("first_session", .nullable(.seconds)),
                        ("last_session", .nullable(.seconds)), ("registered_at", .date),
                        ("start_tokens", .list(of: startToken, 0...DeviceDetails.entryCount)),
                        ("activities", .list(of: activity, 0...DeviceDetails.entryCount)),
                    ])))
        ], errors: [isUnknown])

    private static let startToken = Schema.object([
        ("activity_type", .identifier), ("environment", .choice(PushEnvironment.allCases.map(\.name) + ["fcm"])),
        ("registered_at", .date),
    ])
    private static let activity = Schema.object([
        ("activity_id", .identifier), ("activity_type", .nullable(.identifier)), ("started_at", .seconds),
        ("updates_until", .seconds), ("end_until", .seconds), ("ended_at", .nullable(.date)),
    ])

    static let pushes = RouteDescription(
        area: .reading, summary: "The timeline of a device, the newest push first",
        query: [
            ReadingDescriptions.limit(DashboardRoutes.limits, default: DashboardRoutes.defaultLimit),
            ReadingDescriptions.cursor(of: .timeline),
        ],
        answers: [
            .init(
                200, "A page; it may be empty although another follows.",
                .json(
                    .object([
                        (
                            "pushes",
                            .list(
                                of: .object(
                                    [
                                        ("notification_id", .uuid), ("event", .choice("start", "update", "end")),
                                        ("activity_id", .identifier), ("name", .name),
                                    ] + ReadingDescriptions.delivery))
                        ), ("next_cursor", .nullable(.text)),
                    ])))
        ], errors: [isUnknown, ReadingDescriptions.wrongLimit(DashboardRoutes.limits), ReadingDescriptions.wrongCursor])

    private static func group(by key: String, _ schema: Schema) -> Schema {
        .object([
            (key, schema), ("notifications", .count), ("targeted", .count), ("accepted", .count), ("failed", .count),
            ("unknown", .count), ("clicks", .count), ("clicked_devices", .count), ("click_through", .nullable(.number(0...1))),
        ])
    }

    static let statistics = RouteDescription(
        area: .reading, summary: "Totals over the notifications of some time, with their click-through",
        query: [
            .init("from", "begin, in seconds since 1970; default 7 days before the end", .seconds, example: "1796000000"),
            .init("to", "end, exclusive; default the next second", .seconds, example: "1796038440"),
            .init(
                "by", "what the groups are", .choice(StatisticsGrouping.allCases.map(\.rawValue)),
                example: StatisticsGrouping.event.rawValue),
        ],
        answers: [
            .init(
                200, "At most 1,000 groups, those with the most notifications first.",
                .json(
                    .object([
                        ("from", .seconds), ("to", .seconds), ("by", .choice(StatisticsGrouping.allCases.map(\.rawValue))),
                        (
                            "groups",
                            .list(
                                of: .any(
                                    of: group(by: "activity_type", .nullable(.identifier)), group(by: "event", .text),
                                    group(by: "day", .text)), 0...DeviceReadingRoutes.groupCount)
                        ),
                    ])))
        ],
        errors: [
            .field(
                "by", .notOneOf(StatisticsGrouping.allCases.map(\.rawValue).joined(separator: ", ")), query: [("by", "hour")]),
            .field(
                "from", .notOneOf("before \"to\", by \(DeviceReadingRoutes.longestDays) days at most"),
                query: [("from", "20"), ("to", "10")]),
            .field(
                "to", .wrongKind(expected: "a whole number of seconds since 1970, at most \(AdmissionLimits.lastIdentifierDate)"),
                query: [("from", "1"), ("to", "-1")]),
        ])

    private static let counts: [(String, Schema)] = [
        ("successful", .count), ("failed", .count), ("errored", .count), ("converted", .count), ("received", .count),
    ]

    static let message = RouteDescription(
        area: .reading, summary: "A notification in OneSignal's shape",
        query: [.init("app_id", "the app's id", .uuid, example: Example.app, isRequired: true)],
        answers: [
            .init(
                200, "remaining is 0 while nothing has been claimed.",
                .json(
                    .object(
                        [("id", .uuid), ("app_id", .uuid), ("name", .name), ("isIos", .bool), ("isAndroid", .bool)] + counts + [
                            ("remaining", .count), ("queued_at", .seconds), ("send_after", .seconds),
                            ("completed_at", .nullable(.seconds)), ("canceled", .bool),
                            (
                                "platform_delivery_stats",
                                .object([], optional: [("ios", .object(counts)), ("android", .object(counts))])
                            ), ("outcomes", .list(of: .anything)),
                        ])))
        ],
        errors: [
            ErrorExample("unknown", .notFound("Notification not found"), path: ["notification": Example.nothing]),
            .field("app_id", .notUUID, query: [("app_id", "mine")]),
            ErrorExample("other_app", .wrongApplication, query: [("app_id", Example.nothing)]),
        ])
}
