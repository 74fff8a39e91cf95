import Gateway
import HTTP
import Testing

@testable import FCM

@Suite("FCM's answers") struct FCMResponseClassTests {
    private func verdict(_ status: Int, _ body: String, retryAfter: String? = nil) -> FCMVerdict {
        var headers = HTTPHeaders()
        if let retryAfter { headers.append("retry-after", retryAfter) }
        let response = HTTPClientResponse(status: status, headers: headers, body: Array(body.utf8))
        return FCMResponseClass.verdict(on: FCMAnswer(response), wallSeconds: 784_111_770)
    }

    private func body(_ code: Int, _ status: String, _ errorCode: String? = nil, message: String = "m", extra: String = "")
        -> String
    {
        let detail =
            errorCode.map { #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"# } ?? ""
        let details = [extra, detail].filter { !$0.isEmpty }.joined(separator: ",")
        return #"{"error":{"code":\#(code),"message":"\#(message)","status":"\#(status)","details":[\#(details)]}}"#
    }

    @Test("accepts 200") func accepted() {
        #expect(verdict(200, #"{"name":"projects/p/messages/1"}"#) == FCMVerdict(.accepted))
    }

    @Test(
        "classes an error by its code",
        arguments: [
            (404, "NOT_FOUND", "UNREGISTERED", FCMVerdict(.tokenDead(.fcmUnregistered, since: nil))),
            (404, "UNREGISTERED", nil, FCMVerdict(.tokenDead(.fcmUnregistered, since: nil))),
            (403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", FCMVerdict(.tokenDead(.fcmSenderIDMismatch, since: nil))),
            (403, "PERMISSION_DENIED", nil, FCMVerdict(.rejected(.fcmPermissionDenied), .countApplicationRefusal)),
            (
                401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR",
                FCMVerdict(.rejected(.fcmThirdPartyAuthError), .countApplicationRefusal)
            ),
            (
                401, "UNAUTHENTICATED", nil,
                FCMVerdict(.deferred(.fcmUnauthenticated, delayMilliseconds: 60_000), .renewAccessToken)
            ),
            (
                429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED",
                FCMVerdict(.deferred(.fcmQuotaExceeded, delayMilliseconds: 60_000), .countQuotaRefusal)
            ),
            (500, "INTERNAL", "INTERNAL", FCMVerdict(.deferred(.fcmInternal, delayMilliseconds: 10_000))),
            (503, "UNAVAILABLE", "UNAVAILABLE", FCMVerdict(.deferred(.fcmUnavailable, delayMilliseconds: 10_000))),
            (400, "INVALID_ARGUMENT", "UNSPECIFIED_ERROR", FCMVerdict(.rejected(.fcmUnspecifiedError))),
            (500, "INTERNAL", "UNSPECIFIED_ERROR", FCMVerdict(.deferred(.fcmUnspecifiedError, delayMilliseconds: 10_000))),
            (404, "NOT_FOUND", nil, FCMVerdict(.rejected(.otherClientError), .countApplicationRefusal)),
        ] as [(Int, String, String?, FCMVerdict)])
    func codes(status: Int, name: String, errorCode: String?, expected: FCMVerdict) {
        #expect(verdict(status, body(status, name, errorCode)) == expected)
    }

    @Test(
        "slows a project down for the project's quota, and not for a device's",
        arguments: [
            (#"{"subject":"project:42","description":"Messages per minute"}"#, .slowDown),
            (#"{"subject":"x","description":"Quota of the project"}"#, .slowDown),
            (#"{"subject":"device:abc","description":"Messages to a device of the project"}"#, .nothing),
            (#"{"subject":"x","description":"y"}"#, .countQuotaRefusal),
        ] as [(String, FCMVerdict.Consequence)])
    func quotas(violation: String, expected: FCMVerdict.Consequence) {
        let details =
            #"[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"},"#
            + #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[\#(violation)]}]"#
        let body = #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"","details":\#(details)}}"#
        #expect(verdict(429, body).consequence == expected)
    }

    @Test(
        "condemns a token only if the answer names it and nothing else",
        arguments: [
            (
                "The registration token is not a valid FCM registration token", "",
                PushOutcome.tokenDead(.fcmInvalidArgument, since: nil)
            ),
            ("Request contains an invalid argument.", "", .rejected(.fcmInvalidArgument)),
            (
                "Invalid value at 'message.token'",
                #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token","description":"x"}]}"#,
                .tokenDead(.fcmInvalidArgument, since: nil)
            ),
            (
                "Invalid registration token and data",
                #"{"@type":"x","fieldViolations":[{"field":"message.token"},{"field":"message.data[0].value"}]}"#,
                .rejected(.fcmInvalidArgument)
            ),
            ("Android message is too big", "", .rejected(.fcmMessageTooLarge)),
        ] as [(String, String, PushOutcome)])
    func invalidArgument(message: String, extra: String, outcome: PushOutcome) {
        let answer = body(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message: message, extra: extra)
        #expect(verdict(400, answer) == FCMVerdict(outcome))
    }

    @Test("honours retry-after in both forms, and waits no less than Google asks")
    func retryAfter() {
        #expect(verdict(429, "", retryAfter: "7").outcome == .deferred(.fcmQuotaExceeded, delayMilliseconds: 7_000))
        #expect(verdict(503, "", retryAfter: "120").outcome == .deferred(.fcmUnavailable, delayMilliseconds: 120_000))
        #expect(verdict(503, "", retryAfter: "1").outcome == .deferred(.fcmUnavailable, delayMilliseconds: 10_000))
        #expect(
            verdict(503, "", retryAfter: "Sun, 06 Nov 1994 08:49:50 GMT").outcome
                == .deferred(.fcmUnavailable, delayMilliseconds: 20_000))
    }

    @Test("classes what it does not know by its status", arguments: [("", 418), ("<html>", 451), ("{}", 409)])
    func unknown(body: String, status: Int) {
        #expect(verdict(status, body) == FCMVerdict(.rejected(.otherClientError)))
        #expect(verdict(502, body) == FCMVerdict(.deferred(.otherServerError, delayMilliseconds: 10_000)))
    }
}
