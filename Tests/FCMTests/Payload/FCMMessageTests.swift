import Gateway
import Testing

@testable import FCM

@Suite("FCM message") struct FCMMessageTests {
    private func message(
        _ service: PushService, priority: Int = 10, expiresAt: Int64 = 1_000_060, collapseID: String? = nil
    ) -> FCMMessage {
        FCMMessage(
            batch: PushBatch(
                application: SampleBatch.application(), service: service, notification: SampleBatch.notification,
                collapseID: collapseID, priority: priority, expiresAt: expiresAt, bodies: [], devices: [], tokens: TokenList(),
                bodyIndexes: [], cancellation: Cancellation(), onFirstAccepted: nil))
    }

    private func text(_ message: FCMMessage, token: [UInt8], body: String = #"{"a":"b"}"#) -> String? {
        message.bytes(token: token[...], body: Array(body.utf8), wallSeconds: 1_000_000).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test("for Android has the data as it was rendered, the priority and the time to live")
    func android() {
        #expect(
            text(message(.fcm), token: Array("t:1\"".utf8))
                == #"{"message":{"token":"t:1\"","data":{"a":"b"},"android":{"priority":"HIGH","ttl":"60s"}}}"#)
        #expect(text(message(.fcm, priority: 5), token: [0x41])?.contains(#""priority":"NORMAL""#) == true)
    }

    @Test(
        "keeps the time to live within what FCM takes",
        arguments: [(Int64(0), "0s"), (999_999, "0s"), (9_999_999_999, "2419200s")])
    func timeToLive(expiresAt: Int64, ttl: String) {
        #expect(text(message(.fcm, expiresAt: expiresAt), token: [0x41])?.contains(#""ttl":"\#(ttl)""#) == true)
    }

    @Test("for a Live Activity behind FCM has ActivityKit's token, APNs' headers and the payload as it was rendered")
    func apple() throws {
        let token = try #require(RelayedToken(activityToken: [0xAB, 0x01], registrationToken: Array("reg".utf8))).stored
        #expect(
            text(message(.fcmToAPNs, collapseID: "c"), token: token, body: #"{"aps":{"x":1.0}}"#)
                == #"{"message":{"token":"reg","apns":{"live_activity_token":"ab01","headers":{"apns-push-type":"liveactivity","#
                + #""apns-priority":"10","apns-expiration":"1000060","apns-collapse-id":"c"},"payload":{"aps":{"x":1.0}}}}}"#)
    }

    @Test("cannot be made for a token that is no text, or no relayed one")
    func badToken() {
        #expect(text(message(.fcm), token: [0xFF]) == nil)
        #expect(text(message(.fcm), token: []) == nil)
        #expect(text(message(.fcmToAPNs), token: [5, 1]) == nil)
    }
}

@Suite("Pace of messages") struct MessagePaceTests {
    @Test("rests once several devices were refused in a short time, and not for one or for some over long")
    func refusals() {
        let begin = ContinuousClock.now
        var pace = MessagePace(perSecond: 1_000, now: begin)
        for second in 0..<10 {
            let now = begin + .seconds(second)
            pace.refused(now: now)
            pace.refused(now: now)
            #expect(pace.allowance(now: now) > 0)
        }
        let now = begin + .seconds(20)
        for _ in 0..<MessagePace.refusedDeviceCount { pace.refused(now: now) }
        #expect(pace.allowance(now: now + MessagePace.quotaPause - .milliseconds(1)) == 0)
        #expect(pace.allowance(now: now + MessagePace.quotaPause) > 0)
    }

    @Test("allows what its rate gives, and little at once")
    func rate() {
        let start = ContinuousClock.now
        var pace = MessagePace(perSecond: 1_000, now: start)
        #expect(pace.allowance(now: start) == 50)
        pace.took(50)
        #expect(pace.allowance(now: start) == 0)
        #expect(pace.allowance(now: start + .milliseconds(10)) == 10)
        #expect(pace.allowance(now: start + .seconds(10)) == 50)
    }

    @Test("allows one message at a slow rate, and rests after the quota was used up")
    func quota() {
        let start = ContinuousClock.now
        var pace = MessagePace(perSecond: 1, now: start)
        #expect(pace.allowance(now: start) == 1)
        pace.took(1)
        #expect(pace.allowance(now: start + .milliseconds(999)) == 0)
        #expect(pace.allowance(now: start + .seconds(2)) == 1)
        pace.exhausted(now: start + .seconds(2))
        #expect(pace.allowance(now: start + .milliseconds(2_999)) == 0)
        #expect(pace.allowance(now: start + .milliseconds(3_000)) == 1)
    }
}
