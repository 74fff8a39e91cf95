import Gateway

/// What the OpenAPI description says of a route, beyond what follows from the route itself: method, path, keys and the shape of errors.
struct RouteDescription: Sendable {
    /// The part of the API it belongs to; a tag of the description.
    enum Area: String, CaseIterable, Sendable {
        case backend = "Backend"
        case segments = "Segments"
        case devices = "Devices"
        case oneSignal = "Devices on OneSignal's wire"
        case customerIODevices = "Devices on Customer.io's wire"
        case reading = "Reading"
        case customerIO = "Customer.io"
        case moEngage = "MoEngage"
        case operations = "Operations"
    }

    let area: Area
    let summary: String
    var query: [QueryParameter] = []
    /// Fields of the header beside those of keys.
    var header: [QueryParameter] = []
    var body: Body?
    let answers: [Answer]
    /// Errors that a test provokes, beside those that all routes of its kind have.
    var errors: [ErrorExample] = []

    /// A parameter of the query, or a field of the header; required where `isRequired` says so.
    struct QueryParameter: Sendable {
        let name: String
        let text: String
        let schema: Schema
        let example: String
        var isRequired = false

        init(_ name: String, _ text: String, _ schema: Schema, example: String, isRequired: Bool = false) {
            (self.name, self.text, self.schema, self.example, self.isRequired) = (name, text, schema, example, isRequired)
        }
    }

    /// The body of a request, with examples that work.
    struct Body: Sendable {
        let schema: Schema
        let examples: [Example]

        /// A body, and the status it is answered with. `path` names other values than the usual ones of the path's parameters.
        struct Example: Sendable {
            let name: String
            let status: Int
            let json: String
            let path: [String: String]

            init(_ name: String, _ status: Int, _ json: String, path: [String: String] = [:]) {
                (self.name, self.status, self.json, self.path) = (name, status, json, path)
            }
        }
    }

    /// A successful answer.
    struct Answer: Sendable {
        enum Content: Sendable {
            case none
            case json(Schema)
            /// Server-sent events; the schema is that of their data.
            case events(Schema)
            case plainText
        }

        let status: Int
        let text: String
        let content: Content

        init(_ status: Int, _ text: String, _ content: Content) {
            (self.status, self.text, self.content) = (status, text, content)
        }
    }
}

/// A refusal, and how to provoke it: what to change of a request that works.
struct ErrorExample: Sendable {
    let name: String
    let refusal: Refusal
    /// The key's kind; `none` for no key, and those of `IdentityExample`.
    let key: String?
    let path: [String: String]
    let query: [(name: String, value: String)]
    let body: String?
    /// How often the request must be made, of an app that made none before: the last answer counts.
    let times: Int

    init(
        _ name: String, _ refusal: Refusal, key: String? = nil, path: [String: String] = [:],
        query: [(name: String, value: String)] = [], body: String? = nil, times: Int = 1
    ) {
        (self.name, self.refusal, self.key, self.path) = (name, refusal, key, path)
        (self.query, self.body, self.times) = (query, body, times)
    }

    /// A field of the body or the query that is wrong.
    static func field(
        _ field: String, _ problem: FieldProblem, path: [String: String] = [:], query: [(name: String, value: String)] = [],
        body: String? = nil
    ) -> ErrorExample {
        ErrorExample(
            "wrong_\(field)", .fields([FieldError(field: field, problem: problem)]), path: path, query: query, body: body)
    }
}

/// What an example sends beside a `client` key: a token of who the user is.
enum IdentityExample {
    /// One of the app's backend, for `UserDescriptions.fan`.
    static let fan = "identity"
    /// One that is none.
    static let malformed = "malformed_identity"
}

/// Values that stand in the examples of the description. A test puts its own in the place of the first three.
enum Example {
    static let app = "4ea889b1-91a4-4447-adfd-cb450fb04089"
    static let notification = "a959fd4a-c84d-41a6-b459-caba9d63646d"
    static let device = "21e84665-2e6b-4fa3-9b21-f71b003f7e1f"
    static let segment = "7858c27f-7728-405e-a69d-ad066c0ab37f"
    static let appSegment = "dd3869bc-f0d6-4171-9de0-5ed873e6f005"
    /// A name that more devices have than one user can, as `external_id`, and one of these devices; that has the name as `onesignal_id` too.
    static let crowd = "crowd"
    static let crowdDevice = "c0de0000-0000-4000-8000-000000000000"
    /// No thing of any kind has it.
    static let nothing = "00000000-0000-4000-8000-000000000000"
    /// Live notifications: one that runs, one to be ended, one that has ended, and none. A test puts its own in the place of the first three.
    static let instance = "01JZ6Q8W3N4T5V6X7Y8Z9A0B1C"
    static let endingInstance = "01JZ6Q8W3N4T5V6X7Y8Z9A0B2D"
    static let endedInstance = "01JZ6Q8W3N4T5V6X7Y8Z9A0B3E"
    static let noInstance = "00000000000000000000000000"
    static let activityType = "MatchAttributes"
    /// It runs on the device; the others: one to be ended, one the device ends, one that has ended, one no device shows yet, and one
    /// the device has ended.
    static let activity = "match-1"
    static let endingActivity = "match-2"
    static let leavingActivity = "match-3"
    static let endedActivity = "match-4"
    static let unseenActivity = "match-5"
    static let leftActivity = "match-6"
    /// It has a broadcast channel.
    static let broadcastActivity = "match-10"
    static let pushToken = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    static let startToken = "80a2c1b4e5d6f70812233445566778899aabbccddeeff00112233445566778899aab"
    static let updateToken = "80b2c1b4e5d6f70812233445566778899aabbccddeeff00112233445566778899aab"
    /// Of the activity that the device has ended.
    static let leftToken = "80c2c1b4e5d6f70812233445566778899aabbccddeeff00112233445566778899aab"
    /// No device is registered under it.
    static let unknownToken = "00ff"
}
