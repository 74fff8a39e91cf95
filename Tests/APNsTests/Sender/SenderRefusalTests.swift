import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Testing

@testable import APNs

extension SenderTests {
    @Suite("Sender and refusals between acceptances", .timeLimit(.minutes(1))) struct Refusals {
        /// Sends 60 devices' pushes on two loops each; every 20th is refused, and all answers of a loop come in one piece.
        private func outcomesOfOneRead(_ reason: Reason, _ rig: SenderRig, _ other: APNsSender) async throws -> [[PushOutcome]] {
            for sender in [rig.sender, other] { #expect(await sender.send(SenderRig.batch(0..<1)) == [.accepted]) }
            for device in stride(from: 119, to: 260, by: 20) where !(160..<200).contains(device) {
                rig.simulator.script(
                    .does {
                        $0.answer = PushAnswer(reason)
                        $0.isHeld = true
                    }, when: .when { $0.token = SenderRig.token(device) })
            }
            rig.simulator.script(.does { $0.isHeld = true })
            async let one = rig.sender.send(SenderRig.batch(100..<160))
            async let two = other.send(SenderRig.batch(200..<260))
            #expect(await rig.simulator.waitForRequests(122).count == 122)
            await rig.simulator.release()
            rig.simulator.removeRules()
            return [await one, await two]
        }

        @Test("holds no key for one invalid provider token in twenty, whatever another loop asks meanwhile")
        func keyIsNotHeld() async throws {
            try await SenderRig.run(simulator: { $0.initialConcurrentStreams = 100 }) { rig in
                try await rig.withOtherLoop { other in
                    let waits = PushOutcome.deferred(.invalidProviderToken, delayMilliseconds: 60_000)
                    for outcomes in try await outcomesOfOneRead(.invalidProviderToken, rig, other) {
                        #expect(outcomes.tally == [.accepted: 57, waits: 3])
                    }
                    #expect(!rig.log.contains("pushes wait"))
                    #expect(await rig.sender.send(SenderRig.batch(300..<310)).tally == [.accepted: 10])
                    #expect(await other.send(SenderRig.batch(310..<320)).tally == [.accepted: 10])
                    #expect(rig.vault.state.withLock { $0.replacementCount } == 1)
                }
            }
        }

        @Test("holds no app for one refused topic in twenty")
        func applicationIsNotHeld() async throws {
            try await SenderRig.run(simulator: { $0.initialConcurrentStreams = 100 }) { rig in
                try await rig.withOtherLoop { other in
                    for outcomes in try await outcomesOfOneRead(.topicDisallowed, rig, other) {
                        #expect(outcomes.tally == [.accepted: 57, .rejected(.topicDisallowed): 3])
                    }
                    #expect(!rig.log.contains("refuses the app's set-up"))
                    #expect(await rig.sender.send(SenderRig.batch(300..<310)).tally == [.accepted: 10])
                }
            }
        }

        @Test("keeps a connection on which every other stream is refused")
        func connectionIsKept() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }, simulator: { $0.initialConcurrentStreams = 1_000 }) { rig in
                #expect(await rig.sender.send(SenderRig.batch(0..<1)) == [.accepted])
                // While APNs reads nothing, everything gathers; then its answers come in one piece.
                rig.simulator.script(.does { $0.stallMilliseconds = 500 }, when: .when { $0.count = 1 })
                #expect(await rig.sender.send(SenderRig.batch(1..<2)) == [.accepted])
                let count = 2 * (APNsConnection.refusedInARowLimit + 1)
                rig.simulator.script(
                    .does { $0.resetCode = HTTP2ErrorCode.refusedStream },
                    when: .when {
                        $0.every = 2
                        $0.count = count / 2
                    })
                #expect(await rig.sender.send(SenderRig.batch(10..<10 + count, bodyByteCount: 10)).tally == [.accepted: count])
                #expect(rig.simulator.statistics.tally.connectionCount == 1)
            }
        }
    }
}
