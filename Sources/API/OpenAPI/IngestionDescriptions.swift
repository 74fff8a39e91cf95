import Gateway

/// What Customer.io's SDKs send.
enum IngestionDescriptions {
    /// A test puts a key of its own in its place.
    static let writeKey = "op_client_key"
    private static let pushToken = "c10c10c10c10"
    private static let device =
        #""context":{"device":{"token":"\#(pushToken)","type":"ios"},"app":{"version":"4.2"},"timezone":"Europe/Vienna"}"#
    private static let start =
        #"{"type":"track","event":"Live Notification Token","messageId":"m-2","userId":"fan-9","properties":{"#
        + #""registrationType":"push_to_start","notificationType":"io.customer.livenotifications.segments","platform":"ios","#
        + #""deviceId":"\#(pushToken)","pushToStartToken":"c10c10c10c11","attributesType":"CIOSegmentsAttributes"}}"#
    private static let fan = #""userId":"fan-9","traits":{"email":"fan@example.com"},"# + device
    private static let identity = #"{"type":"identify","messageId":"m-1","# + fan + "}"
    private static let screen = #"{"type":"screen","name":"Match","anonymousId":"a-1","messageId":"m-3"}"#
    private static let delivery = "01JDZ6V1Y8W3V5N7QK9X2M4R6T"

    private static let taken = RouteDescription.Answer(
        200, "It is taken: what the gateway has a use for is stored, the rest is counted.",
        .json(.object([("success", .literals("true"))])))

    static let batch = RouteDescription(
        area: .customerIODevices, summary: "Take a batch of events, in clear or with Content-Encoding: gzip",
        body: .init(
            schema: .openObject(
                [("batch", .list(of: .openObject([("type", .text)]), 0...IngestionBody.eventCount))],
                optional: [("writeKey", .text), ("sentAt", .text)]),
            examples: [
                .init("events", 200, #"{"batch":[\#(identity),\#(start),\#(screen)],"sentAt":"2026-11-30T17:00:00.000Z"}"#),
                .init("none", 200, #"{"batch":[]}"#),
            ]),
        answers: [taken],
        errors: [
            ErrorExample("unknown_key", .unknownWriteKey, key: "none", body: #"{"batch":[],"writeKey":"nonsense"}"#),
            ErrorExample("read_key", .unknownWriteKey, key: "read"),
            .field("batch", .missing, body: "{}"),
        ])

    static let track = RouteDescription(
        area: .customerIODevices, summary: "Take one event",
        body: .init(
            schema: .openObject([("event", .text)], optional: [("userId", .text), ("properties", .anything)]),
            examples: [
                .init(
                    "delivered", 200,
                    #"{"anonymousId":"\#(delivery)","event":"Report Delivery Event","#
                        + #""properties":{"metric":"delivered","deliveryId":"\#(delivery)","recipient":"\#(delivery)"}}"#)
            ]),
        answers: [taken])

    static let identify = RouteDescription(
        area: .customerIODevices, summary: "Tell who uses a device",
        body: .init(
            schema: .openObject([("userId", .text)], optional: [("traits", .anything), ("context", .anything)]),
            examples: [.init("fan", 200, "{\(fan)}")]),
        answers: [taken])

    private static let none = Schema.object([])
    static let settings = RouteDescription(
        area: .customerIODevices, summary: "What an SDK asks for when its app starts",
        answers: [
            .init(
                200, "The key is in force.",
                .json(
                    .object([
                        ("integrations", .object([(IngestionRoutes.destination, .object([("apiKey", .text)]))])),
                        ("plan", none), ("edgeFunction", none),
                    ])))
        ],
        errors: [ErrorExample("unknown_key", .unknownProject, path: ["write_key": "nonsense"])])
}
