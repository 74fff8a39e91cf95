import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Security
import Testing

@testable import APNs

extension SenderTests {
    @Suite("Sender and APNs' answers", .timeLimit(.minutes(1))) struct Answer {
        @Test("gives each device its own outcome")
        func outcomes() async throws {
            try await SenderRig.run { rig in
                rig.simulator.declare([
                    DeviceTokenDeclaration(SenderRig.token(1), in: .production, state: .bad),
                    DeviceTokenDeclaration(
                        SenderRig.token(2), in: .production, state: .unregistered(since: 1_700_000_000_123)),
                    DeviceTokenDeclaration(SenderRig.token(3), in: .production, state: .expired(since: 1_700_000_000_456)),
                    DeviceTokenDeclaration(SenderRig.token(4), in: .production, state: .wrongTopic),
                ])
                rig.simulator.script(.answer(.tooManyRequests), when: .when { $0.token = SenderRig.token(5) })
                rig.simulator.script(
                    .does { $0.answer = PushAnswer(status: 503, reason: "ServiceUnavailable", headers: ["retry-after": "3"]) },
                    when: .when { $0.token = SenderRig.token(6) })
                rig.simulator.script(.answer(.internalServerError), when: .when { $0.token = SenderRig.token(7) })
                rig.simulator.script(
                    .does { $0.answer = PushAnswer(status: 418, body: Array(repeating: 0x20, count: 100_000)) },
                    when: .when { $0.token = SenderRig.token(8) })
                let outcomes = await rig.sender.send(SenderRig.batch(0..<10))
                #expect(
                    outcomes == [
                        .accepted, .tokenDead(.badDeviceToken, since: nil),
                        .tokenDead(.unregistered, since: UnixMilliseconds(rawValue: 1_700_000_000_123)),
                        .tokenDead(.expiredToken, since: UnixMilliseconds(rawValue: 1_700_000_000_456)),
                        .tokenDead(.deviceTokenNotForTopic, since: nil), .deferred(.tooManyRequests, delayMilliseconds: 5_000),
                        .deferred(.serviceUnavailable, delayMilliseconds: 3_000),
                        .deferred(.internalServerError, delayMilliseconds: 5_000), .rejected(.otherClientError), .accepted,
                    ])
            }
        }

        @Test("sends a push once more elsewhere when the answer asks for it", arguments: [Reason.shutdown, .idleTimeout])
        func elsewhere(reason: Reason) async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(
                    .answer(reason),
                    when: .when {
                        $0.after = 5; $0.count = 1
                    })
                #expect(await rig.sender.send(SenderRig.batch(0..<20)).tally == [.accepted: 20])
                #expect(rig.counts(0..<20).accepted == [1])
                #expect(rig.simulator.statistics.tally.connectionCount == 2)
            }
        }

        @Test("uses one provider token for all batches, environments and connections")
        func oneToken() async throws {
            try await SenderRig.run(simulator: {
                $0.initialConcurrentStreams = 20; $0.concurrentStreams = 20
            }) { rig in
                let sender = rig.sender
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<50 {
                        group.addTask {
                            let batch = SenderRig.batch(
                                number * 10..<number * 10 + 10, environment: number % 2 == 0 ? .production : .sandbox,
                                notification: Int64(number))
                            #expect(await sender.send(batch).allSatisfy { $0 == .accepted })
                        }
                    }
                }
                #expect(rig.simulator.statistics.providerTokenCounts.values.map { $0 } == [1])
                #expect(rig.vault.state.withLock { $0.replacementCount } == 1)
            }
        }

        @Test("replaces an expired provider token once and repeats each push once, on a new connection")
        func expiredToken() async throws {
            try await SenderRig.run(simulator: { $0.initialConcurrentStreams = 100 }) { rig in
                rig.simulator.script(.answer(.expiredProviderToken), when: .when { $0.providerToken = 1 })
                #expect(await rig.sender.send(SenderRig.batch(0..<300)).tally == [.accepted: 300])
                #expect(rig.counts(0..<300).accepted == [1])
                #expect(rig.vault.state.withLock { $0.replacementCount } == 2)
                let tokensByConnection = Dictionary(grouping: rig.simulator.requests(), by: \.connection)
                    .mapValues { Set($0.map { $0.providerToken }).count }
                #expect(tokensByConnection.values.allSatisfy { $0 == 1 })
            }
        }

        @Test("stops hitting APNs when a fresh provider token is refused too")
        func alwaysExpired() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }) { rig in
                rig.simulator.script(.answer(.expiredProviderToken))
                let outcomes = await rig.sender.send(SenderRig.batch(0..<100))
                #expect(
                    outcomes.allSatisfy {
                        if case .deferred(.expiredProviderToken, let delay) = $0 {
                            delay >= 1_000 && delay <= 60_000
                        } else {
                            false
                        }
                    })
                let count = rig.requestCount
                #expect(count <= 4)
                #expect(rig.vault.state.withLock { $0.replacementCount } == 2)
                let more = await rig.sender.send(SenderRig.batch(100..<200))
                #expect(
                    more.allSatisfy { if case .deferred(.expiredProviderToken, _) = $0 { true } else { false } })
                #expect(rig.requestCount == count)
                #expect(rig.log.contains("clock"))
            }
        }

        @Test("goes on when one push in twenty meets an invalid provider token")
        func sporadicallyInvalid() async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(.answer(.invalidProviderToken), when: .when { $0.every = 20 })
                let outcomes = await rig.sender.send(SenderRig.batch(0..<200))
                #expect(outcomes.filter { $0 == .accepted }.count == 190)
                #expect(outcomes.filter { $0 == .deferred(.invalidProviderToken, delayMilliseconds: 60_000) }.count == 10)
            }
        }

        @Test("holds a key that APNs does not know")
        func unknownKey() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }) { rig in
                rig.simulator.revoke(keyID: SenderRig.providerKey.keyID)
                let outcomes = await rig.sender.send(SenderRig.batch(0..<100))
                #expect(
                    outcomes.allSatisfy { if case .deferred(.invalidProviderToken, _) = $0 { true } else { false } })
                #expect(rig.requestCount == 3)
            }
        }

        @Test("uses a key that took the place of a refused one, a minute after the refusal")
        func replacedKey() async throws {
            let clock = SteppableClock()
            try await SenderRig.run({ $0.connectionCount = 1 }, clock: clock.clock) { rig in
                let wrong = try ProviderTokenEncoding.token(
                    of: SenderRig.providerKey, issuedAt: clock.clock.wallSeconds(), signedWith: .generate())
                rig.vault.state.withLock { $0.tokens[SenderRig.providerKey] = wrong }
                let outcomes = await rig.sender.send(SenderRig.batch(0..<10))
                #expect(outcomes.allSatisfy { if case .deferred(.invalidProviderToken, _) = $0 { true } else { false } })
                // What storing another key does.
                rig.vault.state.withLock { $0.tokens[SenderRig.providerKey] = nil }
                clock.skip(.seconds(61))
                #expect(await rig.sender.send(SenderRig.batch(10..<20)).tally == [.accepted: 10])
                #expect(rig.vault.state.withLock { $0.replacementCount } == 1)
            }
        }

        @Test("says why pushes wait when no provider token can be made")
        func missingKey() async throws {
            try await SenderRig.run(hasKey: false) { rig in
                let outcomes = await rig.sender.send(SenderRig.batch(0..<100))
                #expect(
                    outcomes.allSatisfy { if case .deferred(.credentialsRefused, _) = $0 { true } else { false } })
                #expect(rig.requestCount == 0)
                #expect(rig.log.contains("no provider token can be had"))
            }
        }

        @Test("rejects the rest of an app's pushes when APNs refuses its topic")
        func refusedTopic() async throws {
            try await SenderRig.run(
                { $0.connectionCount = 1 },
                simulator: {
                    $0.initialConcurrentStreams = 10; $0.concurrentStreams = 10
                }
            ) { rig in
                rig.simulator.script(.answer(.topicDisallowed))
                let outcomes = await rig.sender.send(SenderRig.batch(0..<1_000))
                #expect(outcomes.tally == [.rejected(.topicDisallowed): 1_000])
                #expect(rig.requestCount <= 20)
            }
        }
    }
}
