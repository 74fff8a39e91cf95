import APNsSimulator
import Gateway
import Security
import Synchronization
import Testing

@testable import FCM

extension FCMSenderTests {
    @Suite("FCM sender") struct Delivery {
        @Test("sends each device its message, to the byte, under one access token")
        func delivers() async throws {
            try await FCMRig.run { rig in
                let body = #"{"event":"start","payload":"{\"a\":1.50}"}"#
                let outcomes = await rig.sender.send(SampleBatch.make(["one", "two"], bodies: [body]))
                #expect(outcomes == [.accepted, .accepted])
                let message = try #require(rig.google.messages(to: "one").first)
                let ttl = "2419200s"
                #expect(
                    String(decoding: message.body, as: UTF8.self)
                        == #"{"message":{"token":"one","data":\#(body),"android":{"priority":"HIGH","ttl":"\#(ttl)"}}}"#)
                #expect(message.projectID == "sample-project" && rig.google.accessTokenCount == 1)
            }
        }

        @Test("sends a Live Activity behind FCM ActivityKit's token and the payload, to the byte")
        func relays() async throws {
            try await FCMRig.run { rig in
                let token = try #require(RelayedToken(activityToken: [1, 0xFE], registrationToken: Array("reg".utf8)))
                let payload = #"{"aps":{"event":"update","content-state":{"x":1.0}}}"#
                let batch = SampleBatch.make(stored: [token.stored], service: .fcmToAPNs, bodies: [payload])
                #expect(await rig.sender.send(batch) == [.accepted])
                let body = try #require(rig.google.messages(to: "reg").first?.body)
                #expect(
                    String(decoding: body, as: UTF8.self)
                        == #"{"message":{"token":"reg","apns":{"live_activity_token":"01fe","headers":{"apns-push-type":"#
                        + #""liveactivity","apns-priority":"10","apns-expiration":"4000000000"},"payload":\#(payload)}}}"#)
            }
        }

        @Test("sends many devices their own language's body, each once")
        func many() async throws {
            try await FCMRig.run { rig in
                let tokens = (0..<1_000).map { "t\($0)" }
                let accepted = Mutex(0)
                let batch = SampleBatch.make(
                    tokens, bodies: [#"{"n":"0"}"#, #"{"n":"1"}"#], bodyIndexes: tokens.indices.map { UInt8($0 % 2) },
                    onFirstAccepted: { accepted.withLock { $0 += 1 } })
                #expect(await rig.sender.send(batch) == [PushOutcome](repeating: .accepted, count: 1_000))
                let messages = rig.google.messages()
                #expect(messages.count == 1_000 && Set(messages.map(\.token)).count == 1_000)
                #expect(
                    messages.allSatisfy { message in
                        let number = Int(message.token.dropFirst()) ?? -1
                        return String(decoding: message.body, as: UTF8.self).contains(#""data":{"n":"\#(number % 2)"}"#)
                    })
                #expect(accepted.withLock { $0 } == 1)
            }
        }

        @Test("refuses what is larger than FCM takes before it is sent, for those who would get it")
        func tooLarge() async throws {
            try await FCMRig.run { rig in
                let fits = #"{"k":"\#(String(repeating: "x", count: 4095))"}"#
                let large = #"{"k":"\#(String(repeating: "x", count: 4096))"}"#
                let outcomes = await rig.sender.send(
                    SampleBatch.make(["a", "b", "c"], bodies: [fits, large], bodyIndexes: [0, 1, 0]))
                #expect(outcomes == [.accepted, .rejected(.fcmMessageTooLarge), .accepted])
                #expect(Set(rig.google.messages().map(\.token)) == ["a", "c"])
                let all = await rig.sender.send(SampleBatch.make(["a"], bodies: [large]))
                #expect(all == [.rejected(.fcmMessageTooLarge)])
            }
        }

        @Test("refuses an app without a service account, and a token that is none")
        func noAccount() async throws {
            try await FCMRig.run { rig in
                let application = SampleBatch.application(account: nil)
                let none = await rig.sender.send(SampleBatch.make(["a"], application: application))
                #expect(none == [.rejected(.credentialsRefused)])
                let odd = await rig.sender.send(SampleBatch.make(stored: [[0xFF], [0x61]], service: .fcm))
                #expect(odd == [.rejected(.fcmInvalidArgument), .accepted])
            }
        }

        @Test("keeps to its rate")
        func rate() async throws {
            try await FCMRig.run {
                $0.messagesPerSecond = 100
            } _: { rig in
                let begun = ContinuousClock.now
                let outcomes = await rig.sender.send(SampleBatch.make((0..<30).map { "t\($0)" }))
                #expect(outcomes == [PushOutcome](repeating: .accepted, count: 30))
                // Five may leave at once; 25 more need a quarter of a second at least.
                #expect(ContinuousClock.now - begun >= .milliseconds(240))
            }
        }

        @Test("notes each push before it leaves, and what became of it")
        func marks() async throws {
            try await FCMRig.run { rig in
                rig.google.declare("gone", .unregistered)
                let page = MarkPage(count: 3)
                var batch = SampleBatch.make(["one", "gone"])
                batch.marks = PushMarks(page: page, first: 1)
                _ = await rig.sender.send(batch)
                #expect(
                    page.all == [
                        [], [.submitted, PushMark(.accepted)],
                        [.submitted, PushMark(.tokenDead(.fcmUnregistered, since: nil))],
                    ])
            }
        }

        @Test("leaves unsent what is cancelled before it is on the wire, and notes nothing of it")
        func cancelled() async throws {
            try await FCMRig.run {
                $0.inFlightCount = 1
            } _: { rig in
                rig.google.declare("held", .held)
                let page = MarkPage(count: 2)
                let cancellation = Cancellation()
                var batch = SampleBatch.make(["held", "late"], cancellation: cancellation)
                batch.marks = PushMarks(page: page, first: 0)
                async let outcomes = rig.sender.send(batch)
                await rig.waitForHeld(1)
                cancellation.cancel(.superseded)
                rig.google.release()
                #expect(await outcomes == [.accepted, .notSent])
                #expect(page.all[1].allSatisfy { $0 == .unsent })
                #expect(rig.google.messages(to: "late").isEmpty)
            }
        }

        @Test("hands back what waits when it stops, and awaits what is on the wire")
        func drains() async throws {
            try await FCMRig.run {
                $0.inFlightCount = 1
            } _: { rig in
                rig.google.declare("held", .held)
                async let outcomes = rig.sender.send(SampleBatch.make(["held", "late"]))
                await rig.waitForHeld(1)
                await rig.sender.stopSubmitting()
                async let drained: Void = rig.sender.drain(timeout: .seconds(60))
                rig.google.release()
                #expect(await outcomes == [.accepted, .notSent])
                await drained
                #expect(await rig.sender.send(SampleBatch.make(["more"])) == [.notSent])
            }
        }

        @Test("calls unknown what has no answer when the drain's time is over")
        func drainEnds() async throws {
            try await FCMRig.run { rig in
                rig.google.declare("held", .held)
                async let outcomes = rig.sender.send(SampleBatch.make(["held"]))
                await rig.waitForHeld(1)
                await rig.sender.drain(timeout: .zero)
                #expect(await outcomes == [.unknown])
            }
        }
    }
}
