import APNsSimulator
import Foundation
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("When APNs", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct APNsFaultTests {
    /// A match with `count` devices that show its card.
    private func withMatch(_ count: Int, _ body: (Deployment) async throws -> Void) async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...count)
            try await gateway.registerUpdateTokens(1...count, activity: "match-1")
            try await body(gateway)
        }
    }

    private func script(_ gateway: Deployment, _ change: (inout Rule.Effect, inout Rule.Condition) -> Void) {
        var effect = Rule.Effect()
        var condition = Rule.Condition()
        change(&effect, &condition)
        gateway.simulator.script(effect, when: condition)
    }

    /// How often each token's push was accepted.
    private func acceptances(_ gateway: Deployment) -> [[UInt8]: Int] {
        gateway.simulator.requests().filter { $0.outcome == .answered(status: 200, reason: nil) }
            .reduce(into: [:]) { $0[$1.token ?? [], default: 0] += 1 }
    }

    @Test(
        "says goodbye after every 20th push, every device is reached once",
        arguments: [Rule.GoAway(last: .all), Rule.GoAway(last: .this)])
    func goesAway(goAway: Rule.GoAway) async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...300)
            script(gateway) { effect, condition in
                effect.goAway = goAway
                condition.every = 20
            }
            let totals = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-2")["id"]))
            #expect(totals.number("accepted") == 300, "\(totals.text)")
            #expect(acceptances(gateway).count == 300)
            #expect(acceptances(gateway).values.allSatisfy { $0 == 1 })
            #expect(gateway.simulator.statistics.tally.goAwayCount >= 15)
        }
    }

    @Test("says goodbye after every 20th push of thousands, on several connections, every device is reached once")
    func goesAwayAgainAndAgain() async throws {
        let settings = ["OPENPUSH_EVENT_LOOPS": "2", "OPENPUSH_APNS_CONNECTIONS": "4"]
        try await Deployment.run(settings: settings) { gateway in
            try await gateway.storeDevices(2_000)
            try await gateway.simulator.changeSettings {
                $0.concurrentStreams = 50
                $0.latencyMilliseconds = 5...10
            }
            script(gateway) { effect, condition in
                effect.goAway = Rule.GoAway(last: .this)
                condition.every = 20
            }
            let before = try gateway.daemon.resources()
            let totals = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(totals.number("accepted") == 2_000, "\(totals.text)")
            #expect(acceptances(gateway).count == 2_000)
            #expect(acceptances(gateway).values.allSatisfy { $0 == 1 })
            let tally = gateway.simulator.statistics.tally
            #expect(tally.goAwayCount >= 100 && tally.connectionCount > tally.goAwayCount / 2)
            // Eight connections to APNs at most, and one of a client.
            #expect(try gateway.daemon.resources().descriptorCount <= before.descriptorCount + 9 + Sanitizer.descriptorCount)
        }
    }

    @Test("allows no stream, then one, then a thousand: as many pushes are under way as it allows, and each is sent once")
    func liesAboutSettings() async throws {
        try await Deployment.run(settings: ["OPENPUSH_EVENT_LOOPS": "1", "OPENPUSH_APNS_CONNECTIONS": "1"]) { gateway in
            try await gateway.registerDevices(1...200)
            try await gateway.simulator.changeSettings { ($0.initialConcurrentStreams, $0.concurrentStreams) = (0, 1) }
            script(gateway) { effect, _ in effect.isHeld = true }
            let start = try #require(try await gateway.start("match-1")["id"])
            let deadline = ContinuousClock.now + .seconds(10)
            while gateway.simulator.statistics.tally.openConnectionCount == 0, ContinuousClock.now < deadline {
                #expect(try await gateway.summary(of: start).ended == 0)
            }
            #expect(gateway.simulator.requests().isEmpty)
            var one = Rule.Effect()
            one.settings = [.maxConcurrentStreams(1)]
            await gateway.simulator.apply(one)
            #expect(await gateway.simulator.waitForRequests(1).count == 1)
            await gateway.simulator.release()
            #expect(await gateway.simulator.waitForRequests(2).count == 2)
            #expect(gateway.simulator.statistics.tally.mostConcurrentStreams == 1)
            try await gateway.simulator.changeSettings { $0.concurrentStreams = 1_000 }
            #expect(await gateway.simulator.waitForRequests(200).count == 200)
            try await gateway.releaseAnswers()
            #expect(try await gateway.waitUntilFinished(start).number("accepted") == 200)
            #expect(gateway.pushes().count == 200 && gateway.pushes().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("cuts a connection in the middle of requests again and again, of a start just those are unknown, and the daemon lives")
    func cutsAgainAndAgain() async throws {
        try await Deployment.run { gateway in
            try await gateway.storeDevices(500)
            try await gateway.simulator.changeSettings { $0.concurrentStreams = 5 }
            script(gateway) { effect, condition in
                effect.close = .before
                (condition.every, condition.count) = (25, 10)
            }
            let process = gateway.daemon.processID
            let totals = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            let unknown = try await gateway.startTokens(withStatus: 0)
            #expect(totals.ended == 500 && totals.number("failed") == 0, "\(totals.text)")
            #expect((10...50).contains(unknown.count) && totals.number("unknown") == Int64(unknown.count), "\(totals.text)")
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
            // Whoever is not unknown was answered, and whoever was not answered is unknown.
            let all = Set((1...500).map { Deployment.token("start", $0) })
            let answered = Set(acceptances(gateway).keys.map { Hexadecimal.encode($0) })
            #expect(try await gateway.startTokens(withStatus: 200) == all.subtracting(unknown))
            #expect(all.subtracting(unknown).isSubset(of: answered))
            #expect(kill(process, 0) == 0 && gateway.daemon.processID == process)
        }
    }

    @Test("allows one stream first and a thousand later, as many pushes are under way as it allows")
    func followsSettings() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...300)
            try await gateway.holdAnswers(after: 1, streams: 1_000)
            let start = try #require(try await gateway.start("match-1")["id"])
            #expect(await gateway.simulator.waitForRequests(300).count == 300)
            try await gateway.releaseAnswers()
            #expect(try await gateway.waitUntilFinished(start).number("accepted") == 300)
            #expect(gateway.simulator.statistics.tally.mostConcurrentStreams > 100)
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("takes streams away in the middle and gives them back, nothing stalls and nothing is lost")
    func shrinks() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...200)
            script(gateway) { effect, condition in
                effect.settings = [.maxConcurrentStreams(1)]
                (condition.after, condition.count) = (20, 1)
            }
            script(gateway) { effect, condition in
                effect.settings = [.maxConcurrentStreams(1_000)]
                (condition.after, condition.count) = (60, 1)
            }
            let totals = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(totals.number("accepted") == 200)
            #expect(acceptances(gateway).values.allSatisfy { $0 == 1 })
        }
    }

    @Test("is unavailable and says when to come back, the push is sent once more, then")
    func honoursRetryAfter() async throws {
        try await withMatch(1) { gateway in
            script(gateway) { effect, condition in
                effect.answer = PushAnswer(status: 503, reason: "ServiceUnavailable", headers: ["retry-after": "3"])
                condition.count = 1
            }
            let update = try await gateway.push("update", "match-1")
            #expect(update.status == 201)
            #expect(try await gateway.waitUntilFinished(try #require(update["id"])).number("accepted") == 1)
            let moments = gateway.simulator.requests().map(\.receivedAt)
            #expect(moments.count == 2)
            #expect((3_000..<10_000).contains(moments[1] - moments[0]), "\(moments)")
        }
    }

    @Test("finds one token pushed too often, only that one waits")
    func backsOffOneToken() async throws {
        try await withMatch(20) { gateway in
            script(gateway) { effect, condition in
                effect.answer = PushAnswer(.tooManyRequests)
                condition.token = Hexadecimal.decode(Deployment.token("update", 7))
                condition.count = 1
            }
            let update = try await gateway.push("update", "match-1")
            #expect(update.status == 201)
            let totals = try await gateway.waitUntilFinished(try #require(update["id"]))
            #expect(totals.number("accepted") == 20)
            #expect(gateway.pushes()[Deployment.token("update", 7)] == 2)
            #expect(gateway.pushes().values.filter { $0 == 1 }.count == 19)
            let others = gateway.simulator.requests(limit: 20).map(\.receivedAt)
            #expect((others.last ?? 0) - (others.first ?? 0) < 1_000)
        }
    }

    @Test(
        "does not know a token, it is forgotten; when it does not like the topic, none is",
        arguments: [
            (Reason.badDeviceToken, 9), (.unregistered, 9), (.topicDisallowed, 10), (.badTopic, 10),
        ] as [(Reason, Int64)])
    func forgetsOnlyDeadTokens(reason: Reason, remaining: Int64) async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...10)
            script(gateway) { effect, condition in
                effect.answer = PushAnswer(reason)
                condition.token = Hexadecimal.decode(Deployment.token("start", 4))
            }
            let first = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(first.number("accepted") == 9)
            #expect(first.json?["reasons"]?[reason.rawValue]?.integer == 1, "\(first.text)")
            let second = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-2")["id"]))
            #expect(second.number("targeted") == remaining)
        }
    }

    @Test("calls the provider token expired, one new one is made and every push is sent once more")
    func renewsTheProviderToken() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...100)
            script(gateway) { effect, condition in
                effect.answer = PushAnswer(.expiredProviderToken)
                condition.providerToken = 1
            }
            let totals = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(totals.number("accepted") == 100, "\(totals.text)")
            #expect(acceptances(gateway).count == 100)
            #expect(acceptances(gateway).values.allSatisfy { $0 == 1 })
            #expect(gateway.simulator.statistics.providerTokenCounts.values.map(\.self) == [2])
        }
    }

    @Test("ends the connection after a request, a start is unknown and not repeated")
    func leavesAStartUnknown() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...20)
            script(gateway) { effect, condition in
                effect.close = .before
                (condition.after, condition.count) = (10, 1)
            }
            let totals = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(totals.ended == 20)
            #expect(totals.number("failed") == 0)
            #expect(totals.number("unknown") ?? 0 >= 1)
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("ends the connection after a request, an update is sent again")
    func repeatsAnUpdate() async throws {
        try await withMatch(20) { gateway in
            script(gateway) { effect, condition in
                effect.close = .before
                (condition.after, condition.count) = (10, 1)
            }
            let update = try #require(try await gateway.push("update", "match-1")["id"])
            let totals = try await gateway.waitUntilFinished(update)
            #expect(totals.number("accepted") == 20)
            #expect(gateway.pushes().count == 20)
        }
    }

    @Test("refuses connections for a while, what was accepted waits and is sent once")
    func waitsForAPNs() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...50)
            try await gateway.simulator.changeSettings { $0.listens = false }
            let start = try #require(try await gateway.start("match-1")["id"])
            let deadline = ContinuousClock.now + .seconds(20)
            while !gateway.daemon.errors.contains("APNs"), ContinuousClock.now < deadline {
                #expect(try await gateway.summary(of: start).number("accepted") == 0)
            }
            #expect(gateway.daemon.errors.contains("APNs"), "an operator is told")
            try await gateway.simulator.changeSettings { $0.listens = true }
            let totals = try await gateway.waitUntilFinished(start)
            #expect(totals.number("accepted") == 50, "\(totals.text)")
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("never answers one push, the others are not kept waiting")
    func boundsTheWaitForAnAnswer() async throws {
        try await withMatch(20) { gateway in
            script(gateway) { effect, condition in
                effect.isSilent = true
                (condition.token, condition.count) = (Hexadecimal.decode(Deployment.token("update", 7)), 1)
            }
            let update = try #require(try await gateway.push("update", "match-1")["id"])
            #expect(try await gateway.waitUntilFinished(update).number("accepted") == 20)
            #expect(gateway.pushes()[Deployment.token("update", 7)] == 2)
            #expect(gateway.pushes().values.filter { $0 == 1 }.count == 19)
        }
    }
}
