package import Gateway
import HTTP

/// What an answer of FCM means: for the push, and for everything around it.
package struct FCMVerdict: Hashable, Sendable {
    /// What an answer demands beyond the outcome of its push.
    package enum Consequence: Hashable, Sendable {
        case nothing
        /// The access token is refused: a new one, and the push once more before the outcome counts.
        case renewAccessToken
        /// The app's set-up is wrong: refusals without an acceptance between them hold its pushes back.
        case countApplicationRefusal
        /// The project's quota is used up: the sender slows down.
        case slowDown
        /// A quota is used up, and it is not said whether the project's or only the device's: several such slow the sender down.
        case countQuotaRefusal
    }

    /// What became of the push, unless the consequence sends it once more.
    package let outcome: PushOutcome
    /// What else is to be done.
    package let consequence: Consequence

    init(_ outcome: PushOutcome, _ consequence: Consequence = .nothing) {
        self.outcome = outcome
        self.consequence = consequence
    }
}

/// Tells what each answer of FCM means.
///
/// `errorCode` is looked at first, then `error.status`, then the status: what `error.status` holds differs between Google's own documents.
/// Source: Firebase, "ErrorCode" and "Scale FCM messages".
package enum FCMResponseClass {
    /// Shortest wait before a message that FCM could not take is sent again. Source: Google, 10 s.
    package static let serverErrorDelayMilliseconds: Int64 = 10_000
    /// Wait after a quota is used up when FCM names none. Source: Google, 60 s.
    package static let quotaDelayMilliseconds: Int64 = 60_000
    /// Shortest wait while FCM refuses the access token.
    package static let tokenRefusedDelayMilliseconds: Int64 = 60_000

    /// Judges one answer.
    ///
    /// - Parameter wallSeconds: seconds since 1970, to read a `retry-after` that is a date.
    package static func verdict(on answer: FCMAnswer, wallSeconds: Int64) -> FCMVerdict {
        if answer.status == 200 { return FCMVerdict(.accepted) }
        let asked = answer.retryAfter.flatMap { RetryAfter.milliseconds($0, wallSeconds: wallSeconds) }
        let serverDelay = max(asked ?? 0, serverErrorDelayMilliseconds)
        switch name(of: answer) {
        case "INVALID_ARGUMENT": return invalidArgument(answer)
        case "UNREGISTERED": return FCMVerdict(.tokenDead(.fcmUnregistered, since: nil))
        case "SENDER_ID_MISMATCH": return FCMVerdict(.tokenDead(.fcmSenderIDMismatch, since: nil))
        case "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED":
            return FCMVerdict(
                .deferred(.fcmQuotaExceeded, delayMilliseconds: asked ?? quotaDelayMilliseconds), quotaConsequence(answer))
        case "INTERNAL": return FCMVerdict(.deferred(.fcmInternal, delayMilliseconds: serverDelay))
        case "UNAVAILABLE": return FCMVerdict(.deferred(.fcmUnavailable, delayMilliseconds: serverDelay))
        case "THIRD_PARTY_AUTH_ERROR": return FCMVerdict(.rejected(.fcmThirdPartyAuthError), .countApplicationRefusal)
        case "UNAUTHENTICATED":
            return FCMVerdict(
                .deferred(.fcmUnauthenticated, delayMilliseconds: tokenRefusedDelayMilliseconds), .renewAccessToken)
        case "PERMISSION_DENIED": return FCMVerdict(.rejected(.fcmPermissionDenied), .countApplicationRefusal)
        case "UNSPECIFIED_ERROR" where answer.status < 500: return FCMVerdict(.rejected(.fcmUnspecifiedError))
        case "UNSPECIFIED_ERROR": return FCMVerdict(.deferred(.fcmUnspecifiedError, delayMilliseconds: serverDelay))
        // The project, not a device: a token that is gone comes with its errorCode.
        case "NOT_FOUND": return FCMVerdict(.rejected(.otherClientError), .countApplicationRefusal)
        default:
            return answer.status < 500
                ? FCMVerdict(.rejected(.otherClientError))
                : FCMVerdict(.deferred(.otherServerError, delayMilliseconds: serverDelay))
        }
    }

    // Google's documents name quotas of a project, of a device and of a topic, and no fixed words for them.
    private static func quotaConsequence(_ answer: FCMAnswer) -> FCMVerdict.Consequence {
        guard !answer.exhaustedQuotas.isEmpty else { return .countQuotaRefusal }
        // A project may be called after devices.
        if answer.exhaustedQuotas.contains(where: { $0.hasPrefix("project:") }) { return .slowDown }
        if answer.exhaustedQuotas.contains(where: { $0.contains("device") || $0.contains("topic") }) { return .nothing }
        return answer.exhaustedQuotas.contains { $0.contains("project") } ? .slowDown : .countQuotaRefusal
    }

    private static func name(of answer: FCMAnswer) -> String {
        if let errorCode = answer.errorCode { return errorCode }
        let byStatus =
            switch answer.status {
            case 400: "INVALID_ARGUMENT"
            case 401: "UNAUTHENTICATED"
            case 403: "PERMISSION_DENIED"
            case 404: "NOT_FOUND"
            case 429: "QUOTA_EXCEEDED"
            case 500: "INTERNAL"
            case 503: "UNAVAILABLE"
            default: ""
            }
        guard byStatus.isEmpty, let errorStatus = answer.errorStatus else {
            // `error.status` may hold what belongs into `errorCode`.
            let codes = ["UNREGISTERED", "SENDER_ID_MISMATCH", "THIRD_PARTY_AUTH_ERROR"]
            return answer.errorStatus.flatMap { codes.contains($0) ? $0 : nil } ?? byStatus
        }
        return errorStatus
    }

    /// FCM says the same of a bad token and of a bad message. Only an answer that names the token, and nothing else, condemns it.
    private static func invalidArgument(_ answer: FCMAnswer) -> FCMVerdict {
        let words = answer.message.lowercased()
        if words.contains("too big") || words.contains("too large") { return FCMVerdict(.rejected(.fcmMessageTooLarge)) }
        let namesToken =
            answer.violatedFields.isEmpty
            ? words.contains("registration token") : answer.violatedFields.allSatisfy { $0 == "message.token" }
        return FCMVerdict(namesToken ? .tokenDead(.fcmInvalidArgument, since: nil) : .rejected(.fcmInvalidArgument))
    }
}
