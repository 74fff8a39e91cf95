import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("An update", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct UpdateTests {
    @Test("that reaches nobody is 404, before and after the fan-out")
    func reachesNobody() async throws {
        try await Deployment.run { gateway in
            #expect(try await gateway.push("update", "unknown").status == 404)
            try await gateway.registerDevices(1...2)
            try await gateway.registerUpdateTokens(1...2, activity: "match-1")
            gateway.simulator.script(.answer(.unregistered))
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(gateway.simulator.requests().count == 2)
        }
    }

    @Test("answers after a bounded wait while APNs holds its answers, and the work goes on")
    func boundsTheWait() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            var held = Rule.Effect()
            held.isHeld = true
            gateway.simulator.script(held)
            let update = try await gateway.push("update", "match-1")
            #expect(update.status == 201)
            #expect(try await gateway.summary(of: try #require(update["id"])).number("accepted") == 0)
            await gateway.simulator.release()
            #expect(try await gateway.waitUntilFinished(try #require(update["id"])).number("accepted") == 1)
        }
    }

    @Test("never comes after a newer one or after the end, and timestamps rise strictly on every device")
    func keepsOrder() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...20)
            try await gateway.registerUpdateTokens(1...20, activity: "match-1")
            try await gateway.concurrently(1...20) { number in
                let answer = try await gateway.push("update", "match-1", state: #"{"score":\#(number)}"#)
                return answer.status == 201 ? nil : "update \(number): \(answer.status) \(answer.text)"
            }
            let end = try await gateway.push("end", "match-1", state: #"{"score":99}"#)
            #expect(end.status == 201)
            _ = try await gateway.waitUntilFinished(try #require(end["id"]))
            let byToken = Dictionary(grouping: gateway.simulator.requests()) { $0.token ?? [] }
            #expect(byToken.count == 20)
            for requests in byToken.values {
                let timestamps = requests.compactMap(\.reading.timestamp)
                #expect(zip(timestamps, timestamps.dropFirst()).allSatisfy { $0 < $1 }, "\(timestamps)")
                #expect(requests.last?.reading.event == .end)
            }
            #expect(gateway.simulator.statistics.afterEndCount == 0)
        }
    }

    @Test("reaches a device whose token arrives after it, and so does an end")
    func catchesUp() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...3)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            #expect(try await gateway.push("update", "match-1", state: #"{"score":5}"#).status == 201)
            try await gateway.registerUpdateTokens(2...2, activity: "match-1")
            let second = try #require(Hexadecimal.decode(Deployment.token("update", 2)))
            let caughtUp = await gateway.simulator.waitForRequests(1, matching: RequestQuery(token: second))
            #expect(
                caughtUp.first.map { String(decoding: $0.request?.body ?? [], as: UTF8.self).contains(#"{"score":5}"#) } == true)
            #expect(try await gateway.push("end", "match-1").status == 201)
            try await gateway.registerUpdateTokens(3...3, activity: "match-1")
            let third = try #require(Hexadecimal.decode(Deployment.token("update", 3)))
            #expect(await gateway.simulator.waitForRequests(1, matching: RequestQuery(token: third)).first?.reading.event == .end)
        }
    }
}
