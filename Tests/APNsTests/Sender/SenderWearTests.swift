import APNsSimulator
import Gateway
import HTTP
import Networking
import Synchronization
import Testing

@testable import APNs

extension SenderTests {
    @Suite("Sender and the life of its connections", .timeLimit(.minutes(1))) struct Wear {
        @Test("loses nothing when connections wear out")
        func wornOut() async throws {
            try await SenderRig.run({ $0.requestCount = 50 }) { rig in
                #expect(await rig.sender.send(SenderRig.batch(0..<500)).tally == [.accepted: 500])
                #expect(rig.counts(0..<500) == ([1], [1]))
                // A turn of a batch may go a little beyond.
                #expect(rig.simulator.statistics.tally.connectionCount >= 500 / (50 + LaneRing.turnCount))
            }
        }

        @Test("goes on after all connections were closed at once, three times: what had left is unknown, and sent once")
        func allClosed() async throws {
            try await SenderRig.run(simulator: {
                $0.initialConcurrentStreams = 10; $0.concurrentStreams = 10
            }) { rig in
                rig.simulator.script(.does { $0.isHeld = true })
                async let sending = rig.sender.send(SenderRig.batch(0..<30))
                for round in 1...3 {
                    #expect(await rig.simulator.waitForRequests(10 * round).count == 10 * round)
                    await rig.simulator.apply(.does { $0.close = .before })
                }
                #expect(await sending.tally == [.unknown: 30])
                #expect(rig.counts(0..<30).received == [1])
                rig.simulator.removeRules()
                #expect(await rig.sender.send(SenderRig.batch(30..<40)).tally == [.accepted: 10])
            }
        }

        @Test("keeps an app whose service hangs from the app of another key")
        func keysAreApart() async throws {
            try await SenderRig.run { rig in
                let other = SenderRig.application(
                    number: 2, bundleID: "org.example.other", providerKey: SenderRig.otherProviderKey)
                rig.simulator.script(
                    .does { $0.isHeld = true }, when: .when { $0.topic = "org.example.match.push-type.liveactivity" })
                async let hanging = rig.sender.send(SenderRig.batch(0..<5))
                #expect(await rig.simulator.waitForRequests(1).count == 1)
                #expect(await rig.sender.send(SenderRig.batch(10..<60, application: other)).tally == [.accepted: 50])
                // Nothing of the first was answered meanwhile.
                #expect(rig.counts(0..<5).accepted == [0])
                rig.simulator.removeRules()
                await rig.simulator.release()
                #expect(await hanging.tally == [.accepted: 5])
            }
        }

        @Test("sends the pushes of two topics of one key, on several connections, under one token")
        func topicsShareToken() async throws {
            try await SenderRig.run { rig in
                let other = SenderRig.application(number: 2, bundleID: "org.example.other")
                let sender = rig.sender
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<20 {
                        group.addTask {
                            let batch = SenderRig.batch(
                                number * 10..<number * 10 + 10, application: number % 2 == 0 ? other : SenderRig.application(),
                                environment: number % 4 < 2 ? .sandbox : .production)
                            #expect(await sender.send(batch).tally == [.accepted: 10])
                        }
                    }
                }
                let requests = rig.simulator.requests()
                #expect(Set(requests.map(\.connection)).count >= 2)
                #expect(Set(requests.compactMap { $0.request?.headers["authorization"] }).count == 1)
                #expect(Set(requests.compactMap { $0.request?.headers["apns-topic"] }).count == 2)
            }
        }

        @Test("takes a host's addresses in turns")
        func addressesTakeTurns() async throws {
            try await SenderRig.run { rig in
                #expect(await rig.sender.send(SenderRig.batch(0..<1)) == [.accepted])
                let pool = try #require(await rig.sender.pools.values.first)
                let addresses = try ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map {
                    try #require(SocketAddress(ipv4: $0, port: 443))
                }
                var taken: Set<SocketAddress> = []
                for _ in addresses { taken.insert(await pool.nextAddress(of: addresses)) }
                #expect(taken == Set(addresses))
                // The one that has a connection comes last.
                let used = try #require(SocketAddress(ipv4: "127.0.0.1", port: rig.simulator.productionAddress.port))
                for _ in 0..<3 { #expect(await pool.nextAddress(of: [used, addresses[0]]) == addresses[0]) }
            }
        }
    }
}
