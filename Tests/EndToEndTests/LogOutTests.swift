import APNsSimulator
import HTTP
import JSON
import TestSupport
import Testing

@Suite("A device that changes hands", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct LogOutTests {
    private func register(_ gateway: Deployment, _ number: Int, _ more: String) async throws -> Answer {
        try await gateway.send(
            "POST", "/v1/devices", key: gateway.app.clientKey,
            body: #"{"push_token":"\#(Deployment.token("device", number))","platform":"ios",\#(more)}"#)
    }

    @Test("logs out under /v1 by a null: no start and no update for the former user reaches it, and the phone is still reached")
    func logsOut() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            try await gateway.registerUpdateTokens(1...2, activity: "match-1")
            #expect(try await register(gateway, 1, #""external_id":null"#).status == 200)
            #expect(try await register(gateway, 2, #""aliases":{"external_id":null}"#).status == 200)
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(
                try await gateway.start("match-2", targeting: #""include_aliases":{"external_id":["user-1","user-2"]}"#).status
                    == 400)
            let everybody = try #require(try await gateway.start("match-3")["id"])
            #expect(try await gateway.waitUntilFinished(everybody).number("accepted") == 2)
        }
    }

    @Test("gets no start that waited for its former user while APNs was unavailable, and the totals say so")
    func waitsForFormerUser() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            var effect = Rule.Effect()
            effect.answer = PushAnswer(status: 503, reason: "ServiceUnavailable", headers: ["retry-after": "3"])
            var condition = Rule.Condition()
            condition.count = 2
            gateway.simulator.script(effect, when: condition)
            let start = try #require(
                try await gateway.start("match-1", targeting: #""include_aliases":{"external_id":["user-1","user-2"]}"#)["id"])
            #expect(await gateway.simulator.waitForRequests(2).count == 2)
            #expect(try await register(gateway, 1, #""external_id":"somebody-else""#).status == 200)
            let totals = try await gateway.waitUntilFinished(start)
            #expect(totals.number("accepted") == 1 && totals.number("failed") == 1, "\(totals.text)")
            #expect(totals.json?["reasons"]?["TokenGone"]?.integer == 1, "\(totals.text)")
            #expect(gateway.pushes() == [Deployment.token("start", 1): 1, Deployment.token("start", 2): 2])
        }
    }

    @Test("is given to another user by a label of the app's own: tags, names and update tokens of the former are gone")
    func changesHands() async throws {
        try await Deployment.run { gateway in
            let users = "/apps/\(gateway.app.id)/users"
            func told(_ number: Int) -> String { #"{"type":"iOSPush","token":"\#(Deployment.token("device", number))"}"# }
            for (number, customer) in [(1, "42"), (2, "43")] {
                let made = try await gateway.send(
                    "POST", users, key: gateway.app.restKey,
                    body: """
                        {"identity":{"customer":"\(customer)","seat":"\(number)"},"properties":{"tags":{"of":"\(customer)"}},\
                        "subscriptions":[\(told(number))]}
                        """)
                #expect(made.status == 201, "\(made.text)")
            }
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let former = try await gateway.send("GET", "\(users)/by/customer/42", key: gateway.app.restKey)
            let moved = try await gateway.send(
                "POST", "\(users)/by/customer/43/subscriptions", key: gateway.app.restKey,
                body: #"{"subscription":\#(told(1))}"#)
            #expect(moved.status == 202, "\(moved.text)")
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(try await gateway.send("GET", "\(users)/by/customer/42", key: gateway.app.restKey).status == 404)
            let id = try #require(former.json?["identity"]?["onesignal_id"]?.string)
            #expect(try await gateway.send("GET", "\(users)/by/onesignal_id/\(id)", key: gateway.app.restKey).status == 404)
            let present = try await gateway.send("GET", "\(users)/by/customer/43", key: gateway.app.restKey)
            #expect(present.json?["subscriptions"]?.elements.count == 2, "\(present.text)")
            #expect(present.json?["properties"]?["tags"]?["of"]?.string == "43", "\(present.text)")
        }
    }
}
