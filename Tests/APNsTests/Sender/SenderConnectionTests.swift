import APNsSimulator
import Gateway
import Networking
import Synchronization
import Testing

@testable import APNs

extension SenderTests {
    @Suite("Connections of a sender", .timeLimit(.minutes(1))) struct Connections {
        /// How the first address of a service fails.
        enum Failure: CaseIterable {
            case refuses, acceptsAndIsSilent
        }

        @Test("go to another address when the first one is dead, each after a fresh look-up", arguments: Failure.allCases)
        func anotherAddress(failure: Failure) async throws {
            let lookUps = Atomic(0)
            let addresses = Mutex<[SocketAddress]>([])
            let change: @Sendable (inout APNsConfiguration) -> Void = {
                $0.connectTimeout = .milliseconds(200)
                $0.lookUp = { (_) async throws(ResolveError) -> [SocketAddress] in
                    lookUps.add(1, ordering: .relaxed)
                    return addresses.withLock { $0 }
                }
            }
            try await SenderRig.run(change) { rig in
                let port = rig.simulator.productionAddress.port
                let dead = try #require(SocketAddress(ipv4: "127.0.0.2", port: port))
                let alive = try #require(SocketAddress(ipv4: "127.0.0.1", port: port))
                // The system completes connections to it, and nobody ever says a word.
                let silent = failure == .refuses ? nil : try Listener.bind(dead)
                // Addresses take turns, the second before the first.
                addresses.withLock { $0 = [alive, dead] }
                #expect(await rig.sender.send(SenderRig.batch(0..<50)).tally == [.accepted: 50])
                #expect(rig.counts(0..<50) == ([1], [1]))
                #expect(lookUps.load(ordering: .relaxed) >= 2)
                #expect(rig.log.contains(dead.description))
                withExtendedLifetime(silent) {}
            }
        }

        @Test("ask with one PING an interval whether APNs is there, also after fifty that ended")
        func pings() async throws {
            let interval = Duration.milliseconds(100)
            try await SenderRig.run({ $0.pingInterval = interval }) { rig in
                rig.simulator.script(.does { $0.goAway = Rule.GoAway(last: .this) }, when: .when { $0.count = 50 })
                for device in 0..<51 {
                    #expect(await rig.sender.send(SenderRig.batch(device..<device + 1)) == [.accepted])
                }
                #expect(rig.simulator.statistics.tally.connectionCount >= 51)
                func waitForPings(_ count: Int) async {
                    while rig.simulator.statistics.tally.pingCount < count { await Task.yield() }
                }
                let before = rig.simulator.statistics.tally.pingCount
                await waitForPings(before + 1)
                let begin = ContinuousClock.now
                let openCount = rig.simulator.statistics.tally.openConnectionCount
                await waitForPings(before + 1 + 5 * openCount)
                // With a timer for each connection that ever was, they would come fifty times as fast. A slow machine is only slower.
                #expect(begin.duration(to: .now) >= interval * 4)
                #expect(rig.simulator.statistics.tally.openConnectionCount == openCount)
            }
        }

        @Test("that APNs left without a word while idle are noticed, and the next push goes out at once over another")
        func vanishedPeer() async throws {
            try await SenderRig.run({
                $0.pingInterval = .milliseconds(50)
                $0.pingTimeout = .milliseconds(50)
            }) { rig in
                #expect(await rig.sender.send(SenderRig.batch(0..<1)) == [.accepted])
                await rig.simulator.apply(.does { $0.stallMilliseconds = 600_000 })
                while !rig.log.contains("PING was not answered") { await Task.yield() }
                #expect(await rig.sender.send(SenderRig.batch(1..<2)) == [.accepted])
                #expect(rig.counts(0..<2) == ([1], [1]))
                #expect(rig.simulator.statistics.tally.connectionCount == 2)
            }
        }
    }
}
