import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Testing

@testable import APNs

extension SenderTests {
    @Suite("Sender whose provider token has expired", .timeLimit(.minutes(1))) struct Token {
        /// APNs calls the first provider token expired, and keeps the answers to itself until they are released.
        private func refuseFirstToken(_ simulator: Simulator) {
            simulator.script(
                .does {
                    $0.answer = PushAnswer(.expiredProviderToken)
                    $0.isHeld = true
                }, when: .when { $0.providerToken = 1 })
        }

        /// How many provider tokens each connection saw.
        private func tokensOfConnections(_ simulator: Simulator) -> [Int] {
            Dictionary(grouping: simulator.requests(), by: \.connection).values.map { Set($0.map(\.providerToken)).count }
        }

        @Test(
            "while pushes under it are on several connections of several loops and environments: makes one, uses it on new connections only, and sends each push once"
        )
        func onSeveralConnections() async throws {
            try await SenderRig.run(
                {
                    $0.connectionCount = 2
                    $0.answerTimeout = .seconds(50)
                },
                simulator: {
                    $0.initialConcurrentStreams = 10
                    $0.concurrentStreams = 10
                }
            ) { rig in
                try await rig.withOtherLoop { other in
                    let pools: [(APNsSender, Gateway.PushEnvironment)] = [
                        (rig.sender, .production), (rig.sender, .sandbox), (other, .production), (other, .sandbox),
                    ]
                    // Each has a connection on which a push was accepted.
                    for (number, (sender, environment)) in pools.enumerated() {
                        let batch = SenderRig.batch(number..<number + 1, environment: environment)
                        #expect(await sender.send(batch) == [.accepted])
                    }
                    refuseFirstToken(rig.simulator)
                    async let first = rig.sender.send(SenderRig.batch(100..<122))
                    async let second = rig.sender.send(SenderRig.batch(200..<205, environment: .sandbox))
                    async let third = other.send(SenderRig.batch(300..<305))
                    async let fourth = other.send(SenderRig.batch(400..<405, environment: .sandbox))
                    // The first takes two connections, and two pushes of it wait until there is room for more.
                    #expect(await rig.simulator.waitForRequests(39).count == 39)
                    try await rig.simulator.changeSettings { $0.concurrentStreams = 30 }
                    let sent = await rig.simulator.waitForRequests(41)
                    #expect(Set(sent.map(\.connection)).count == 5)

                    // The answers of one connection come, and its pushes go out again, while all others keep silent.
                    let connection = try #require(sent.first { $0.token == SenderRig.token(100) }?.connection)
                    let answered = sent.filter { $0.connection == connection && $0.outcome == .pending }
                    for request in answered { await rig.simulator.release(token: request.token) }
                    let count = 41 + answered.count
                    #expect(await rig.simulator.waitForRequests(count).count == count)
                    for (number, (sender, environment)) in pools.enumerated() {
                        let batch = SenderRig.batch(500 + 10 * number..<505 + 10 * number, environment: environment)
                        #expect(await sender.send(batch).tally == [.accepted: 5])
                    }
                    await rig.simulator.release()
                    #expect(await first.tally == [.accepted: 22])
                    for outcomes in [await second, await third, await fourth] { #expect(outcomes.tally == [.accepted: 5]) }
                }
                for devices in [0..<4, 100..<122] { #expect(rig.counts(devices).accepted == [1]) }
                for first in [200, 300, 400, 500, 510, 520, 530] { #expect(rig.counts(first..<first + 5).accepted == [1]) }
                #expect(rig.vault.state.withLock { $0.replacementCount } == 2)
                #expect(rig.simulator.statistics.providerTokenCounts.values.map(\.self) == [2])
                #expect(tokensOfConnections(rig.simulator).allSatisfy { $0 == 1 })
                #expect(!rig.log.contains("pushes wait"))
            }
        }

        @Test("and was renewed meanwhile: what APNs refuses on their common connection is not held against the newer one")
        func onCommonConnection() async throws {
            let clock = SteppableClock()
            try await SenderRig.run(
                {
                    $0.connectionCount = 1
                    $0.answerTimeout = .seconds(50)
                }, simulator: { $0.initialConcurrentStreams = 10 }, clock: clock.clock
            ) { rig in
                #expect(await rig.sender.send(SenderRig.batch(0..<1)) == [.accepted])
                refuseFirstToken(rig.simulator)
                rig.simulator.script(
                    .does { $0.isHeld = true },
                    when: .when {
                        $0.providerToken = 2
                        $0.count = 3
                    })
                async let older = rig.sender.send(SenderRig.batch(10..<13))
                #expect(await rig.simulator.waitForRequests(4).count == 4)
                // A step of the wall clock renews a token that nobody refused yet.
                clock.step(-600)
                async let newer = rig.sender.send(SenderRig.batch(20..<23))
                #expect(await rig.simulator.waitForRequests(7).map(\.connection) == Array(repeating: 1, count: 7))
                await rig.simulator.release()
                #expect(await older.tally == [.accepted: 3])
                #expect(await newer.tally == [.accepted: 3])
                #expect(rig.vault.state.withLock { $0.replacementCount } == 2)
                #expect(rig.simulator.statistics.tally.connectionCount == 2)
                #expect(!rig.log.contains("pushes wait"))
            }
        }
    }
}

/// The system's clocks, but for a wall clock that can be stepped, and time that can be skipped.
final class SteppableClock: Sendable {
    private let offset = Mutex<Int64>(0)
    private let skipped = Mutex(Duration.zero)

    var clock: ProviderTokenClock {
        ProviderTokenClock(
            monotonic: { [self] in ProviderTokenClock.system.monotonic() + skipped.withLock { $0 } },
            wallSeconds: { [self] in ProviderTokenClock.system.wallSeconds() + offset.withLock { $0 } })
    }

    /// Steps the wall clock by so many seconds.
    func step(_ seconds: Int64) { offset.withLock { $0 += seconds } }

    /// Lets time pass that the wall clock does not show.
    func skip(_ duration: Duration) { skipped.withLock { $0 += duration } }
}
