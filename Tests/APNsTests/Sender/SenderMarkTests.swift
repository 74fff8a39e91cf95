import APNsSimulator
import Gateway
import HTTP
import Synchronization
import Testing

@testable import APNs

/// A page that keeps every mark it was ever given.
private final class MarkedPage: JournalPage {
    private let history: Mutex<[[PushMark]]>
    init(count: Int) { history = Mutex(Array(repeating: [], count: count)) }

    var marks: [PushMark] { history.withLock { $0.map { $0.last ?? .unsent } } }
    func history(_ index: Int) -> [PushMark] { history.withLock { $0[index] } }
    func mark(_ index: Int, _ mark: PushMark) { history.withLock { $0[index].append(mark) } }
    func close() {}
}

extension SenderTests {
    @Suite("Sender and its journal", .timeLimit(.minutes(1))) struct Marks {
        private static let accepted = PushMark(.accepted)

        /// A batch whose marks begin at index 2 of a page.
        private func marked(_ devices: Range<Int>) -> (batch: PushBatch, page: MarkedPage) {
            var batch = SenderRig.batch(devices)
            let page = MarkedPage(count: devices.count + 2)
            batch.marks = PushMarks(page: page, first: 2)
            return (batch, page)
        }

        @Test("marks what is on the wire before APNs sees it, and nothing that waits for a stream")
        func marksSubmitted() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }, simulator: { $0.initialConcurrentStreams = 20 }) { rig in
                try await rig.simulator.changeSettings { $0.concurrentStreams = 20 }
                rig.simulator.script(.does { $0.isHeld = true })
                let (batch, page) = marked(0..<100)
                async let outcomes = rig.sender.send(batch)
                let received = await rig.simulator.waitForRequests(20)
                let marks = page.marks
                #expect(received.count == 20 && marks.filter { $0 == .submitted }.count == 20)
                for device in 0..<100 {
                    let isReceived = received.contains { $0.token == SenderRig.token(device) }
                    #expect(marks[device + 2] == (isReceived ? .submitted : .unsent))
                }
                #expect(marks[0] == .unsent && marks[1] == .unsent)
                rig.simulator.removeRules()
                await rig.simulator.release()
                #expect(await outcomes.tally == [.accepted: 100])
                #expect(page.marks[2...].allSatisfy { $0 == Self.accepted })
                #expect(page.history(2) == [.submitted, Self.accepted])
            }
        }

        @Test("marks each outcome; a push that is to be tried later counts as unsent, one without an answer as submitted")
        func marksOutcomes() async throws {
            try await SenderRig.run({ $0.answerTimeout = .seconds(1) }) { rig in
                rig.simulator.declare([
                    DeviceTokenDeclaration(SenderRig.token(1), in: .production, state: .unregistered(since: 1_700_000_000_123))
                ])
                rig.simulator.script(.answer(.tooManyRequests), when: .when { $0.token = SenderRig.token(2) })
                rig.simulator.script(.does { $0.isSilent = true }, when: .when { $0.token = SenderRig.token(3) })
                let (batch, page) = marked(0..<5)
                _ = await rig.sender.send(batch)
                #expect(
                    page.marks[2...] == [Self.accepted, PushMark(.rejected(.unregistered)), .unsent, .submitted, Self.accepted])
            }
        }

        @Test("takes the mark back from what was provably not processed, and sets it again with the next try")
        func takesMarksBack() async throws {
            try await SenderRig.run { rig in
                rig.simulator.script(
                    .does { $0.resetCode = HTTP2ErrorCode.refusedStream },
                    when: .when {
                        $0.token = SenderRig.token(3); $0.count = 1
                    })
                rig.simulator.script(
                    .answer(.shutdown),
                    when: .when {
                        $0.token = SenderRig.token(7); $0.count = 1
                    })
                let (batch, page) = marked(0..<10)
                #expect(await rig.sender.send(batch).tally == [.accepted: 10])
                for device in [3, 7] {
                    #expect(page.history(device + 2) == [.submitted, .unsent, .submitted, Self.accepted])
                }
            }
        }

        @Test("leaves the mark on what may have left a connection that was lost, and on nothing else")
        func marksLostConnection() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }, simulator: { $0.initialConcurrentStreams = 10 }) { rig in
                try await rig.simulator.changeSettings { $0.concurrentStreams = 10 }
                rig.simulator.script(
                    .does { $0.close = .before },
                    when: .when {
                        $0.after = 25; $0.count = 1
                    })
                let (batch, page) = marked(0..<50)
                let outcomes = await rig.sender.send(batch)
                #expect(outcomes.contains(.unknown))
                #expect(page.marks[2...].elementsEqual(outcomes.map(PushMark.init)))
            }
        }

        @Test("leaves nothing marked that a stopping sender hands back")
        func marksDrained() async throws {
            try await SenderRig.run({ $0.connectionCount = 1 }, simulator: { $0.initialConcurrentStreams = 10 }) { rig in
                try await rig.simulator.changeSettings { $0.concurrentStreams = 10 }
                rig.simulator.script(.does { $0.isHeld = true })
                let (batch, page) = marked(0..<50)
                async let outcomes = rig.sender.send(batch)
                #expect(await rig.simulator.waitForRequests(10).count == 10)
                async let drained: Void = rig.sender.drain(timeout: .seconds(10))
                await rig.sender.waitForDrain()
                await rig.simulator.release()
                await drained
                let tally = await outcomes.tally
                #expect(tally == [.accepted: 10, .notSent: 40])
                #expect(page.marks[2...].filter { $0 == .unsent }.count == 40)
            }
        }
    }
}
