import Gateway
import Testing

@testable import APNs

@Suite("Response class") struct ResponseClassTests {
    static let quarter: Int64 = 900_000
    static let soon: Int64 = 5_000
    static let table: [(Int, String?, PushOutcome, Consequence)] = [
        (200, nil, .accepted, .nothing),
        (400, "BadCollapseId", .rejected(.badCollapseID), .nothing),
        (400, "BadDeviceToken", .tokenDead(.badDeviceToken, since: nil), .nothing),
        (400, "BadExpirationDate", .rejected(.badExpirationDate), .nothing),
        (400, "BadMessageId", .rejected(.badMessageID), .nothing),
        (400, "BadPriority", .rejected(.badPriority), .nothing),
        (400, "BadTopic", .rejected(.badTopic), .countApplicationRefusal),
        (400, "DeviceTokenNotForTopic", .tokenDead(.deviceTokenNotForTopic, since: nil), .nothing),
        (400, "DuplicateHeaders", .rejected(.duplicateHeaders), .nothing),
        (400, "IdleTimeout", .deferred(.idleTimeout, delayMilliseconds: 1_000), .resendElsewhere),
        (400, "InvalidPushType", .rejected(.invalidPushType), .nothing),
        (400, "MissingDeviceToken", .rejected(.missingDeviceToken), .nothing),
        (400, "MissingTopic", .rejected(.missingTopic), .countApplicationRefusal),
        (400, "PayloadEmpty", .rejected(.payloadEmpty), .nothing),
        (400, "TopicDisallowed", .rejected(.topicDisallowed), .countApplicationRefusal),
        (403, "BadCertificate", .rejected(.badCertificate), .replaceConnection),
        (403, "BadCertificateEnvironment", .rejected(.badCertificateEnvironment), .replaceConnection),
        (403, "ExpiredProviderToken", .deferred(.expiredProviderToken, delayMilliseconds: 60_000), .renewProviderToken),
        (403, "Forbidden", .rejected(.forbidden), .countApplicationRefusal),
        (403, "InvalidProviderToken", .deferred(.invalidProviderToken, delayMilliseconds: 60_000), .countTokenRefusal),
        (403, "MissingProviderToken", .rejected(.missingProviderToken), .nothing),
        (403, "UnrelatedKeyIdInToken", .deferred(.unrelatedKeyIDInToken, delayMilliseconds: 1_000), .resendElsewhere),
        (403, "BadEnvironmentKeyIdInToken", .rejected(.badEnvironmentKeyInToken), .countApplicationRefusal),
        (403, "BadEnvironmentKeyInToken", .rejected(.badEnvironmentKeyInToken), .countApplicationRefusal),
        (404, "BadPath", .rejected(.badPath), .nothing),
        (405, "MethodNotAllowed", .rejected(.methodNotAllowed), .nothing),
        (410, "Unregistered", .tokenDead(.unregistered, since: nil), .nothing),
        (410, "ExpiredToken", .tokenDead(.expiredToken, since: nil), .nothing),
        (413, "PayloadTooLarge", .rejected(.payloadTooLarge), .nothing),
        (
            429, "TooManyProviderTokenUpdates", .deferred(.tooManyProviderTokenUpdates, delayMilliseconds: 60_000),
            .holdProviderToken
        ),
        (429, "TooManyRequests", .deferred(.tooManyRequests, delayMilliseconds: 5_000), .nothing),
        (500, "InternalServerError", .deferred(.internalServerError, delayMilliseconds: soon), .nothing),
        (503, "ServiceUnavailable", .deferred(.serviceUnavailable, delayMilliseconds: soon), .replaceConnection),
        (503, "Service Unavailable", .deferred(.serviceUnavailable, delayMilliseconds: soon), .replaceConnection),
        (503, "Shutdown", .deferred(.shutdown, delayMilliseconds: soon), .resendElsewhere),
        // Of broadcast channels, in either spelling.
        (400, "BroadcastFeatureNotEnabled", .rejected(.broadcastFeatureNotEnabled), .countApplicationRefusal),
        (400, "FeatureNotEnabled", .rejected(.broadcastFeatureNotEnabled), .countApplicationRefusal),
        (400, "MissingChannelId", .rejected(.missingChannelID), .nothing),
        (400, "BadChannelId", .rejected(.badChannelID), .nothing),
        (400, "ChannelNotRegistered", .tokenDead(.channelNotRegistered, since: nil), .nothing),
        (400, "MissingPushType", .rejected(.missingPushType), .nothing),
        (403, "TopicMismatch", .rejected(.topicMismatch), .countApplicationRefusal),
        // Reasons nobody knows, or none at all, are judged by their status.
        (400, "Novelty", .rejected(.otherClientError), .nothing),
        (403, nil, .rejected(.otherClientError), .nothing),
        (404, nil, .rejected(.badPath), .nothing),
        (405, "", .rejected(.methodNotAllowed), .nothing),
        (410, "Novelty", .tokenDead(.unregistered, since: nil), .nothing),
        (413, nil, .rejected(.payloadTooLarge), .nothing),
        (429, nil, .deferred(.tooManyRequests, delayMilliseconds: 5_000), .nothing),
        (502, nil, .deferred(.otherServerError, delayMilliseconds: soon), .nothing),
        (599, "Novelty", .deferred(.otherServerError, delayMilliseconds: soon), .nothing),
        // Our own names for outcomes are not Apple's reasons.
        (400, "Accepted", .rejected(.otherClientError), .nothing),
        (400, "Superseded", .rejected(.otherClientError), .nothing),
        (400, "FcmUnregistered", .rejected(.otherClientError), .nothing),
    ]

    @Test("follows Apple's table", arguments: table)
    func follows(status: Int, reason: String?, outcome: PushOutcome, consequence: Consequence) {
        let verdict = ResponseClass.verdict(on: PushResponse(status: status, reason: reason), wallSeconds: 0)
        #expect(verdict == Verdict(outcome, consequence))
    }

    @Test("covers every reason of Apple's that a push can have, to a device or a channel")
    func covers() {
        let mine = Set(Self.table.compactMap { $0.1 })
        for (reason, name) in DeliveryReason.names where (401..<600).contains(reason.rawValue) && reason.rawValue != 500 {
            #expect(mine.contains(name), "\(name)")
        }
    }

    @Test(
        "takes the wait from retry-after, within 15 minutes",
        arguments: [
            ("3", 3_000), ("0", 0), ("899", 899_000), ("900", quarter), ("86400", quarter),
            ("99999999999999999999999999", quarter), ("-5", nil), ("3.5", nil), ("soon", nil), ("", nil), ("1e3", nil),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000), ("Sun, 06 Nov 1994 08:49:27 GMT", 0),
            ("Mon, 07 Nov 1994 08:49:37 GMT", quarter), ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
            ("Sun, 99 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Int64?)])
    func retryAfter(value: String, milliseconds: Int64?) {
        // The moment of RFC 9110's example: Sun, 06 Nov 1994 08:49:37 GMT.
        let verdict = ResponseClass.verdict(
            on: PushResponse(status: 503, reason: "ServiceUnavailable", retryAfter: value), wallSeconds: 784_111_777)
        #expect(verdict.outcome == .deferred(.serviceUnavailable, delayMilliseconds: milliseconds ?? Self.soon))
    }

    @Test("reads reason and timestamp of a body, and survives any other body")
    func bodies() {
        let gone = PushResponse(
            status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8), retryAfter: [])
        #expect(
            ResponseClass.verdict(on: gone, wallSeconds: 0).outcome
                == .tokenDead(.unregistered, since: UnixMilliseconds(rawValue: 1_700_000_000_123)))
        for body in ["", "{", "[]", "null", #"{"reason":7,"timestamp":"x"}"#, #"{"timestamp":1e300}"#, "\u{FF}"] {
            let response = PushResponse(status: 410, body: Array(body.utf8), retryAfter: [])
            #expect(ResponseClass.verdict(on: response, wallSeconds: 0).outcome == .tokenDead(.unregistered, since: nil))
        }
    }
}
