import Gateway

/// Broadcast channels, as devices and dashboards see them.
enum ChannelDescriptions {
    static let channel: [(String, Schema)] = [
        ("environment", .choice(PushEnvironment.allCases.map(\.name))), ("channel_id", .text),
        ("storage", .choice("most_recent", "nothing")),
    ]

    private static let device = #"{"push_token":"\#(Example.pushToken)"}"#

    static let join = RouteDescription(
        area: .devices, summary: "Be told the broadcast channel of a running activity, to be on it from now on",
        body: .init(
            schema: .object([("push_token", .deviceToken)]),
            examples: [.init("join", 200, device, path: ["activity": Example.broadcastActivity])]),
        answers: [
            .init(
                200, "The channel in the device's environment, for the app to start the activity on.",
                .json(
                    .object(channel + [("started_at", .seconds), ("updates_until", .seconds), ("end_until", .seconds)])))
        ],
        errors: [
            .field("push_token", .missing, body: "{}"),
            ErrorExample("unknown_device", .unknownDevice, body: #"{"push_token":"\#(Example.unknownToken)"}"#),
            ErrorExample("unknown", .unknownActivity, path: ["activity": "none"]),
            ErrorExample("ended", .endedActivity, path: ["activity": Example.endedActivity]),
            ErrorExample("no_channel", .withoutChannel, path: ["activity": Example.activity]),
        ])
}
