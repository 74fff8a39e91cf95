import Gateway

/// What devices tell.
enum DeviceDescriptions {
    private static let unknownDevice = Refusal.notFound("No device is registered under this push token.")
    private static let device = #""push_token":"\#(Example.pushToken)""#
    private static let stranger = #""push_token":"\#(Example.unknownToken)""#
    /// So many members that the device does not have yet.
    private static func entries(_ count: Int) -> String {
        (0..<count).map { #""more-\#($0)":"x""# }.joined(separator: ",")
    }
    static let platform = Schema.choice(DevicePlatform.allCases.map(\.name))
    private static let window: [(String, Schema)] = [
        ("started_at", .seconds), ("updates_until", .seconds), ("end_until", .seconds),
    ]

    static let register = RouteDescription(
        area: .devices, summary: "Register a device, or tell what changed of it",
        body: .init(
            schema: .object(
                [("push_token", .deviceToken), ("platform", platform)],
                optional: [
                    ("environment", .choice(PushEnvironment.allCases.map(\.name))), ("external_id", .nullable(.identifier)),
                    ("aliases", .map(of: .nullable(.identifier))), ("tags", .map(of: .anything)), ("language", .text),
                    ("country", .text), ("app_version", .identifier), ("os_version", .identifier), ("timezone", .identifier),
                    ("session_count", .count), ("session_time", .count), ("lat", .latitude), ("long", .longitude),
                    ("first_session", .seconds), ("last_session", .seconds),
                ]),
            examples: [
                .init("new", 201, #"{"push_token":"0badcafe","platform":"ios","environment":"sandbox"}"#),
                .init("android", 201, #"{"push_token":"dGhlIGFwcA:APA91bExample","platform":"android","external_id":"fan-1"}"#),
                .init(
                    "known", 200,
                    "{\(device)"
                        + #","platform":"ios","external_id":"fan-1","aliases":{"crm":"4711"},"#
                        + #""tags":{"club":"home","visits":3,"former_club":null},"language":"de","country":"AT","lat":48.21,"long":16.37,"session_time":3600,"#
                        + #""app_version":"4.2","timezone":"Europe/Vienna"}"#),
                .init("log_out", 200, #"{"push_token":"0badcafe","platform":"ios","external_id":null}"#),
            ]),
        answers: [
            .init(201, "The push token is new.", .json(.object([("subscription_id", .uuid)]))),
            .init(200, "The push token is known; what was not named stays.", .json(.object([("subscription_id", .uuid)]))),
        ],
        errors: [
            .field("push_token", .notHexadecimal, body: #"{"push_token":"abc","platform":"ios"}"#),
            .field("lat", .requires("long"), body: #"{"push_token":"0badcafe","platform":"ios","lat":48.2}"#),
            .field(
                "tags", .tooManyTogether(limit: AdmissionLimits.tagCount),
                body: "{\(device)" + #","platform":"ios","tags":{\#(entries(AdmissionLimits.tagCount))}}"#),
            .field(
                "aliases", .tooManyTogether(limit: AdmissionLimits.aliasCount),
                body: "{\(device)" + #","platform":"ios","aliases":{\#(entries(AdmissionLimits.aliasCount))}}"#),
            ErrorExample(
                "uncovered_name", .uncoveredName(DeviceProfile.externalIDLabel.text), key: IdentityExample.fan,
                body: "{\(device)" + #","platform":"ios","external_id":"nobody"}"#),
        ])

    static let setStartToken = RouteDescription(
        area: .devices, summary: "Keep the push-to-start token of a device for a type of activity",
        body: .init(
            schema: .object(
                [("push_token", .deviceToken), ("activity_type", .identifier), ("token", .deviceToken)],
                optional: [("platform", platform)]),
            examples: [
                .init(
                    "token", 200, "{\(device)" + #","activity_type":"MatchAttributes","token":"\#(Example.startToken)"}"#)
            ]), answers: [.init(200, "It is kept.", .json(.object([("activity_type", .identifier)])))],
        errors: [
            .field("token", .missing, body: "{\(device)" + #","activity_type":"MatchAttributes"}"#),
            ErrorExample(
                "unknown_device", unknownDevice,
                body: "{\(stranger)" + #","activity_type":"MatchAttributes","token":"\#(Example.startToken)"}"#),
        ])

    static let removeStartToken = RouteDescription(
        area: .devices, summary: "Forget a push-to-start token",
        body: .init(
            schema: .object(
                [("push_token", .deviceToken), ("activity_type", .identifier)], optional: [("platform", platform)]),
            examples: [.init("token", 204, "{\(device)" + #","activity_type":"MatchAttributes"}"#)]),
        answers: [.init(204, "It is gone.", .none)],
        errors: [
            ErrorExample(
                "no_token", .notFound("The device has no start token for this activity type."),
                body: "{\(device)" + #","activity_type":"OtherAttributes"}"#)
        ])

    private static func updateToken(_ activity: String, of device: String, token: String = Example.updateToken) -> String {
        "{\(device)" + #","activity_id":"\#(activity)","token":"\#(token)","activity_type":"MatchAttributes"}"#
    }

    static let setUpdateToken = RouteDescription(
        area: .devices, summary: "Keep the update token of an activity that a device shows",
        body: .init(
            schema: .object(
                [("push_token", .deviceToken), ("activity_id", .identifier), ("token", .deviceToken)],
                optional: [("platform", platform), ("activity_type", .identifier), ("started_at", .seconds)]),
            examples: [.init("token", 200, updateToken(Example.activity, of: device))]),
        answers: [.init(200, "It is kept; iOS takes pushes in this time.", .json(.object(window)))],
        errors: [
            .field("activity_id", .slash, body: updateToken("match/1", of: device)),
            ErrorExample("unknown_device", unknownDevice, body: updateToken(Example.activity, of: stranger)),
            ErrorExample(
                "ended_on_device", .conflict("The device has reported the end of this activity."),
                body: updateToken(Example.leftActivity, of: device, token: Example.leftToken)),
        ])

    static let recordClick = RouteDescription(
        area: .devices, summary: "Count a tap on an activity",
        body: .init(
            schema: .object(
                [("push_token", .deviceToken), ("activity_id", .identifier)],
                optional: [("platform", platform), ("notification_id", .uuid)]),
            examples: [
                .init("latest_push", 200, "{\(device)" + #","activity_id":"\#(Example.activity)"}"#),
                .init(
                    "certain_push", 200,
                    "{\(device)" + #","activity_id":"\#(Example.activity)","notification_id":"\#(Example.notification)"}"#),
            ]),
        answers: [.init(200, "It is counted for this notification.", .json(.object([("notification_id", .uuid)])))],
        errors: [
            .field(
                "notification_id", .notUUID,
                body: "{\(device)" + #","activity_id":"\#(Example.activity)","notification_id":"1"}"#),
            ErrorExample("unknown_device", unknownDevice, body: "{\(stranger)" + #","activity_id":"\#(Example.activity)"}"#),
            ErrorExample(
                "nothing_delivered", .notFound("No push of this activity was delivered to the device."),
                body: "{\(device)" + #","activity_id":"none"}"#),
        ])

    static let endActivity = RouteDescription(
        area: .devices, summary: "Tell that an activity is over on a device",
        body: .init(
            schema: .object(
                [("push_token", .deviceToken), ("activity_id", .identifier)], optional: [("platform", platform)]),
            examples: [.init("over", 204, "{\(device)" + #","activity_id":"\#(Example.leavingActivity)"}"#)]),
        answers: [.init(204, "It is not pushed there any more.", .none)],
        errors: [
            .field("activity_id", .missing, body: "{\(device)}"),
            ErrorExample(
                "unknown_activity", .notFound("The device holds no activity of this id."),
                body: "{\(device)" + #","activity_id":"none"}"#),
        ])
}
