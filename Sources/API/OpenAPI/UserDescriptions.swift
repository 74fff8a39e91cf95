import Gateway

/// Users and subscriptions on OneSignal's wire. What a client says beyond these members is passed over.
enum UserDescriptions {
    static let fan = "fan-1"
    static let leavingFan = "fan-2"
    static let alias = "crm"

    private static let unproven = ErrorExample(
        "unproven_name", .unprovenName(DeviceProfile.externalIDLabel.text), key: KeyKind.client.name)
    private static let unknownUser = ErrorExample(
        "unknown_user", .notFound("There is no user of this name."), path: ["id": "nobody"])
    private static let unknownDevice = ErrorExample(
        "unknown_device", .unknownSubscription, path: ["subscription": Example.nothing])
    private static let crowd = ErrorExample("too_many_devices", .tooManyDevices, path: ["id": Example.crowd])
    private static let crowdDevice = ErrorExample(
        "too_many_devices", .tooManyDevices, path: ["subscription": Example.crowdDevice])
    /// Where a body could name the user of a token otherwise.
    private static func uncovered(_ label: String, body: String) -> ErrorExample {
        ErrorExample("uncovered_name", .uncoveredName(label), key: IdentityExample.fan, body: body)
    }
    private static let manyNames = (0..<AdmissionLimits.aliasCount + 2).map { #""label-\#($0)":"x""# }.joined(separator: ",")
    private static let manyTags = (0..<AdmissionLimits.tagCount).map { #""tag-\#($0)":"x""# }.joined(separator: ",")
    private static let tooManyNames = ErrorExample.field(
        "identity", .tooManyTogether(limit: AdmissionLimits.aliasCount), body: #"{"identity":{\#(manyNames)}}"#)
    private static let callingDevice = RouteDescription.QueryParameter(
        "OneSignal-Subscription-Id",
        "The device that the user is at: sessions and the times of activity are told to it. Without it, to the one that was active last.",
        .text, example: Example.device)
    private static let identityMember: (String, Schema) = ("identity", .map(of: .identifier))
    private static let identity = Schema.object([identityMember])
    private static let user = Schema.object([
        identityMember, ("properties", .named("UserProperties")), ("subscriptions", .list(of: .named("Subscription"))),
    ])
    private static let subscription = Schema.object([("subscription", .named("Subscription"))])

    private static let names = Schema.openObject([("identity", .map(of: .nullable(.identifier)))])
    private static let toldSubscription = Schema.openObject(
        [],
        optional: [
            ("type", .choice(UserRequests.subscriptionType)), ("id", .uuid), ("token", .token), ("enabled", .bool),
            ("notification_types", .anything), ("session_count", .count), ("session_time", .count),
            ("app_version", .identifier), ("device_os", .identifier), ("test_type", .integer),
        ])
    private static let toldProperties = Schema.openObject(
        [],
        optional: [
            ("tags", .map(of: .anything)), ("language", .text), ("timezone_id", .identifier), ("country", .text),
            ("first_active", .seconds), ("last_active", .seconds), ("lat", .number(-90...90)), ("long", .number(-180...180)),
        ])

    static let clientParameters = RouteDescription(
        area: .oneSignal, summary: "Read what OneSignal's SDK for iOS must know before it sends anything",
        answers: [.init(200, "Whether devices must prove their user.", .json(.object([("jwt_required", .bool)])))],
        errors: [ErrorExample("unknown_app", .unknownApplication, path: ["app": Example.nothing])])

    static let androidParameters = RouteDescription(
        area: .oneSignal, summary: "Tell OneSignal's SDK for Android that it is not served", answers: [],
        errors: [ErrorExample("not_served", .unservedClient)])

    static let create = RouteDescription(
        area: .oneSignal, summary: "Tell of a user and one of its devices", header: [callingDevice],
        body: .init(
            schema: .openObject(
                [],
                optional: [
                    ("identity", .map(of: .nullable(.identifier))), ("properties", toldProperties),
                    ("subscriptions", .list(of: toldSubscription, 0...1)),
                ]),
            examples: [
                .init(
                    "new", 201,
                    #"{"identity":{"external_id":"\#(leavingFan)"},"properties":{"tags":{"club":"home"},"language":"de"},"#
                        + #""subscriptions":[{"type":"iOSPush","token":"0badcafe01","enabled":true,"sdk":"050300"}]}"#),
                .init("known", 202, #"{"identity":{"external_id":"\#(fan)"},"properties":{"tags":{"visits":"4"}}}"#),
            ]),
        answers: [.init(201, "The device is new.", .json(user)), .init(202, "The device, or the user, is known.", .json(user))],
        errors: [
            ErrorExample(
                "no_device", .noSubscription, key: KeyKind.rest.name, body: #"{"identity":{"external_id":"nobody"}}"#),
            .field(
                "subscriptions[0].type", .notOneOf("\"iOSPush\""), body: #"{"subscriptions":[{"type":"Email","token":"ab"}]}"#),
            .field(
                "identity", .tooManyTogether(limit: AdmissionLimits.aliasCount),
                body: #"{"identity":{\#(manyNames)},"subscriptions":[{"type":"iOSPush","token":"0badcafe03"}]}"#),
            ErrorExample(
                "too_many_devices", .tooManyDevices, body: #"{"identity":{"external_id":"\#(Example.crowd)"}}"#),
            uncovered(
                DeviceProfile.externalIDLabel.text,
                body: #"{"identity":{"external_id":"nobody"},"subscriptions":[{"type":"iOSPush","token":"0badcafe03"}]}"#),
        ])

    static let read = RouteDescription(
        area: .oneSignal, summary: "Read a user", answers: [.init(200, "The user.", .json(user))],
        errors: [unknownUser, unproven, crowd])

    static let change = RouteDescription(
        area: .oneSignal, summary: "Change what is known of a user's devices", header: [callingDevice],
        body: .init(
            schema: .openObject(
                [],
                optional: [
                    ("properties", toldProperties),
                    ("deltas", .openObject([], optional: [("session_count", .count), ("session_time", .count)])),
                ]),
            examples: [
                .init("session", 202, #"{"properties":{"tags":{"visits":"5"}},"deltas":{"session_count":1,"session_time":60}}"#)
            ]),
        answers: [.init(202, "It is changed.", .json(.object([("properties", .named("UserProperties"))])))],
        errors: [
            unknownUser, unproven, crowd, .field("properties.lat", .requires("long"), body: #"{"properties":{"lat":1}}"#),
            .field(
                "tags", .tooManyTogether(limit: AdmissionLimits.tagCount), body: #"{"properties":{"tags":{\#(manyTags)}}}"#),
        ])

    static let remove = RouteDescription(
        area: .oneSignal, summary: "Remove a user's devices", answers: [.init(200, "They are gone.", .json(identity))],
        errors: [unknownUser, unproven, crowd])

    static let readIdentity = RouteDescription(
        area: .oneSignal, summary: "Read a user's names", answers: [.init(200, "The names.", .json(identity))],
        errors: [unknownUser, unproven, crowd])

    static let changeIdentity = RouteDescription(
        area: .oneSignal, summary: "Add to a user's names", body: .init(schema: names, examples: [.init("alias", 200, crm)]),
        answers: [.init(200, "The names it has now.", .json(identity))],
        errors: [
            unknownUser, unproven, crowd, tooManyNames, uncovered(alias, body: crm),
            .field(
                "identity.onesignal_id", .notAllowed("in answers: the gateway gives it"),
                body: #"{"identity":{"onesignal_id":"x"}}"#),
        ])
    private static let crm = #"{"identity":{"\#(alias)":"4711"}}"#

    static let removeAlias = RouteDescription(
        area: .oneSignal, summary: "Take a name away", answers: [.init(200, "The names it has now.", .json(identity))],
        errors: [
            unknownUser, unproven, crowd,
            ErrorExample(
                "unknown_alias", .notFound("The user has no alias of this label."), path: ["alias": "other"]),
        ])

    static let addSubscription = RouteDescription(
        area: .oneSignal, summary: "Give a user a device",
        body: .init(
            schema: .openObject([("subscription", toldSubscription)]),
            examples: [.init("new", 201, #"{"subscription":{"type":"iOSPush","token":"0badcafe02"}}"#)]),
        answers: [
            .init(201, "The device is new.", .json(subscription)), .init(202, "The device is known.", .json(subscription)),
        ],
        errors: [unknownUser, unproven, crowd, .field("subscription", .missing, body: "{}")])

    static let changeSubscription = RouteDescription(
        area: .oneSignal, summary: "Tell what changed of a device",
        body: .init(
            schema: .openObject([("subscription", toldSubscription)]),
            examples: [.init("version", 202, #"{"subscription":{"app_version":"4.3","enabled":true}}"#)]),
        answers: [.init(202, "It is changed.", .json(subscription))],
        errors: [
            unknownDevice,
            .field("subscription.enabled", .wrongKind(expected: "true or false"), body: #"{"subscription":{"enabled":1}}"#),
        ])

    static let removeSubscription = RouteDescription(
        area: .oneSignal, summary: "Remove a device with everything it told",
        answers: [.init(200, "It is gone.", .json(.object([])))], errors: [unknownDevice])

    static let moveSubscription = RouteDescription(
        area: .oneSignal, summary: "Give a device to another user",
        body: .init(
            schema: .openObject([("identity", .map(of: .identifier))]),
            examples: [.init("owner", 202, #"{"identity":{"external_id":"\#(fan)"}}"#)]),
        answers: [.init(202, "The names it has now.", .json(identity))],
        errors: [
            unknownDevice,
            ErrorExample(
                "too_many_devices", .tooManyDevices, body: #"{"identity":{"onesignal_id":"\#(Example.crowd)"}}"#),
            uncovered(DeviceProfile.externalIDLabel.text, body: #"{"identity":{"external_id":"nobody"}}"#),
            .field("identity", .wrongKind(expected: "an object with one label"), body: #"{"identity":{"a":"1","b":"2"}}"#),
        ])

    static let readSubscriptionIdentity = RouteDescription(
        area: .oneSignal, summary: "Read the names of a device's user", answers: [.init(200, "The names.", .json(identity))],
        errors: [unknownDevice, crowdDevice])

    static let changeSubscriptionIdentity = RouteDescription(
        area: .oneSignal, summary: "Add to the names of a device's user",
        body: .init(schema: names, examples: [.init("alias", 200, crm)]),
        answers: [.init(200, "The names it has now.", .json(identity))],
        errors: [
            unknownDevice, crowdDevice, tooManyNames, uncovered(alias, body: crm),
            .field("identity", .empty, body: #"{"identity":{}}"#),
        ])

    /// What a user's devices say together. What nobody has told is left out.
    static let properties = Schema.object(
        [("tags", .map(of: .text))],
        optional: [
            ("language", .text), ("timezone_id", .text), ("country", .text), ("first_active", .seconds),
            ("last_active", .seconds), ("lat", .number(-90...90)), ("long", .number(-180...180)),
        ])
    /// A device. The token is there where the caller has just told it.
    static let device = Schema.object(
        [
            ("id", .uuid), ("app_id", .uuid), ("type", .choice(UserRequests.subscriptionType)), ("enabled", .bool),
            ("session_count", .count),
        ], optional: [("token", .token), ("app_version", .text), ("device_os", .text), ("test_type", .literals("1"))])
}
