import APNsSimulator
import Security
import TestSupport
import Testing

@Suite("A killed daemon's journal", .enabled(if: TestDatabase.isAvailable), .serialized, .timeLimit(.minutes(5)))
struct JournalTests {
    private static let deviceCount = 3_000
    private static let streamCount = 50
    private static let loopCount = 2
    private static let connectionCount = 2
    /// Most pushes one daemon can have on the wire.
    private static let wireCount = streamCount * loopCount * connectionCount

    private static let settings = [
        "OPENPUSH_EVENT_LOOPS": "\(loopCount)", "OPENPUSH_APNS_CONNECTIONS": "\(connectionCount)",
    ]

    private static let off = settings.merging(["OPENPUSH_JOURNAL_DIRECTORY": "off"]) { $1 }

    /// Begins a start of which APNs answers some and holds the rest.
    private func beginStart(_ gateway: Deployment) async throws -> String {
        try await gateway.storeDevices(Self.deviceCount)
        try await gateway.holdAnswers(after: 300, streams: UInt32(Self.streamCount))
        let start = try #require(try await gateway.start("match-1")["id"])
        #expect(await gateway.simulator.waitForRequests(350, timeout: .seconds(60)).count == 350)
        return start
    }

    /// APNs holds nothing back any more; with as few streams as before no answer takes long, however busy this machine is.
    private func answerEverything(_ gateway: Deployment) async {
        gateway.simulator.removeRules()
        await gateway.simulator.release()
    }

    /// The tokens whose pushes APNs got and did not answer, on connections numbered up to that one.
    private func held(_ gateway: Deployment, upTo connection: Int = .max) -> Set<String> {
        let requests = gateway.simulator.requests()
            .filter { $0.connection <= connection && $0.outcome != .answered(status: 200, reason: nil) }
        return Set(requests.map { Hexadecimal.encode($0.token ?? []) })
    }

    /// Every device was reached exactly once, but for those that were on the wire: they are unknown, and were not sent again.
    ///
    /// - Parameter held: what APNs had got and not answered when the daemon died.
    private func expectOnlyTheWireUnknown(
        _ gateway: Deployment, _ start: String, held: Set<String>, wireCount: Int = wireCount
    ) async throws {
        let totals = try await gateway.waitUntilFinished(start)
        let pushes = gateway.pushes()
        let unknown = try await gateway.startTokens(withStatus: 0)
        #expect(totals["state"] == "finished", "\(totals.text)")
        #expect(totals.number("targeted") == Int64(Self.deviceCount))
        #expect(totals.ended == Int64(Self.deviceCount) && totals.number("failed") == 0 && totals.number("pending") == 0)
        #expect(totals.number("unknown") == Int64(unknown.count))
        #expect(pushes.values.allSatisfy { $0 == 1 })
        #expect(unknown.count <= wireCount, "\(unknown.count) unknown; \(gateway.daemon.errors)")
        #expect(held.count >= Self.streamCount && held.isSubset(of: unknown))
        let all = Set((1...Self.deviceCount).map { Deployment.token("start", $0) })
        #expect(all.subtracting(pushes.keys).isSubset(of: unknown))
        #expect(try await gateway.startTokens(withStatus: 200) == all.subtracting(unknown))
    }

    @Test("leaves of a start only those unknown that were on the wire; the next daemon reaches every other device once")
    func narrowsStart() async throws {
        try await Deployment.run(settings: Self.settings) { gateway in
            let start = try await beginStart(gateway)
            #expect(gateway.journals.count == Self.loopCount)
            let dead = gateway.journals
            await gateway.daemon.crash()
            let held = held(gateway)
            await answerEverything(gateway)
            try await gateway.startDaemon()
            try await expectOnlyTheWireUnknown(gateway, start, held: held)
            #expect(gateway.daemon.errors.contains("A worker of this host died; its chunks are settled by its journal"))
            // The dead workers' journals go once no late claim can come.
            let deadline = ContinuousClock.now + .seconds(20)
            while !Set(gateway.journals).isDisjoint(with: dead), ContinuousClock.now < deadline {
                _ = try await gateway.summary(of: start)
            }
            #expect(gateway.journals.count == Self.loopCount && Set(gateway.journals).isDisjoint(with: dead))
        }
    }

    @Test("does so as well when the next daemon comes after the lease has run out")
    func narrowsLate() async throws {
        try await Deployment.run(settings: Self.settings) { gateway in
            let start = try await beginStart(gateway)
            try await gateway.crashDaemon()
            let held = held(gateway)
            await answerEverything(gateway)
            try await gateway.startDaemon()
            try await expectOnlyTheWireUnknown(gateway, start, held: held)
        }
    }

    @Test("is settled at once by another daemon of the same host, which is in the middle of the same start")
    func isTakenOver() async throws {
        try await Deployment.run(settings: Self.settings) { gateway in
            let victim = gateway.daemon
            let start = try await beginStart(gateway)
            let last = try #require(gateway.simulator.requests().map(\.connection).max())
            // It claims what the first one has not; either may have a part of the start now.
            let survivor = try await gateway.startDaemon()
            await victim.crash()
            let held = held(gateway, upTo: last)
            await answerEverything(gateway)
            try await expectOnlyTheWireUnknown(gateway, start, held: held)
            #expect(survivor.errors.contains("A worker of this host died; its chunks are settled by its journal"))
        }
    }

    @Test("survives that the one who settles it is killed as well")
    func survivesSecondCrash() async throws {
        try await Deployment.run(settings: Self.settings) { gateway in
            let start = try await beginStart(gateway)
            await gateway.daemon.crash()
            try await gateway.startDaemon()
            // It reaches APNs, so the first journals are settled; what it sends is held again.
            let before = gateway.simulator.requests().count
            #expect(await gateway.simulator.waitForRequests(before + 1, timeout: .seconds(60)).count == before + 1)
            await gateway.daemon.crash()
            let held = held(gateway)
            await answerEverything(gateway)
            try await gateway.startDaemon()
            try await expectOnlyTheWireUnknown(gateway, start, held: held, wireCount: 2 * Self.wireCount)
        }
    }

    @Test("repeats of an update only what was on the wire")
    func narrowsUpdate() async throws {
        try await Deployment.run(settings: Self.settings) { gateway in
            try await gateway.registerDevices(1...300)
            try await gateway.registerUpdateTokens(1...300, activity: "match-1")
            try await gateway.holdAnswers(after: 100, streams: UInt32(Self.streamCount))
            let update = try #require(try await gateway.push("update", "match-1")["id"])
            #expect(await gateway.simulator.waitForRequests(150, timeout: .seconds(60)).count == 150)
            await gateway.daemon.crash()
            await answerEverything(gateway)
            try await gateway.startDaemon()

            let totals = try await gateway.waitUntilFinished(update)
            #expect(totals.number("targeted") == 300 && totals.number("accepted") == 300, "\(totals.text)")
            let pushes = gateway.pushes()
            #expect(pushes.count == 300 && pushes.values.allSatisfy { $0 <= 2 })
            #expect(pushes.values.filter { $0 == 2 }.count <= Self.wireCount)
            // Those were answered, and their outcomes were known only to the journal.
            #expect(pushes.values.filter { $0 == 1 }.count >= 300 - Self.wireCount)
        }
    }

    @Test("that is switched off leaves whole chunks unknown, and no device with two cards")
    func isOff() async throws {
        try await Deployment.run(settings: Self.off) { gateway in
            let start = try await beginStart(gateway)
            #expect(gateway.journals.isEmpty)
            try await gateway.crashDaemon()
            await answerEverything(gateway)
            try await gateway.startDaemon()
            let totals = try await gateway.waitUntilFinished(start)
            #expect(totals["state"] == "finished" && totals.ended == Int64(Self.deviceCount), "\(totals.text)")
            let unknown = totals.number("unknown") ?? 0
            #expect(unknown >= 1_000 && unknown % 1_000 == 0)
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("is left behind by no daemon that stops in order")
    func goesInOrder() async throws {
        try await Deployment.run(settings: Self.settings) { gateway in
            try await gateway.registerDevices(1...3)
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(gateway.journals.count == Self.loopCount)
            #expect(await gateway.daemon.terminate() == 0)
            #expect(gateway.journals.isEmpty)
        }
    }

    @Test("that cannot be written costs a warning, and nothing else")
    func worksWithout() async throws {
        try await Deployment.run(settings: ["OPENPUSH_JOURNAL_DIRECTORY": "/proc/openpushd"]) { gateway in
            try await gateway.registerDevices(1...3)
            let totals = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(totals.number("accepted") == 3)
            #expect(gateway.daemon.errors.contains("No journal can be written"))
        }
    }
}
