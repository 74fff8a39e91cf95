import APNsSimulator
import HTTP
import TestSupport
import Testing

@Suite("A crash in the middle of a fan-out", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct CrashTests {
    @Test("of a start leaves no device with two cards, and counts as unknown those that nobody knows of")
    func startIsNeverDoubled() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...300)
            try await gateway.holdAnswers(after: 100)
            let start = try #require(try await gateway.start("match-1")["id"])
            #expect(await gateway.simulator.waitForRequests(150).count == 150)
            try await gateway.crashDaemon()
            try await gateway.releaseAnswers()
            try await gateway.startDaemon()

            let totals = try await gateway.waitUntilFinished(start)
            let pushes = gateway.pushes()
            #expect(totals["state"] == "finished")
            #expect(totals.number("targeted") == 300)
            #expect(totals.ended == 300)
            #expect(totals.number("failed") == 0)
            #expect(totals.number("pending") == 0)
            #expect(pushes.values.allSatisfy { $0 == 1 })
            // Whoever was not pushed is not counted as reached.
            #expect(totals.number("accepted") ?? 0 <= pushes.count)
            #expect(try await gateway.start("match-2").status == 201)
        }
    }

    @Test("of an update reaches every device at last, with the same apns-id when a push is repeated")
    func updateIsRepeated() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...300)
            try await gateway.registerUpdateTokens(1...300, activity: "match-1")
            try await gateway.holdAnswers(after: 100)
            let update = try #require(try await gateway.push("update", "match-1")["id"])
            #expect(await gateway.simulator.waitForRequests(150).count == 150)
            try await gateway.crashDaemon()
            try await gateway.releaseAnswers()
            try await gateway.startDaemon()

            let totals = try await gateway.waitUntilFinished(update)
            #expect(totals.number("targeted") == 300)
            #expect(totals.number("accepted") == 300)
            #expect(totals.number("pending") == 0)
            #expect(gateway.pushes().count == 300)
            let byToken = Dictionary(grouping: gateway.simulator.requests()) { $0.token ?? [] }
            for requests in byToken.values {
                #expect(Set(requests.compactMap { $0.request?.headers["apns-id"] }).count == 1)
                #expect(Set(requests.compactMap(\.reading.timestamp)).count == 1)
            }
        }
    }

    @Test("does not take the idempotency key or the end of an activity with it")
    func keepsWhatWasAccepted() async throws {
        let key = #","idempotency_key":"7b1f4a52-3c1d-4e8f-9a6b-0c2d4e6f8a10""#
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            try await gateway.registerUpdateTokens(1...2, activity: "match-2")
            let start = try await gateway.start("match-1", more: key)
            #expect(try await gateway.push("end", "match-2").status == 201)
            try await gateway.crashDaemon()
            try await gateway.startDaemon()

            let replay = try await gateway.start("match-1", more: key)
            #expect(replay.status == 201)
            #expect(replay["id"] == start["id"])
            #expect(replay.headers["idempotent-replayed"] == "true")
            #expect(try await gateway.push("update", "match-2").status == 404)
        }
    }
}
