import HTTP
import JSON
import TestSupport
import Testing

@Suite("Access", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct AccessTests {
    @Test("is given to the raw key in every spelling, and to no other key")
    func spellings() async throws {
        try await Deployment.run { gateway in
            let path = "/apps/\(gateway.app.id)/live_activities/none/notifications"
            let body = #"{"event":"update","name":"n","event_updates":{"a":1}}"#
            let client = try gateway.client()
            for spelling in ["Key ", "key ", "Basic ", "BASIC ", "Bearer ", ""] {
                let answer = try await client.send(
                    "POST", path, headers: ["authorization": spelling + gateway.app.restKey], body: body)
                #expect(answer.status == 404, "\(spelling): \(answer.text)")
            }
            #expect(try await client.send("POST", path, headers: ["x-op-api-key": gateway.app.restKey], body: body).status == 404)
            #expect(try await client.send("POST", path, body: body).status == 401)
            #expect(try await client.send("POST", path, headers: ["authorization": "Key nothing"], body: body).status == 401)
            let other = try await gateway.createApp()
            for key in [gateway.app.clientKey, gateway.app.readKey, other.restKey] {
                #expect(try await client.send("POST", path, headers: ["authorization": "Key \(key)"], body: body).status == 403)
            }
        }
    }

    @Test("ends when a key is revoked")
    func revokes() async throws {
        try await Deployment.run { gateway in
            let created = try await gateway.control("key", "create", "--app", gateway.app.id, "--kind", "rest")
            let key = try #require(created.answer?["key"]?.string)
            let path = "/v1/notifications"
            #expect(try await gateway.send("GET", path, key: key).status == 200)
            #expect(
                try await gateway.control("key", "revoke", "--key-id", try #require(created.answer?["key_id"]?.string)).status
                    == 0)
            #expect(try await gateway.send("GET", path, key: key).status == 401)
        }
    }

    @Test("is limited to 60 calls an app in 60 s, shared by both routes and all daemons, and the call after Retry-After passes")
    func limitsRate() async throws {
        try await Deployment.run(daemons: 2) { gateway in
            let second = gateway.daemon
            var statuses: [Int] = []
            for number in 0..<60 {
                let answer =
                    try await number % 2 == 0
                    ? gateway.start("match-1") : gateway.push("update", "match-1", daemon: second)
                statuses.append(answer.status)
            }
            #expect(statuses.allSatisfy { $0 == 400 || $0 == 404 })
            let refused = try await gateway.push("update", "match-1")
            #expect(refused.status == 429)
            #expect(refused.text == #"{"errors":["API rate limit exceeded."]}"#)
            #expect((1...60).contains(Int(refused.headers["retry-after"] ?? "") ?? 0))
            let other = try await gateway.createApp()
            #expect(try await gateway.push("update", "match-1", app: other).status == 404)
        }
    }
}
