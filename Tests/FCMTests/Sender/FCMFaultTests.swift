import APNsSimulator
import Gateway
import HTTP
import Security
import Synchronization
import Testing

@testable import FCM

extension FCMSenderTests {
    @Suite("FCM sender and faults") struct Faults {
        @Test(
            "gives each push what FCM says of it",
            arguments: [
                (.unregistered, .tokenDead(.fcmUnregistered, since: nil)),
                (.senderMismatch, .tokenDead(.fcmSenderIDMismatch, since: nil)),
                (.invalid, .tokenDead(.fcmInvalidArgument, since: nil)),
                (.quota(retryAfter: nil), .deferred(.fcmQuotaExceeded, delayMilliseconds: 60_000)),
                (.quota(retryAfter: 30), .deferred(.fcmQuotaExceeded, delayMilliseconds: 30_000)),
                (.unavailable(retryAfter: 90), .deferred(.fcmUnavailable, delayMilliseconds: 90_000)),
                (.unavailable(retryAfter: nil), .deferred(.fcmUnavailable, delayMilliseconds: 10_000)),
                (.internalError, .deferred(.fcmInternal, delayMilliseconds: 10_000)),
                (.thirdPartyAuthError, .rejected(.fcmThirdPartyAuthError)),
            ] as [(GoogleTokenState, PushOutcome)])
        func answers(state: GoogleTokenState, outcome: PushOutcome) async throws {
            try await FCMRig.run { rig in
                rig.google.declare("odd", state)
                let outcomes = await rig.sender.send(SampleBatch.make(["good", "odd"]))
                #expect(outcomes == [.accepted, outcome])
                #expect(rig.google.messages(to: "odd").count == 1)
            }
        }

        @Test("renews the access token once when FCM refuses it, and sends the push again")
        func renews() async throws {
            try await FCMRig.run { rig in
                #expect(await rig.sender.send(SampleBatch.make(["one"])) == [.accepted])
                rig.google.revokeAccessTokens()
                #expect(await rig.sender.send(SampleBatch.make(["two"])) == [.accepted])
                #expect(rig.google.messages(to: "two").map(\.status) == [401, 200])
                #expect(rig.google.accessTokenCount == 2)
                #expect(rig.vault.state.withLock { $0.forgotten.count } == 1)
            }
        }

        @Test("renews once for many pushes that are refused at the same time")
        func renewsOnce() async throws {
            try await FCMRig.run { rig in
                #expect(await rig.sender.send(SampleBatch.make(["one"])) == [.accepted])
                rig.google.revokeAccessTokens()
                let outcomes = await rig.sender.send(SampleBatch.make((0..<100).map { "t\($0)" }))
                #expect(outcomes == [PushOutcome](repeating: .accepted, count: 100))
                #expect(rig.google.accessTokenCount == 2)
            }
        }

        @Test("defers pushes whose new access token is refused as well, without asking for one after the other")
        func refusedAgain() async throws {
            try await FCMRig.run { rig in
                // Over as soon as they are given: every message is answered 401.
                rig.google.setAccessTokensValid(false)
                let outcomes = await rig.sender.send(SampleBatch.make(["one"]))
                #expect(outcomes == [.deferred(.fcmUnauthenticated, delayMilliseconds: 60_000)])
                #expect(rig.google.messages(to: "one").map(\.status) == [401, 401])
                #expect(rig.google.accessTokenCount == 2)
                guard case .deferred(.fcmUnauthenticated, _) = await rig.sender.send(SampleBatch.make(["two"]))[0] else {
                    throw Unexpected("not held back")
                }
                #expect(rig.google.messages(to: "two").isEmpty && rig.google.accessTokenCount == 2)
            }
        }

        @Test("holds only the app back whose account is broken")
        func brokenAccount() async throws {
            let broken = FCMAccount(projectID: "broken", keyID: "0123abcd")
            let vault = MemoryVault(accounts: [
                SampleAccount.account: SampleAccount.json(),
                broken: SampleAccount.json(project: "broken", ["client_email": "a@b"]),
            ])
            try await FCMRig.run(vault: vault) { rig in
                async let bad = rig.sender.send(
                    SampleBatch.make(["x"], application: SampleBatch.application(number: 2, account: broken)))
                async let good = rig.sender.send(SampleBatch.make(["y"]))
                #expect(await good == [.accepted])
                guard case .deferred(.credentialsRefused, _) = await bad[0] else { throw Unexpected("not deferred") }
                #expect(rig.log.contains("invalid_grant") && rig.log.contains("broken"))
                #expect(rig.google.messages(to: "x").isEmpty)
            }
        }

        @Test("holds an app back whose set-up FCM refuses again and again, and blames no device")
        func refusedSetUp() async throws {
            try await FCMRig.run {
                $0.inFlightCount = 1
            } _: { rig in
                let tokens = (0..<10).map { "t\($0)" }
                for token in tokens { rig.google.declare(token, .thirdPartyAuthError) }
                let outcomes = await rig.sender.send(SampleBatch.make(tokens))
                #expect(outcomes == [PushOutcome](repeating: .rejected(.fcmThirdPartyAuthError), count: 10))
                #expect(rig.google.messages().count == 3)
                let other = SampleBatch.application(number: 2)
                #expect(await rig.sender.send(SampleBatch.make(["fine"], application: other)) == [.accepted])
            }
        }

        @Test("defers what cannot be sent for want of a connection")
        func noConnection() async throws {
            try await FCMRig.run { configuration in
                configuration.messageTimeout = .milliseconds(100)
                // Nobody listens there.
                configuration.messages = .init(host: "127.0.0.1", port: 1)
            } _: { rig in
                let outcomes = await rig.sender.send(SampleBatch.make(["a", "b"]))
                let deferred = PushOutcome.deferred(.connectionFailed, delayMilliseconds: 10_000)
                #expect(outcomes == [deferred, deferred])
            }
        }

        @Test("says nothing of keys, tokens or payloads in its log")
        func discretion() async throws {
            try await FCMRig.run { rig in
                rig.google.declare("odd", .invalid)
                rig.google.revoke(keyID: "0123abcd")
                _ = await rig.sender.send(SampleBatch.make(["registration-token", "odd"], bodies: [#"{"k":"payload-text"}"#]))
                let text = rig.log.all.joined(separator: "\n")
                for secret in ["registration-token", "payload-text", "ya29", "PRIVATE KEY", SampleAccount.email] {
                    #expect(!text.contains(secret))
                }
                #expect(text.contains("invalid_grant"))
            }
        }
    }
}

/// What a test did not expect.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
