import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Testing

@testable import APNs

extension SenderTests {
    /// Pauses between connections last longer than any test, so that each connection too many would be seen.
    @Suite("Sender in a storm of refusals", .timeLimit(.minutes(1))) struct Storm {
        private static func pauseForEver(_ configuration: inout APNsConfiguration) {
            configuration.firstBackOff = .seconds(600)
            configuration.longestBackOff = .seconds(600)
            configuration.connectionWait = .milliseconds(200)
        }

        private static func turnedAway(_ reason: DeliveryReason) -> PushOutcome {
            .deferred(reason, delayMilliseconds: 600_000)
        }

        @Test("of 503 makes one connection, and another after a pause, not one a push")
        func serviceUnavailable() async throws {
            try await SenderRig.run(Self.pauseForEver) { rig in
                rig.simulator.script(.answer(.serviceUnavailable))
                let outcomes = await rig.sender.send(SenderRig.batch(0..<50))
                #expect(
                    outcomes.tally == [
                        .deferred(.serviceUnavailable, delayMilliseconds: 5_000): 1, Self.turnedAway(.serviceUnavailable): 49,
                    ])
                #expect(rig.simulator.statistics.tally.connectionCount == 1)
            }
        }

        @Test("of 503 that began after good answers makes one more connection, and no other")
        func afterGoodAnswers() async throws {
            try await SenderRig.run(
                {
                    Self.pauseForEver(&$0)
                    $0.connectionCount = 1
                }, simulator: { $0.concurrentStreams = 10 }
            ) { rig in
                rig.simulator.script(.answer(.serviceUnavailable), when: .when { $0.after = 20 })
                let tally = await rig.sender.send(SenderRig.batch(0..<100)).tally
                #expect(tally[.accepted] == 20)
                // Why the rest is handed back depends on which answer came last.
                #expect(tally.keys.allSatisfy { if case .deferred = $0 { true } else { $0 == .accepted } })
                #expect(rig.requestCount <= 50)
                #expect(rig.simulator.statistics.tally.connectionCount == 2)
            }
        }

        @Test("of 503 costs each try one push, and is over with the first good answer")
        func recovers() async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(.answer(.serviceUnavailable), when: .when { $0.count = 4 })
                #expect(
                    await rig.sender.send(SenderRig.batch(0..<100)).tally == [
                        .deferred(.serviceUnavailable, delayMilliseconds: 5_000): 4, .accepted: 96,
                    ])
                #expect(rig.simulator.statistics.tally.connectionCount == 5)
            }
        }

        @Test("of 429 for changing provider tokens holds the key and keeps its token")
        func tooManyProviderTokenUpdates() async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(.answer(.tooManyProviderTokenUpdates))
                let outcomes = await rig.sender.send(SenderRig.batch(0..<50))
                #expect(
                    outcomes.allSatisfy { if case .deferred(.tooManyProviderTokenUpdates, _) = $0 { true } else { false } })
                #expect(rig.requestCount == 1)
                #expect(rig.simulator.statistics.tally.connectionCount <= 2)
                #expect(rig.vault.state.withLock { $0.replacementCount } == 1)
                // Held for all batches, on all connections.
                #expect(
                    await rig.sender.send(SenderRig.batch(50..<60)).allSatisfy {
                        if case .deferred(.tooManyProviderTokenUpdates, _) = $0 { true } else { false }
                    })
                #expect(rig.requestCount == 1)
            }
        }

        @Test("hands back what an app has beside its oldest batch soon, and at once while APNs stays away")
        func company() async throws {
            try await SenderRig.run({
                $0.connectionWait = .seconds(600)
                $0.companionWait = .milliseconds(100)
            }) { rig in
                try await rig.simulator.changeSettings { $0.listens = false }
                let cancellation = Cancellation()
                async let probe = rig.sender.send(SenderRig.batch(0..<5, cancellation: cancellation))
                while await rig.sender.batchCount == 0 { await Task.yield() }
                let handedBack = PushOutcome.deferred(.connectionFailed, delayMilliseconds: 200)
                for device in [10, 20] {
                    #expect(await rig.sender.send(SenderRig.batch(device..<device + 3)).tally == [handedBack: 3])
                }
                // Another app's oldest batch waits as well, and both go out when APNs is back.
                async let other = rig.sender.send(
                    SenderRig.batch(30..<35, application: SenderRig.application(number: 2)))
                while await rig.sender.batchCount < 2 { await Task.yield() }
                try await rig.simulator.changeSettings { $0.listens = true }
                #expect(await probe.tally == [.accepted: 5])
                #expect(await other.tally == [.accepted: 5])
                #expect(await rig.sender.send(SenderRig.batch(10..<13)).tally == [.accepted: 3])
            }
        }
    }
}

extension APNsSender {
    /// Batches that its pools hold.
    fileprivate var batchCount: Int {
        get async {
            var count = 0
            for pool in pools.values { count += await pool.batchCount }
            return count
        }
    }
}

extension PushPool {
    fileprivate var batchCount: Int { lanes.count }
}
