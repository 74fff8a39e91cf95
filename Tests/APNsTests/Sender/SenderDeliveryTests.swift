import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Testing

@testable import APNs

extension SenderTests {
    @Suite("Sender", .timeLimit(.minutes(1))) struct Delivery {
        @Test("sends each push once, with Apple's header fields and the body as rendered", arguments: [1, 1_000, 5_000])
        func deliversAll(count: Int) async throws {
            try await SenderRig.run { rig in
                let firsts = Mutex(0)
                let batch = SenderRig.batch(0..<count, collapseID: "match-1") { firsts.withLock { $0 += 1 } }
                #expect(await rig.sender.send(batch).tally == [.accepted: count])
                #expect(rig.counts(0..<count) == ([1], [1]))
                #expect(firsts.withLock { $0 } == 1)
                #expect(rig.requestCount == count)
                #expect(rig.simulator.statistics.tally.shapeErrorCount == 0)
                #expect(rig.simulator.statistics.providerTokenCounts.values.map { $0 } == [1])
                let request = try #require(rig.simulator.requests(RequestQuery(token: SenderRig.token(count - 1))).first?.request)
                #expect(request.method == "POST")
                #expect(request.headers["apns-topic"] == "org.example.match.push-type.liveactivity")
                #expect(request.headers["apns-push-type"] == "liveactivity")
                #expect(request.headers["apns-priority"] == "10")
                #expect(request.headers["apns-expiration"] == "4000000000")
                #expect(request.headers["apns-collapse-id"] == "match-1")
                let identifier = UUID.ofPush(notification: NotificationID(rawValue: 7), device: Int64(count - 1))
                #expect(request.headers["apns-id"] == identifier.description)
                #expect(request.headers["authorization"]?.hasPrefix("bearer ey") == true)
                #expect(request.body == batch.bodies[0])
            }
        }

        @Test("of an empty batch and of a cancelled one sends nothing")
        func nothing() async throws {
            try await SenderRig.run { rig in
                #expect(await rig.sender.send(SenderRig.batch(0..<0)).isEmpty)
                let cancellation = Cancellation()
                cancellation.cancel(.superseded)
                #expect(await rig.sender.send(SenderRig.batch(0..<2, cancellation: cancellation)) == [.notSent, .notSent])
                #expect(rig.requestCount == 0)
            }
        }

        @Test("chooses the body by language and the host by environment")
        func bodies() async throws {
            try await SenderRig.run { rig in
                let one = SenderRig.batch(0..<2)
                let two = SenderRig.batch(0..<2, bodyByteCount: 300)
                let batch = PushBatch(
                    application: one.application, service: .apnsSandbox, notification: one.notification, collapseID: nil,
                    priority: 5, expiresAt: 4_000_000_000, bodies: one.bodies + two.bodies, devices: one.devices,
                    tokens: one.tokens, bodyIndexes: [1, 0], cancellation: Cancellation(), onFirstAccepted: nil)
                #expect(await rig.sender.send(batch) == [.accepted, .accepted])
                for (device, body) in [(0, two.bodies[0]), (1, one.bodies[0])] {
                    let recorded = try #require(rig.simulator.requests(RequestQuery(token: SenderRig.token(device))).first)
                    #expect(recorded.environment == .sandbox)
                    #expect(recorded.request?.body == body)
                    #expect(recorded.request?.headers["apns-priority"] == "5")
                    #expect(recorded.request?.headers["apns-collapse-id"] == nil)
                }
            }
        }

        @Test("uses the streams APNs allows, and lets the rest wait in the queue")
        func advertisedStreams() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }, simulator: { $0.initialConcurrentStreams = 1000 }) { rig in
                rig.simulator.script(.does { $0.isHeld = true })
                async let outcomes = rig.sender.send(SenderRig.batch(0..<1_001))
                #expect(await rig.simulator.waitForRequests(1_000).count == 1_000)
                await rig.simulator.release(upTo: 1)
                #expect(await rig.simulator.waitForRequests(1_001).count == 1_001)
                await rig.simulator.release()
                #expect(await outcomes.tally == [.accepted: 1_001])
                #expect(rig.simulator.statistics.tally.mostConcurrentStreams == 1_000)
            }
        }

        @Test("sends one push before the first answer when APNs allows one stream")
        func oneStreamFirst() async throws {
            // The simulator allows more as soon as it has a push, which may be before this looks.
            try await SenderRig.run(simulator: { $0.concurrentStreams = 1 }) { rig in
                rig.simulator.script(.does { $0.isHeld = true }, when: .when { $0.count = 1 })
                async let outcomes = rig.sender.send(SenderRig.batch(0..<50))
                #expect(await rig.simulator.waitForRequests(1).count == 1)
                #expect(rig.simulator.statistics.tally.mostConcurrentStreams == 1)
                await rig.simulator.release()
                #expect(await outcomes.tally == [.accepted: 50])
            }
        }

        @Test("obeys a lower number of streams in the middle of a batch")
        func loweredStreams() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }, simulator: { $0.initialConcurrentStreams = 100 }) { rig in
                rig.simulator.script(
                    .does { $0.settings = [.maxConcurrentStreams(2)] },
                    when: .when {
                        $0.after = 10; $0.count = 1
                    })
                #expect(await rig.sender.send(SenderRig.batch(0..<1_000)).tally == [.accepted: 1_000])
                #expect(rig.counts(0..<1_000).accepted == [1])
            }
        }

        @Test("obeys small flow-control windows", arguments: [1, 100, 65_535] as [UInt32])
        func windows(byteCount: UInt32) async throws {
            try await SenderRig.run { rig in
                _ = rig.simulator.add([
                    .connection { $0.settings = [.initialWindowSize(byteCount), .maxConcurrentStreams(100)] }
                ])
                let count = byteCount == 1 ? 3 : 200
                let batch = SenderRig.batch(0..<count, bodyByteCount: byteCount == 1 ? 20 : 3_000)
                #expect(await rig.sender.send(batch).tally == [.accepted: count])
                let recorded = rig.simulator.requests()
                #expect(recorded.allSatisfy { $0.request?.body == batch.bodies[0] })
            }
        }

        @Test("lets apps and notifications take turns")
        func fairness() async throws {
            try await SenderRig.run(
                { $0.connectionCount = 1 },
                simulator: {
                    $0.initialConcurrentStreams = 10; $0.concurrentStreams = 10
                }
            ) { rig in
                rig.simulator.script(.does { $0.isHeld = true }, when: .when { $0.count = 1 })
                async let many = rig.sender.send(SenderRig.batch(0..<2_000))
                #expect(await rig.simulator.waitForRequests(10).count == 10)
                async let few = rig.sender.send(
                    SenderRig.batch(5_000..<5_020, application: SenderRig.application(number: 2), notification: 8))
                // Both are queued before the streams go on.
                await rig.simulator.release()
                #expect(await few.allSatisfy { $0 == .accepted })
                #expect(await many.allSatisfy { $0 == .accepted })
                let order = rig.simulator.requests().map(\.token)
                let last = try #require(order.lastIndex { $0 == SenderRig.token(5_019) })
                #expect(last < 500, "the small batch waited for \(last) pushes of the large one")
            }
        }

        @Test("stops a cancelled batch and awaits what is on the wire")
        func cancellation() async throws {
            try await SenderRig.run(
                { $0.connectionCount = 1 },
                simulator: {
                    $0.initialConcurrentStreams = 10; $0.concurrentStreams = 10
                }
            ) { rig in
                rig.simulator.script(.does { $0.isHeld = true })
                let cancellation = Cancellation()
                async let sending = rig.sender.send(SenderRig.batch(0..<100, cancellation: cancellation))
                #expect(await rig.simulator.waitForRequests(10).count == 10)
                cancellation.cancel(.superseded)
                await rig.simulator.release()
                let outcomes = await sending
                #expect(outcomes.prefix(10).allSatisfy { $0 == .accepted })
                #expect(outcomes.dropFirst(10).allSatisfy { $0 == .notSent })
                #expect(rig.requestCount == 10)
            }
        }

        @Test("drains: awaits what is on the wire, hands back the rest, and takes nothing new")
        func drain() async throws {
            try await SenderRig.run(
                { $0.connectionCount = 1 },
                simulator: {
                    $0.initialConcurrentStreams = 10; $0.concurrentStreams = 10
                }
            ) { rig in
                rig.simulator.script(.does { $0.isHeld = true })
                async let sending = rig.sender.send(SenderRig.batch(0..<100))
                #expect(await rig.simulator.waitForRequests(10).count == 10)
                async let drained: Void = rig.sender.drain(timeout: .seconds(10))
                await rig.sender.waitForDrain()
                #expect(await rig.sender.send(SenderRig.batch(100..<101)) == [.notSent])
                await rig.simulator.release()
                let outcomes = await sending
                await drained
                #expect(outcomes.filter { $0 == .accepted }.count == 10)
                #expect(outcomes.filter { $0 == .notSent }.count == 90)
                #expect(await rig.sender.send(SenderRig.batch(100..<101)) == [.notSent])
                #expect(rig.requestCount == 10)
            }
        }

        @Test("drains within its timeout: what has no answer is unknown")
        func drainTimeout() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }, simulator: { $0.concurrentStreams = 1 }) { rig in
                rig.simulator.script(.does { $0.isSilent = true })
                async let sending = rig.sender.send(SenderRig.batch(0..<3))
                #expect(await rig.simulator.waitForRequests(1).count == 1)
                await rig.sender.drain(timeout: .milliseconds(50))
                #expect(await sending == [.unknown, .notSent, .notSent])
            }
        }
    }
}
