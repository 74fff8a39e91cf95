import Gateway

/// Tokens of Live Activities, receipts and taps on OneSignal's wire.
enum LiveActivityDescriptions {
    /// A type that the other examples do not use.
    static let activityType = "ScoreAttributes"

    private static let unknownDevice = ErrorExample(
        "unknown_device", .unknownSubscription, path: ["subscription": Example.nothing])
    private static let done = Schema.object([("success", .bool)])
    private static let deviceType: (String, Schema) = ("device_type", .literals("0"))

    static let setTypeToken = RouteDescription(
        area: .oneSignal, summary: "Keep the push-to-start token of a device for a type of activity",
        body: .init(
            schema: .openObject([("activity_token", .token)], optional: [deviceType]),
            examples: [.init("token", 200, #"{"activity_token":"80d2c1b4e5d6f708","device_type":0}"#)]),
        answers: [.init(200, "It is kept.", .json(done))],
        errors: [unknownDevice, .field("activity_token", .missing, body: "{}")])

    static let removeTypeToken = RouteDescription(
        area: .oneSignal, summary: "Forget a push-to-start token", answers: [.init(200, "It is gone.", .json(done))],
        errors: [
            ErrorExample(
                "no_token", .notFound("The device has no start token for this activity type."), path: ["type": "none"])
        ])

    private static func activityToken(_ device: String, _ token: String = Example.updateToken) -> String {
        #"{"subscription_id":"\#(device)","push_token":"\#(token)","device_type":0}"#
    }

    private static func setActivityToken(_ summary: String, errors: [ErrorExample]) -> RouteDescription {
        RouteDescription(
            area: .oneSignal, summary: summary,
            body: .init(
                schema: .openObject([("subscription_id", .uuid), ("push_token", .token)], optional: [deviceType]),
                examples: [.init("token", 200, activityToken(Example.device))]),
            answers: [.init(200, "It is kept.", .json(done))],
            errors: errors + [
                ErrorExample("unknown_device", .unknownSubscription, body: activityToken(Example.nothing)),
                ErrorExample(
                    "ended_on_device", .conflict("The device has reported the end of this activity."),
                    path: ["activity": Example.leftActivity], body: activityToken(Example.device, Example.leftToken)),
                .field("subscription_id", .missing, body: #"{"push_token":"ab"}"#),
            ])
    }

    static let setActivityToken = setActivityToken("Keep the update token of an activity that a device shows", errors: [])

    static let setUserActivityToken = setActivityToken(
        "Keep the update token of an activity that a user's device shows",
        errors: [
            ErrorExample(
                "unproven_name", .unprovenName(DeviceProfile.externalIDLabel.text), key: KeyKind.client.name)
        ])

    static let removeActivityToken = RouteDescription(
        area: .oneSignal, summary: "Tell that an activity is over on a device",
        answers: [.init(200, "It is not pushed there any more.", .json(done))],
        errors: [
            ErrorExample("unknown_activity", .notFound("The device holds no activity of this id."), path: ["activity": "none"])
        ])

    private static func report(app: String = Example.app, device: String = Example.device, more: String = "") -> String {
        #"{"app_id":"\#(app)","player_id":"\#(device)","device_type":0,"live_activity_id":"\#(Example.activity)"\#(more)}"#
    }
    private static let click = #","click_id":"6f0f3d5e-7d9c-4c1b-8a4b-1d2e3f405162""#
    private static let reported: [(String, Schema)] = [("app_id", .uuid), ("player_id", .uuid)]
    private static let activity: (String, Schema) = ("live_activity_id", .identifier)
    private static let type: (String, Schema) = ("live_activity_type", .identifier)

    static let confirmReceipt = RouteDescription(
        area: .oneSignal, summary: "Tell that a push arrived",
        body: .init(
            schema: .openObject(reported + [activity], optional: [deviceType, type]),
            examples: [.init("receipt", 200, report())]),
        answers: [.init(200, "It is counted, once for this device.", .json(done))],
        errors: [
            ErrorExample("unknown_device", .unknownSubscription, body: report(device: Example.nothing)),
            ErrorExample("wrong_app", .wrongApplication, body: report(app: Example.nothing)),
            ErrorExample(
                "nothing_delivered", .notFound("No push of this activity was delivered to the device."),
                path: ["notification": Example.nothing], body: report()),
        ])

    static let reportClick = RouteDescription(
        area: .oneSignal, summary: "Count a tap on an activity, once under its id",
        body: .init(
            schema: .openObject(
                reported + [("click_id", .uuid)],
                optional: [deviceType, activity, type, ("notificationId", .uuid), ("timestamp", .anything)]),
            examples: [
                .init("latest_push", 200, report(more: click)),
                .init("certain_push", 200, report(more: click + #","notificationId":"\#(Example.notification)""#)),
            ]),
        answers: [
            .init(200, "It is counted for this notification.", .json(.object([("success", .bool), ("notification_id", .uuid)])))
        ],
        errors: [
            .field("click_id", .missing, body: report()),
            .field("live_activity_id", .notOneOf("that of the path"), path: ["activity": "other"], body: report(more: click)),
        ])
}
