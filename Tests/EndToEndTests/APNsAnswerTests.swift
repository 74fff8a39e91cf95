import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("When APNs, for one of many,", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct APNsAnswerTests {
    private func body(of request: RecordedRequest?) -> String { String(decoding: request?.request?.body ?? [], as: UTF8.self) }

    @Test(
        "finds its token pushed too often while updates come in quick succession: only that one waits, and it gets the newest state"
    )
    func onlyOneTokenWaits() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...10)
            try await gateway.registerUpdateTokens(1...10, activity: "match-1")
            let token = try #require(Hexadecimal.decode(Deployment.token("update", 7)))
            var effect = Rule.Effect()
            effect.answer = PushAnswer(status: 429, reason: "TooManyRequests", headers: ["retry-after": "6"])
            var condition = Rule.Condition()
            condition.token = token
            gateway.simulator.script(effect, when: condition)
            for score in 1...20 {
                #expect(try await gateway.push("update", "match-1", state: #"{"score":\#(score)}"#).status == 201)
            }
            let refused = gateway.simulator.requests(RequestQuery(token: token))
            // A push that left before the refusal was recorded is refused as well; the others waited for the token.
            #expect((1..<10).contains(refused.count), "\(refused.map(\.receivedAt))")
            gateway.simulator.removeRules()
            // It may get a state in the middle when the 20 take longer than it waits.
            let newest = #"{"score":20}"#
            let deadline = ContinuousClock.now + .seconds(60)
            var own = gateway.simulator.requests(RequestQuery(token: token))
            while !body(of: own.last).contains(newest), ContinuousClock.now < deadline {
                let seen = own.last?.number ?? 0
                own += await gateway.simulator.waitForRequests(1, matching: RequestQuery(token: token, since: seen))
            }
            #expect(body(of: own.last).contains(newest))
            try #require(own.count > refused.count)
            let (refusedAt, sentAt) = (own[0].receivedAt, own[own.count - 1].receivedAt)
            #expect(sentAt - refusedAt >= 6_000)
            // The others went on meanwhile, and none of them was sent a state behind a newer one.
            let others = gateway.simulator.requests().filter { $0.token != token }
            #expect(others.count { (refusedAt...sentAt).contains($0.receivedAt) } >= 9)
            for requests in Dictionary(grouping: others, by: \.token).values {
                #expect(body(of: requests.last).contains(newest))
                #expect(requests.allSatisfy { $0.outcome == .answered(status: 200, reason: nil) })
            }
            #expect(Set(others.map(\.token)).count == 9)
            #expect(gateway.simulator.statistics.fallingTimestampCount == 0)
            #expect(own.last?.reading.timestamp == others.compactMap(\.reading.timestamp).max())
        }
    }

    /// What is another's: its signing key and bundle identifier, or the service its devices belong to.
    enum Difference: CaseIterable { case key, service }

    @Test("swallows all pushes of an app, those of another app are accepted meanwhile", arguments: Difference.allCases)
    func otherAppsGoOn(difference: Difference) async throws {
        let settings = ["OPENPUSH_EVENT_LOOPS": "1", "OPENPUSH_APNS_CONNECTIONS": "1"]
        try await Deployment.run(settings: settings) { gateway in
            // Ten at a time, each given up after 10 s: the swallowed ones take a minute.
            try await gateway.simulator.changeSettings { $0.concurrentStreams = 10 }
            var condition = Rule.Condition()
            let swallowed: Deployment.App
            switch difference {
            case .key:
                swallowed = try await gateway.createApp(bundleID: "com.example.swallowed", keyID: "KEY7654321")
                condition.topic = "com.example.swallowed.push-type.liveactivity"
                try await gateway.registerDevices(101...160, app: swallowed)
            case .service:
                swallowed = try await gateway.createApp()
                condition.environment = .sandbox
                try await gateway.registerDevices(101...160, more: #","environment":"sandbox""#, app: swallowed)
            }
            var effect = Rule.Effect()
            effect.isSilent = true
            gateway.simulator.script(effect, when: condition)
            try await gateway.registerDevices(1...20)
            let start = try #require(try await gateway.start("match-0", app: swallowed)["id"])
            #expect(await gateway.simulator.waitForRequests(10).count == 10)
            for number in 1...3 {
                let own = try #require(try await gateway.start("match-\(number)")["id"])
                let totals = try await gateway.waitUntilFinished(own)
                #expect(totals.number("accepted") == 20, "\(totals.text)")
            }
            let totals = try await gateway.send("GET", "/v1/notifications/\(start)", key: swallowed.readKey)
            #expect(totals["state"] != "finished" && totals.number("accepted") == 0, "\(totals.text)")
        }
    }

    @Test("does not know any token of an app, as in the wrong environment: none is removed, and an alarm can be raised")
    func keepsTokensOfTheWrongEnvironment() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...30)
            gateway.simulator.declare(
                try (1...30).map {
                    DeviceTokenDeclaration(try #require(Hexadecimal.decode(Deployment.token("start", $0))), in: .sandbox)
                })
            for round in 1...2 {
                let start = try #require(try await gateway.start("match-\(round)")["id"])
                let totals = try await gateway.waitUntilFinished(start)
                #expect(totals.number("targeted") == 30 && totals.number("failed") == 30, "\(totals.text)")
                #expect(totals.json?["reasons"]?["BadDeviceToken"]?.integer == 30, "\(totals.text)")
                let metrics = try await gateway.send("GET", "/metrics", key: nil).text
                #expect(metrics.contains("\nopenpush_token_quarantine_apps 1\n"), "\(metrics)")
                #expect(metrics.contains("\nopenpush_token_quarantine_kept_total \(30 * round)\n"), "\(metrics)")
            }
            try await gateway.waitForLog("Most tokens of an app are called wrong, so they are kept")
            try await gateway.waitForLog("environment=production reason=BadDeviceToken")
            // With the tokens' own service they are good again.
            gateway.simulator.declare(
                try (1...30).map {
                    DeviceTokenDeclaration(try #require(Hexadecimal.decode(Deployment.token("start", $0))), in: .production)
                })
            let start = try #require(try await gateway.start("match-3")["id"])
            #expect(try await gateway.waitUntilFinished(start).number("accepted") == 30)
        }
    }
}
