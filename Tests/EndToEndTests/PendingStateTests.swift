import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("An update before the update token", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct PendingStateTests {
    private func body(of request: RecordedRequest?) -> String {
        String(decoding: request?.request?.body ?? [], as: UTF8.self)
    }

    @Test("is 404, and still reaches the device whose token comes within a minute", arguments: ["update", "end"])
    func reachesTheDevice(event: String) async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            let start = try #require(try await gateway.start("match-1")["id"])
            _ = try await gateway.waitUntilFinished(start)
            #expect(try await gateway.push("update", "match-1", state: #"{"score":1}"#).status == 404)
            #expect(try await gateway.push(event, "match-1", state: #"{"score":2}"#).status == 404)
            try await gateway.registerUpdateTokens(1...2, activity: "match-1")
            for number in 1...2 {
                let token = try #require(Hexadecimal.decode(Deployment.token("update", number)))
                let requests = await gateway.simulator.waitForRequests(1, matching: RequestQuery(token: token))
                #expect(requests.first?.reading.event == PayloadReading.Event(rawValue: event))
                #expect(body(of: requests.first).contains(#"{"score":2}"#))
            }
            let list = try await gateway.send("GET", "/v1/notifications?activity_id=match-1", key: gateway.app.readKey)
            let entries = list.json?["notifications"]?.elements ?? []
            #expect(entries.map { $0["event"]?.string } == [event, "start"])
            // Never a second start, and each state once.
            #expect(gateway.pushes(.start).values.allSatisfy { $0 == 1 })
            #expect(gateway.simulator.requests().count == 4)
            if event == "end" {
                #expect(try await gateway.push("update", "match-1").status == 404)
                #expect(gateway.simulator.statistics.afterEndCount == 0)
            } else {
                #expect(try await gateway.push("update", "match-1").status == 201)
            }
        }
    }

    @Test("of an activity the app starts itself reaches it, and one of another activity does not")
    func reachesLocalActivity() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            #expect(try await gateway.push("update", "local", state: #"{"score":7}"#).status == 404)
            #expect(try await gateway.push("update", "elsewhere", state: #"{"score":8}"#).status == 404)
            try await gateway.registerUpdateTokens(1...1, activity: "local")
            let requests = await gateway.simulator.waitForRequests(1)
            #expect(body(of: requests.first).contains(#"{"score":7}"#))
            #expect(try await gateway.push("update", "local", state: #"{"score":9}"#).status == 201)
            #expect(gateway.simulator.requests().count == 2)
        }
    }
}
