import Gateway
import HTTP

/// Tells what each answer of APNs means.
///
/// Sources: Apple, "Handling notification responses from APNs", and "Handling error responses from APNs" for broadcasts. A reason this version does not know is judged by its status.
package enum ResponseClass {
    /// Shortest wait before a push that APNs answered with 5xx is sent again; it grows with each try (docs/decisions/0010).
    package static let serverErrorDelayMilliseconds: Int64 = 5_000
    /// Shortest wait after "too many requests" to one device. Source: Apple engineers advise at most one update a second.
    package static let tooManyRequestsDelayMilliseconds: Int64 = 5_000
    /// Shortest wait while APNs refuses the provider token; one probe is sent in this time.
    package static let tokenRefusedDelayMilliseconds: Int64 = 60_000
    /// Shortest wait for a push that only needs another connection.
    package static let elsewhereDelayMilliseconds: Int64 = 1_000

    /// Judges one answer.
    ///
    /// - Parameter wallSeconds: seconds since 1970, to read a `retry-after` that is a date.
    package static func verdict(on response: PushResponse, wallSeconds: Int64) -> Verdict {
        if response.status == 200 { return Verdict(.accepted) }
        let delays = Delays(response: response, wallSeconds: wallSeconds)
        guard let reason = response.reason.flatMap(knownReason(named:)) else {
            return verdict(byStatus: response, delays: delays)
        }
        return verdict(by: reason, response: response, delays: delays)
    }

    /// Apple's reasons only, in each spelling that was seen.
    private static func knownReason(named name: String) -> DeliveryReason? {
        switch name {
        case "BadEnvironmentKeyIdInToken": .badEnvironmentKeyInToken
        case "Service Unavailable": .serviceUnavailable
        // The documentation's spelling; the wire has `BroadcastFeatureNotEnabled`.
        case "FeatureNotEnabled": .broadcastFeatureNotEnabled
        // Apple's are above 400, and those of FCM above 600.
        default: DeliveryReason(name: name).flatMap { (401..<600).contains($0.rawValue) ? $0 : nil }
        }
    }

    private static func verdict(by reason: DeliveryReason, response: PushResponse, delays: Delays) -> Verdict {
        switch reason {
        case .unregistered, .expiredToken: Verdict(.tokenDead(reason, since: response.timestamp))
        case .badDeviceToken, .deviceTokenNotForTopic: Verdict(.tokenDead(reason, since: nil))
        case .idleTimeout, .unrelatedKeyIDInToken:
            Verdict(.deferred(reason, delayMilliseconds: elsewhereDelayMilliseconds), .resendElsewhere)
        case .shutdown: Verdict(.deferred(reason, delayMilliseconds: delays.serverError), .resendElsewhere)
        case .expiredProviderToken:
            Verdict(.deferred(reason, delayMilliseconds: tokenRefusedDelayMilliseconds), .renewProviderToken)
        case .invalidProviderToken:
            Verdict(.deferred(reason, delayMilliseconds: tokenRefusedDelayMilliseconds), .countTokenRefusal)
        case .tooManyProviderTokenUpdates:
            Verdict(.deferred(reason, delayMilliseconds: delays.tokenUpdates), .holdProviderToken)
        case .tooManyRequests: Verdict(.deferred(reason, delayMilliseconds: delays.tooManyRequests))
        case .internalServerError: Verdict(.deferred(reason, delayMilliseconds: delays.serverError))
        case .serviceUnavailable: Verdict(.deferred(reason, delayMilliseconds: delays.serverError), .replaceConnection)
        // A channel that was deleted: nobody is on it any more.
        case .channelNotRegistered: Verdict(.tokenDead(reason, since: nil))
        case .badTopic, .topicDisallowed, .missingTopic, .forbidden, .badEnvironmentKeyInToken, .topicMismatch,
            .broadcastFeatureNotEnabled:
            Verdict(.rejected(reason), .countApplicationRefusal)
        case .badCertificate, .badCertificateEnvironment: Verdict(.rejected(reason), .replaceConnection)
        default: response.status >= 500 ? verdict(byStatus: response, delays: delays) : Verdict(.rejected(reason))
        }
    }

    private static func verdict(byStatus response: PushResponse, delays: Delays) -> Verdict {
        switch response.status {
        case 404: Verdict(.rejected(.badPath))
        case 405: Verdict(.rejected(.methodNotAllowed))
        case 410: Verdict(.tokenDead(.unregistered, since: response.timestamp))
        case 413: Verdict(.rejected(.payloadTooLarge))
        case 429: Verdict(.deferred(.tooManyRequests, delayMilliseconds: delays.tooManyRequests))
        case 400..<500: Verdict(.rejected(.otherClientError))
        default: Verdict(.deferred(.otherServerError, delayMilliseconds: delays.serverError))
        }
    }
}

/// The delays of one answer: what it asks for, or what its class asks for.
private struct Delays {
    private let asked: Int64?

    init(response: PushResponse, wallSeconds: Int64) {
        asked = response.retryAfter.flatMap { RetryAfter.milliseconds($0, wallSeconds: wallSeconds) }
    }

    var serverError: Int64 { asked ?? ResponseClass.serverErrorDelayMilliseconds }
    var tooManyRequests: Int64 { asked ?? ResponseClass.tooManyRequestsDelayMilliseconds }
    var tokenUpdates: Int64 { asked ?? ResponseClass.tokenRefusedDelayMilliseconds }
}
