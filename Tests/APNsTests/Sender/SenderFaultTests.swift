import APNsSimulator
import Gateway
import HTTP
import Security
import Testing

@testable import APNs

extension SenderTests {
    @Suite("Sender under faults", .timeLimit(.minutes(1))) struct Fault {
        static let reason = Array(#"{"reason":"Shutdown"}"#.utf8)
        static let goAways: [Rule.GoAway] = [
            Rule.GoAway(last: .this), Rule.GoAway(last: .all, debugData: reason), Rule.GoAway(last: .before, debugData: reason),
            Rule.GoAway(last: .none, code: 7, debugData: Array("Maximum active streams violated for this endpoint.".utf8)),
        ]

        @Test("sends what a GOAWAY does not cover on another connection, once", arguments: goAways)
        func goAway(goAway: Rule.GoAway) async throws {
            try await SenderRig.run(simulator: { $0.initialConcurrentStreams = 100 }) { rig in
                rig.simulator.script(
                    .does { $0.goAway = goAway },
                    when: .when {
                        $0.after = 60; $0.count = 1
                    })
                #expect(await rig.sender.send(SenderRig.batch(0..<500)).tally == [.accepted: 500])
                #expect(rig.counts(0..<500).accepted == [1])
                #expect(rig.simulator.statistics.tally.goAwayCount == 1)
                #expect(rig.simulator.statistics.tally.connectionCount >= 2)
            }
        }

        @Test("loses nothing when the peer keeps saying GOAWAY with 5,000 pushes queued")
        func repeatedGoAway() async throws {
            try await SenderRig.run(simulator: {
                $0.initialConcurrentStreams = 10; $0.concurrentStreams = 10
            }) { rig in
                rig.simulator.script(.does { $0.goAway = Rule.GoAway(last: .this) }, when: .when { $0.every = 500 })
                #expect(await rig.sender.send(SenderRig.batch(0..<5_000)).tally == [.accepted: 5_000])
                #expect(rig.counts(0..<5_000).accepted == [1])
            }
        }

        @Test("reconnects without visible errors when every 20th answer ends the connection")
        func sequentialGoAway() async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(.does { $0.goAway = Rule.GoAway(last: .this) }, when: .when { $0.every = 20 })
                for device in 0..<200 {
                    #expect(await rig.sender.send(SenderRig.batch(device..<device + 1)) == [.accepted])
                }
                #expect(rig.counts(0..<200).accepted == [1])
            }
        }

        @Test("gives up a push that is never answered; the others finish")
        func swallowed() async throws {
            try await SenderRig.run({ $0.answerTimeout = .seconds(1) }) { rig in
                rig.simulator.script(.does { $0.isSilent = true }, when: .when { $0.token = SenderRig.token(3) })
                let outcomes = await rig.sender.send(SenderRig.batch(0..<50))
                #expect(outcomes.enumerated().allSatisfy { $0.element == ($0.offset == 3 ? .unknown : .accepted) })
                #expect(rig.counts(0..<50).received == [1])
                #expect(await rig.sender.send(SenderRig.batch(50..<60)).tally == [.accepted: 10])
                #expect(rig.simulator.statistics.tally.cancelledCount == 1)
            }
        }

        @Test("gives up a connection that never completes its handshake, and takes another")
        func silentHandshake() async throws {
            try await SenderRig.run({ $0.connectTimeout = .milliseconds(150) }) { rig in
                _ = rig.simulator.add([.connection(.when { $0.count = 2 }) { $0.ignoresHandshake = true }])
                #expect(await rig.sender.send(SenderRig.batch(0..<50)).tally == [.accepted: 50])
                #expect(rig.log.contains("no SETTINGS in time"))
            }
        }

        @Test("sends nothing to a peer it cannot verify, and goes on when it can")
        func foreignCertificate() async throws {
            try await SenderRig.run { rig in
                _ = rig.simulator.add([.connection(.when { $0.count = 1 }) { $0.showsForeignCertificate = true }])
                #expect(await rig.sender.send(SenderRig.batch(0..<5)).tally == [.accepted: 5])
                #expect(rig.counts(0..<5).received == [1])
                #expect(rig.log.contains("connection to APNs ended"))
            }
        }

        @Test("tries new roots at once, however long it would have paused after failures")
        func replacedRoots() async throws {
            try await SenderRig.run({
                $0.firstBackOff = .seconds(600); $0.longestBackOff = .seconds(600)
            }) { rig in
                _ = rig.simulator.add([.connection(.when { $0.count = 1 }) { $0.showsForeignCertificate = true }])
                async let outcomes = rig.sender.send(SenderRig.batch(0..<5))
                while !rig.log.contains("connection to APNs ended") { await Task.yield() }
                let roots = rig.simulator.certificateAuthority.certificatePEM
                await rig.sender.replaceTLS(try TLSContext.client(extraRootsPEM: roots, applicationProtocols: ["h2"]))
                #expect(await outcomes.tally == [.accepted: 5])
            }
        }

        @Test("recovers from the loss of all connections; a push is repeated by nobody")
        func lostConnections() async throws {
            try await SenderRig.run(simulator: {
                $0.initialConcurrentStreams = 20; $0.concurrentStreams = 20
            }) { rig in
                rig.simulator.script(
                    .does { $0.close = .before },
                    when: .when {
                        $0.after = 100; $0.every = 100; $0.count = 3
                    })
                let outcomes = await rig.sender.send(SenderRig.batch(0..<500))
                #expect(outcomes.allSatisfy { $0 == .accepted || $0 == .unknown })
                #expect(outcomes.contains(.unknown))
                for (device, outcome) in outcomes.enumerated() {
                    let record = rig.simulator.record(of: SenderRig.token(device))
                    #expect(record?.receivedCount ?? 0 <= 1)
                    if outcome == .accepted { #expect(record?.acceptedCount == 1) }
                }
                #expect(await rig.sender.send(SenderRig.batch(500..<510)).tally == [.accepted: 10])
            }
        }

        @Test("says unknown when the peer read a push and closed without an answer")
        func closedAfterReading() async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(.does { $0.close = .before }, when: .when { $0.count = 1 })
                #expect(await rig.sender.send(SenderRig.batch(0..<1)) == [.unknown])
                #expect(rig.simulator.record(of: SenderRig.token(0))?.receivedCount == 1)
                #expect(await rig.sender.send(SenderRig.batch(0..<1)) == [.accepted])
            }
        }

        @Test("repeats what was refused unprocessed, and calls another reset unknown")
        func resets() async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(
                    .does { $0.resetCode = HTTP2ErrorCode.refusedStream },
                    when: .when {
                        $0.after = 1; $0.count = 7
                    })
                rig.simulator.script(
                    .does { $0.resetCode = HTTP2ErrorCode.internalError }, when: .when { $0.token = SenderRig.token(19) })
                let outcomes = await rig.sender.send(SenderRig.batch(0..<20))
                #expect(outcomes == Array(repeating: .accepted, count: 19) + [.unknown])
            }
        }

        @Test("waits for a service that refuses connections, then sends each push once")
        func refusedConnections() async throws {
            try await SenderRig.run { rig in
                try await rig.simulator.changeSettings { $0.listens = false }
                async let sending = rig.sender.send(SenderRig.batch(0..<50))
                while !rig.log.contains("connect") { await Task.yield() }
                try await rig.simulator.changeSettings { $0.listens = true }
                #expect(await sending.tally == [.accepted: 50])
                #expect(rig.counts(0..<50) == ([1], [1]))
            }
        }

        @Test("hands pushes back when no connection can be made for long")
        func noConnection() async throws {
            try await SenderRig.run({ $0.connectionWait = .milliseconds(200) }) { rig in
                try await rig.simulator.changeSettings { $0.listens = false }
                let outcomes = await rig.sender.send(SenderRig.batch(0..<3))
                #expect(outcomes.tally == [.deferred(.connectionFailed, delayMilliseconds: 200): 3])
            }
        }

        @Test("keeps one service's trouble from the other")
        func bulkhead() async throws {
            try await SenderRig.run { rig in
                _ = rig.simulator.add([.connection(.when { $0.environment = .production }) { $0.ignoresHandshake = true }])
                let cancellation = Cancellation()
                async let stuck = rig.sender.send(SenderRig.batch(0..<5, cancellation: cancellation))
                #expect(
                    await rig.sender.send(SenderRig.batch(10..<20, environment: .sandbox))
                        == Array(repeating: .accepted, count: 10))
                cancellation.cancel(.superseded)
                #expect(await stuck.tally == [.notSent: 5])
            }
        }

        @Test("uses several connections while pushes wait, and no more than allowed")
        func growth() async throws {
            try await SenderRig.run(
                { $0.connectionCount = 3 },
                simulator: {
                    $0.initialConcurrentStreams = 10; $0.concurrentStreams = 10
                }
            ) { rig in
                // One answer proves the first connection, then everything is held.
                rig.simulator.script(
                    .does { $0.isHeld = true },
                    when: .when {
                        $0.after = 1; $0.count = 28
                    })
                async let sending = rig.sender.send(SenderRig.batch(0..<500))
                while rig.simulator.statistics.tally.openConnectionCount < 2 { await Task.yield() }
                await rig.simulator.release()
                while rig.requestCount < 500 {
                    await rig.simulator.release()
                    await Task.yield()
                }
                await rig.simulator.release()
                #expect(await sending.tally == [.accepted: 500])
                #expect(rig.simulator.statistics.tally.connectionCount <= 3)
            }
        }
    }
}
