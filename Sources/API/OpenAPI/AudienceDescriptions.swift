import Gateway

/// Who would be reached.
enum AudienceDescriptions {
    private static let unreachable = Schema.object([
        ("no_token", .count), ("disabled", .count), ("wrong_environment", .count), ("token_removed", .count),
    ])

    static let preview = RouteDescription(
        area: .backend, summary: "Whom a start would reach, and what it would carry; nothing is sent",
        body: .init(
            schema: .object(
                [("activity_type", .identifier)],
                optional: [("event_attributes", .anyObject), ("event_updates", .anyObject), ("name", .name)]
                    + ActivityDescriptions.texts + ActivityDescriptions.delivery + ActivityDescriptions.targeting),
            examples: [
                .init("counts", 200, #"{"activity_type":"MatchAttributes","included_segments":["All"]}"#),
                .init(
                    "renders", 200,
                    #"{"activity_type":"MatchAttributes","include_aliases":{"external_id":["fan-1","nobody"]},"#
                        + #""event_attributes":{"home":"Lions"},"event_updates":{"home":0},"headings":{"en":"Kick-off"},"#
                        + #""contents":{"en":"Lions v Bears"}}"#),
            ]),
        answers: [
            .init(
                200, "Nothing is stored.",
                .json(
                    .object([
                        ("matched", .count), ("reachable", .count),
                        ("environments", .object([("production", .count), ("sandbox", .count)])),
                        ("fcm", .object([("android", .count), ("ios", .count)])),
                        ("unreachable", unreachable), ("unknown_entries", .count),
                        ("payload", .nullable(.anyObject)), ("payload_bytes", .nullable(.count)), ("payload_limit", .count),
                    ])))
        ],
        errors: [
            .field("activity_type", .missing, body: #"{"included_segments":["All"]}"#),
            .field(
                "event_attributes", .requires("event_updates"),
                body: #"{"activity_type":"MatchAttributes","included_segments":["All"],"event_attributes":{"home":"Lions"}}"#),
            .field(
                "filters[0]", .filter(.badValue("value", expected: "dotted numbers, such as 1.20.3")),
                body: #"{"activity_type":"MatchAttributes","filters":[{"field":"app_version","relation":">","value":"latest"}]}"#),
        ])

    static let countUnsaved = RouteDescription(
        area: .backend, summary: "How many devices a targeting matches, in OneSignal's shape",
        body: .init(
            schema: .object(
                [("app_id", .uuid)], optional: [("target_channel", .choice("push"))] + ActivityDescriptions.targeting),
            examples: [.init("everybody", 200, #"{"app_id":"\#(Example.app)","included_segments":["All"]}"#)]),
        answers: [
            .init(
                200, "Nothing is stored.",
                .json(
                    .object([
                        ("count", .count), ("uncapped_count", .nullable(.count)), ("cap_applied", .literals("false")),
                        ("mobile_suppressed", .literals("false")), ("mobile_excluded_count", .count),
                    ])))
        ],
        errors: [
            .field("app_id", .notUUID, body: #"{"app_id":"mine","included_segments":["All"]}"#),
            ErrorExample("other_app", .wrongApplication, body: #"{"app_id":"\#(Example.nothing)","included_segments":["All"]}"#),
        ])
}
