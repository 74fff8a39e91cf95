import APNsSimulator
import HTTP
import TestSupport
import Testing

@Suite("Two daemons on one database", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct TwoDaemonsTests {
    @Test("push every device once, with one provider token")
    func shareTheWork() async throws {
        try await Deployment.run(daemons: 2) { gateway in
            try await gateway.registerDevices(1...500)
            let start = try #require(try await gateway.start("match-1")["id"])
            let totals = try await gateway.waitUntilFinished(start)
            #expect(totals.number("accepted") == 500)
            #expect(gateway.pushes().count == 500)
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
            expectOneProviderToken(gateway)
        }
    }

    @Test("use one provider token, also when one takes over from the other")
    func shareTheProviderToken() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...5)
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(await gateway.daemon.terminate() == 0)
            try await gateway.startDaemon()
            _ = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-2")["id"]))
            #expect(gateway.pushes().values.allSatisfy { $0 == 2 })
            expectOneProviderToken(gateway)
        }
    }

    @Test("answer one update with what the other one sends")
    func waitForEachOther() async throws {
        try await Deployment.run(daemons: 2) { gateway in
            try await gateway.registerDevices(1...1)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let first = gateway.daemon
            for number in 0..<10 {
                let begin = ContinuousClock.now
                let update = try await gateway.push("update", "match-1", daemon: number % 2 == 0 ? first : nil)
                #expect(update.status == 201)
                #expect(begin.duration(to: .now) < .seconds(3))
            }
            #expect(gateway.simulator.requests().count == 10)
        }
    }

    private func expectOneProviderToken(_ gateway: Deployment) {
        let authorizations = Set(gateway.simulator.requests().compactMap { $0.request?.headers["authorization"] })
        #expect(authorizations.count == 1)
        #expect(gateway.simulator.statistics.providerTokenCounts == ["\(Deployment.teamID).\(Deployment.keyID)": 1])
    }
}
