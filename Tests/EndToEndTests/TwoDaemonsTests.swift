import APNsSimulator
import HTTP
import JSON
import Security
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

    @Test("never send an older state after a newer one, also when APNs put the older one off")
    func keepOrder() async throws {
        try await Deployment.run(daemons: 2) { gateway in
            try await gateway.registerDevices(1...3)
            try await gateway.registerUpdateTokens(1...3, activity: "match-1")
            let other = gateway.daemon
            var effect = Rule.Effect()
            effect.answer = PushAnswer(status: 503, reason: "ServiceUnavailable", headers: ["retry-after": "2"])
            var condition = Rule.Condition()
            (condition.token, condition.count) = (Hexadecimal.decode(Deployment.token("update", 2)), 1)
            gateway.simulator.script(effect, when: condition)
            let first = try #require(try await gateway.push("update", "match-1")["id"])
            // Four clients over both daemons, while the first state of one device waits for its next try.
            try await gateway.concurrently(1...20, atOnce: 4) { number in
                let answer = try await gateway.push(
                    "update", "match-1", state: #"{"score":\#(number)}"#, daemon: number % 2 == 0 ? other : nil)
                return answer.status == 201 ? nil : "update \(number): \(answer.status) \(answer.text)"
            }
            let end = try #require(try await gateway.push("end", "match-1", daemon: other)["id"])
            #expect(try await gateway.waitUntilFinished(end).number("accepted") == 3)
            let totals = try await gateway.waitUntilFinished(first)
            #expect(totals.number("accepted") == 2 && totals.json?["reasons"]?["Superseded"]?.integer == 1, "\(totals.text)")
            #expect(try await gateway.push("update", "match-1").status == 404)
            let byToken = Dictionary(grouping: gateway.simulator.requests()) { $0.token ?? [] }
            #expect(byToken.count == 3)
            for requests in byToken.values {
                let timestamps = requests.compactMap(\.reading.timestamp)
                #expect(Set(timestamps).count == requests.count, "each state goes out once: \(timestamps)")
                let newest = try #require(requests.max { ($0.reading.timestamp ?? 0) < ($1.reading.timestamp ?? 0) })
                #expect(newest.reading.event == .end)
                #expect(requests.first?.reading.timestamp == timestamps.min())
            }
            #expect(gateway.simulator.statistics.afterEndCount == 0)
        }
    }

    @Test("of two hosts hand over what a dead one had, once its lease has run out: updates reach every device, starts none twice")
    func handOver() async throws {
        try await Deployment.run(daemons: 0, settings: ["OPENPUSH_EVENT_LOOPS": "1"]) { gateway in
            // No journal: nobody on this host can read what the other noted.
            let dying = try await gateway.startDaemon(settings: ["OPENPUSH_JOURNAL_DIRECTORY": "off"])
            try await gateway.registerDevices(1...60)
            try await gateway.registerUpdateTokens(1...30, activity: "running")
            try await gateway.holdAnswers(after: 0, streams: 20)
            let start = try #require(try await gateway.start("match-1", daemon: dying)["id"])
            #expect(await gateway.simulator.waitForRequests(20).count == 20)
            async let update = gateway.push("update", "running", daemon: dying)
            try await gateway.waitUntil("select exists (select from fan_out where event = 1)")
            let survivor = try await gateway.startDaemon()
            await dying.crash()
            _ = try? await update
            try await gateway.releaseAnswers()
            let started = try await gateway.waitUntilFinished(start)
            #expect(started["state"] == "finished" && started.ended == 60, "\(started.text)")
            #expect(gateway.pushes(.start).values.allSatisfy { $0 == 1 })
            try await gateway.waitUntil("select bool_and(finished_at is not null) from fan_out")
            #expect(gateway.pushes(.update).count == 30)
            #expect(try await gateway.send("GET", "/livez", key: nil, daemon: survivor).status == 200)
        }
    }

    private func expectOneProviderToken(_ gateway: Deployment) {
        let authorizations = Set(gateway.simulator.requests().compactMap { $0.request?.headers["authorization"] })
        #expect(authorizations.count == 1)
        #expect(gateway.simulator.statistics.providerTokenCounts == ["\(Deployment.teamID).\(Deployment.keyID)": 1])
    }
}
