import APNsSimulator
import Foundation
import HTTP
import JSON
import Security
import Synchronization
import TestSupport
import Testing

/// Everything happens to real processes, and the pushes APNs got are counted one by one.
@Suite("Whatever is killed in the middle", .enabled(if: TestDatabase.isAvailable), .serialized, .timeLimit(.minutes(5)))
struct ChaosTests {
    private static let deviceCount = 2_000
    private static let settings = ["OPENPUSH_EVENT_LOOPS": "2", "OPENPUSH_APNS_CONNECTIONS": "2"]
    /// Most pushes on the wire: 50 streams of 2 connections of 2 loops.
    private static let wireCount = 50 * 2 * 2

    private func withCluster(_ body: (PrivateCluster, Deployment) async throws -> Void) async throws {
        let cluster = try await PrivateCluster.start()
        do {
            try await Deployment.run(settings: Self.settings, databaseURL: cluster.url) { try await body(cluster, $0) }
        } catch {
            await cluster.remove()
            throw error
        }
        await cluster.remove()
    }

    /// Begins a start of which APNs answers some and holds the rest.
    private func beginStart(_ gateway: Deployment) async throws -> String {
        try await gateway.storeDevices(Self.deviceCount)
        try await gateway.holdAnswers(after: 300)
        let start = try #require(try await gateway.start("match-1")["id"])
        #expect(await gateway.simulator.waitForRequests(350, timeout: .seconds(60)).count == 350)
        return start
    }

    private func answerEverything(_ gateway: Deployment) async {
        gateway.simulator.removeRules()
        await gateway.simulator.release()
    }

    @Test("PostgreSQL by kill -9, a start that is half sent goes on: every device gets it once, none is unknown")
    func databaseInFanOut() async throws {
        try await withCluster { cluster, gateway in
            let start = try await beginStart(gateway)
            try await cluster.crash()
            // Answers come in, and pushes go out, while their outcomes have no place to go.
            await answerEverything(gateway)
            try await cluster.start()
            let totals = try await gateway.waitUntilReachable(start)
            #expect(totals.number("accepted") == Int64(Self.deviceCount), "\(totals.text) \(gateway.daemon.errors)")
            #expect(gateway.pushes().count == Self.deviceCount)
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("PostgreSQL and the daemon together, of a start only what was on the wire is unknown, and nobody gets it twice")
    func everythingInFanOut() async throws {
        try await withCluster { cluster, gateway in
            let start = try await beginStart(gateway)
            async let gone: Void = gateway.daemon.crash()
            try await cluster.crash()
            await gone
            let held = Set(
                gateway.simulator.requests().filter { $0.outcome != .answered(status: 200, reason: nil) }
                    .map { Hexadecimal.encode($0.token ?? []) })
            await answerEverything(gateway)
            try await cluster.start()
            try await gateway.startDaemon()

            let totals = try await gateway.waitUntilReachable(start)
            let unknown = try await gateway.startTokens(withStatus: 0)
            let all = Set((1...Self.deviceCount).map { Deployment.token("start", $0) })
            #expect(totals["state"] == "finished" && totals.ended == Int64(Self.deviceCount), "\(totals.text)")
            #expect(totals.number("failed") == 0 && totals.number("unknown") == Int64(unknown.count))
            #expect(unknown.count <= Self.wireCount && held.isSubset(of: unknown), "\(unknown.count) unknown, \(held.count) held")
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
            #expect(all.subtracting(gateway.pushes().keys).isSubset(of: unknown))
            #expect(try await gateway.startTokens(withStatus: 200) == all.subtracting(unknown))
        }
    }

    @Test("PostgreSQL by kill -9 while starts come in, each that is repeated until it is accepted reaches every device once")
    func databaseUnderLoad() async throws {
        try await withCluster { cluster, gateway in
            try await gateway.storeDevices(Load.deviceCount)
            let load = Load(gateway: gateway)
            try await load.run {
                #expect(await gateway.simulator.waitForRequests(5 * Load.deviceCount, timeout: .seconds(60)).count > 0)
                try await cluster.crash()
                try await cluster.start()
            }
            try await load.expectEachOnce()
        }
    }

    @Test("the daemon by SIGTERM while starts come in, it ends in order, and each start reaches every device once")
    func stopUnderLoad() async throws {
        try await Deployment.run(settings: Self.settings) { gateway in
            try await gateway.storeDevices(Load.deviceCount)
            try await gateway.simulator.changeSettings { $0.latencyMilliseconds = 5...20 }
            let load = Load(gateway: gateway)
            try await load.run {
                #expect(await gateway.simulator.waitForRequests(5 * Load.deviceCount, timeout: .seconds(60)).count > 0)
                #expect(await gateway.daemon.terminate() == 0)
                try await gateway.startDaemon()
            }
            #expect(try await gateway.startTokens(withStatus: 0).isEmpty)
            try await load.expectEachOnce()
        }
    }
}

/// Callers that start one activity after another, and repeat with its idempotency key each start that was not answered 201.
private struct Load: Sendable {
    static let deviceCount = 50
    /// Within the 60 that an app may send a minute.
    static let startCount = 40
    private static let callerCount = 4

    let gateway: Deployment
    private let accepted = SharedStarts()

    init(gateway: Deployment) { self.gateway = gateway }

    /// Runs the callers and, meanwhile, what goes wrong.
    func run(_ fault: () async throws -> Void) async throws {
        async let calling: Void = gateway.concurrently(1...Self.startCount, atOnce: Self.callerCount) { try await call($0) }
        do { try await fault() } catch {
            try? await calling
            throw error
        }
        try await calling
    }

    /// Starts the match until it is accepted; a complaint when that takes too long.
    private func call(_ number: Int) async throws -> String? {
        let key = UUID().uuidString.lowercased()
        let deadline = ContinuousClock.now + .seconds(60)
        var last = "no answer"
        while ContinuousClock.now < deadline {
            // No answer at all is what a caller gets from a daemon that was killed.
            guard let answer = try? await gateway.start("match-\(number)", more: #","idempotency_key":"\#(key)""#) else {
                continue
            }
            if answer.status == 201, let id = answer["id"] {
                accepted.add(id)
                return nil
            }
            last = answer.text
            if answer.status != 503 { break }
        }
        return "match-\(number): \(last)"
    }

    func expectEachOnce() async throws {
        #expect(Set(accepted.all).count == Self.startCount, "each start is one notification")
        for start in accepted.all {
            let totals = try await gateway.waitUntilReachable(start)
            #expect(totals.number("targeted") == Int64(Self.deviceCount) && totals.number("accepted") == Int64(Self.deviceCount))
        }
        // A push that is sent again has the same identifier.
        let identifiers = gateway.simulator.requests().compactMap { $0.request?.headers["apns-id"] }
        #expect(identifiers.count == Self.startCount * Self.deviceCount && Set(identifiers).count == identifiers.count)
        #expect(gateway.pushes().count == Self.deviceCount)
        #expect(gateway.pushes().values.allSatisfy { $0 == Self.startCount })
    }
}

/// Notifications that were accepted.
private final class SharedStarts: Sendable {
    private let ids = Mutex<[String]>([])
    var all: [String] { ids.withLock { $0 } }
    func add(_ id: String) { ids.withLock { $0.append(id) } }
}
