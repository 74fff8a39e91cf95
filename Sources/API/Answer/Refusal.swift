import Gateway

/// Why a request is not answered with what it asked for. One of these becomes one answer, in the shape of its route.
enum Refusal: Error, Equatable, Sendable {
    /// The body is no JSON object; the text says why.
    case invalidBody(String)
    /// These fields are wrong; never empty.
    case fields([FieldError])
    case unauthorized
    /// The token that says who the user is does not count, or is missing.
    case identity(IdentityProblem)
    /// Somebody who proved nothing names a user by this label.
    case unprovenName(String)
    /// A name of this label is not in the token that says who the user is.
    case uncoveredName(String)
    case wrongKeyKind(KeyKind)
    case wrongApplication
    /// A client of a platform that this wire is not served for.
    case unservedClient
    case noRoute
    case methodNotAllowed([String])
    /// What is asked for does not exist; the text says what.
    case notFound(String)
    /// Something of that name exists; the text says what.
    case conflict(String)
    case rateLimited(retryAfterSeconds: Int)
    /// What only MoEngage's wire knows.
    case broadcast(BroadcastProblem)
    /// Too much that was accepted waits to be sent.
    case overloaded(retryAfterSeconds: Int)
    /// Too many taps wait to be counted.
    case tooManyTaps(retryAfterSeconds: Int)
    /// Too many events of SDKs wait to be stored.
    case tooManyEvents(retryAfterSeconds: Int)
    /// Too many streams of events are open: of the app, or of the process.
    case tooManyStreamsOfApplication(retryAfterSeconds: Int)
    case tooManyStreams(retryAfterSeconds: Int)
    case storage(StorageError)

    var status: Int {
        switch self {
        case .invalidBody, .fields: 400
        case .unauthorized, .identity: 401
        case .wrongKeyKind, .wrongApplication, .unservedClient, .unprovenName, .uncoveredName: 403
        case .noRoute, .notFound: 404
        case .methodNotAllowed: 405
        case .conflict: 409
        case .rateLimited, .tooManyStreamsOfApplication: 429
        case .broadcast(let problem): problem.status
        case .storage(.refused): 500
        case .overloaded, .tooManyTaps, .tooManyEvents, .tooManyStreams, .storage(.unavailable): 503
        }
    }

    /// What is wrong, one text each; the first word is the field's name where a field is wrong.
    var messages: [String] {
        switch self {
        case .invalidBody(let reason): ["body: \(reason)"]
        case .fields(let errors): errors.map(\.description)
        case .unauthorized: ["A valid API key is required."]
        case .identity(let problem): ["The identity token \(problem.reason)."]
        case .unprovenName(let label):
            ["A user can be named by \(FieldError.shortened(label)) with a rest key or an identity token only."]
        case .uncoveredName(let label): ["The identity token does not vouch for the alias \(FieldError.shortened(label))."]
        case .wrongKeyKind(let kind): ["A key of kind \(kind.name) may not use this route."]
        case .wrongApplication: ["The key does not belong to this app."]
        case .unservedClient: ["OneSignal's SDK for Android is not served: Android devices register under /v1/devices."]
        case .noRoute: ["There is no such route."]
        case .methodNotAllowed(let methods): ["This route takes \(methods.joined(separator: ", "))."]
        case .notFound(let text), .conflict(let text): [text]
        case .rateLimited: ["API rate limit exceeded."]
        case .broadcast(let problem): [problem.message]
        case .overloaded: ["Too many starts of this app have not finished yet. Try again later."]
        case .tooManyTaps: ["Too many taps wait to be counted. Try again."]
        case .tooManyEvents: ["Too many events wait to be stored. Try again."]
        case .tooManyStreamsOfApplication: ["Too many streams of events of this app are open. Close some, or try again."]
        case .tooManyStreams: ["Too many streams of events are open. Try again."]
        case .storage(.unavailable): ["The service is temporarily unavailable. Try again."]
        case .storage(.refused): ["The server failed to do this."]
        }
    }

    /// What the refusal is called where errors are objects.
    var code: String {
        switch self {
        case .invalidBody, .fields: "invalid-request"
        case .unauthorized, .identity: "unauthorized"
        case .wrongKeyKind, .wrongApplication, .unservedClient, .unprovenName, .uncoveredName: "forbidden"
        case .noRoute, .notFound: "not-found"
        case .methodNotAllowed: "method-not-allowed"
        case .conflict: "conflict"
        case .rateLimited, .tooManyStreamsOfApplication: "rate-limited"
        case .broadcast(let problem): problem.code
        case .overloaded, .tooManyTaps, .tooManyEvents, .tooManyStreams, .storage(.unavailable): "unavailable"
        case .storage(.refused): "failed"
        }
    }

    /// The field that is at fault, when it is one that the request has a name for.
    var field: String? {
        guard case .fields(let errors) = self else { return nil }
        return errors.first?.field
    }

    /// Header fields that belong to the status.
    var headers: [(name: String, value: String)] {
        switch self {
        case .unauthorized: [("www-authenticate", "Key")]
        case .identity: [("www-authenticate", "Bearer")]
        case .methodNotAllowed(let methods): [("allow", methods.joined(separator: ", "))]
        case .rateLimited(let seconds), .overloaded(let seconds), .tooManyTaps(let seconds),
            .tooManyEvents(let seconds), .tooManyStreamsOfApplication(let seconds), .tooManyStreams(let seconds):
            [("retry-after", "\(seconds)")]
        case .broadcast(.noChannel): [("retry-after", "\(BroadcastProblem.channelRetrySeconds)")]
        case .storage(.unavailable): [("retry-after", "1")]
        default: []
        }
    }

    /// Several dialects say it.
    static let unknownSubscription = Refusal.notFound("There is no device of this subscription id.")

    /// Runs what needs the database; its errors become refusals.
    static func catching<Value>(
        _ operation: () async throws(StorageError) -> Value
    ) async throws(Refusal) -> Value {
        do throws(StorageError) {
            return try await operation()
        } catch {
            throw .storage(error)
        }
    }
}
