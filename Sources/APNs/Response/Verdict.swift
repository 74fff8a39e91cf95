package import Gateway

/// What an answer of APNs means: for the push, and for everything around it.
package struct Verdict: Hashable, Sendable {
    /// What became of the push, unless the consequence sends it once more.
    package let outcome: PushOutcome
    /// What else is to be done.
    package let consequence: Consequence

    /// Why APNs takes no pushes at all now; nil for an answer that judges this push, or its app or token.
    var turnedAway: DeliveryReason? {
        guard case .deferred(let reason, _) = outcome else { return nil }
        switch reason {
        case .serviceUnavailable, .shutdown, .internalServerError, .otherServerError, .tooManyProviderTokenUpdates: return reason
        default: return nil
        }
    }

    init(_ outcome: PushOutcome, _ consequence: Consequence = .nothing) {
        self.outcome = outcome
        self.consequence = consequence
    }
}

/// What an answer demands beyond the outcome of its push.
package enum Consequence: Hashable, Sendable {
    case nothing
    /// The connection takes no further pushes and is closed once its last answer is in.
    case replaceConnection
    /// As `replaceConnection`; and the push itself is sent once more on another connection before the outcome counts.
    case resendElsewhere
    /// The provider token is too old: a new one, a new connection, and the push once more.
    case renewProviderToken
    /// The provider token was refused for another reason; refusals without an acceptance between them hold the key back.
    case countTokenRefusal
    /// The provider token changed too often: the key is held back, its token stays, and the connection takes no further pushes.
    case holdProviderToken
    /// The app's set-up is wrong: refusals without an acceptance between them hold its pushes back.
    case countApplicationRefusal
}

/// One answer of APNs.
package struct PushResponse: Sendable {
    /// The value of `:status`.
    package let status: Int
    /// `reason` of the body; nil when the body has none.
    package let reason: String?
    /// `timestamp` of the body of a 410.
    package let timestamp: UnixMilliseconds?
    /// The value of `retry-after`; nil when there is none.
    package let retryAfter: String?

    /// Puts an answer together.
    package init(status: Int, reason: String?, timestamp: UnixMilliseconds? = nil, retryAfter: String? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }
}
