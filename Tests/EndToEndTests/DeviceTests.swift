import APNsSimulator
import Foundation
import HTTP
import JSON
import PostgreSQL
import TestSupport
import Testing

@Suite("A device", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct DeviceTests {
    private func register(_ gateway: Deployment, _ number: Int, more: String = "") async throws -> Answer {
        try await gateway.send(
            "POST", "/v1/devices", key: gateway.app.clientKey,
            body: #"{"push_token":"\#(Deployment.token("device", number))","platform":"ios","environment":"production"\#(more)}"#)
    }

    private func live(
        _ gateway: Deployment, _ route: String, _ number: Int, _ more: String, method: String = "POST"
    ) async throws -> Answer {
        try await gateway.send(
            method, "/v1/live-activities/\(route)", key: gateway.app.clientKey,
            body: #"{"push_token":"\#(Deployment.token("device", number))",\#(more)}"#)
    }

    @Test("that registers 50 times at once is one device")
    func isOneDevice() async throws {
        try await Deployment.run { gateway in
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for number in 0..<50 {
                    let token = Deployment.token("device", 1)
                    group.addTask {
                        try await gateway.send(
                            "POST", "/v1/devices", key: gateway.app.clientKey,
                            body: """
                                {"push_token":"\(number % 2 == 0 ? token : token.uppercased())","platform":"ios",\
                                "environment":"production","external_id":"user-1","tags":{"a":"1","b":"2"}}
                                """)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { [200, 201].contains($0.status) })
            #expect(answers.filter { $0.status == 201 }.count == 1)
            #expect(Set(answers.compactMap { $0["subscription_id"] }).count == 1)
        }
    }

    @Test("keeps its subscription when it registers again, and moves to another user")
    func movesToAnotherUser() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            let again = try await register(gateway, 1, more: #","external_id":"someone-else""#)
            #expect(again.status == 200)
            let former = try await gateway.start("match-1", targeting: #""include_aliases":{"external_id":["user-1"]}"#)
            #expect(former.status == 400)
            let present = try await gateway.start("match-1", targeting: #""include_aliases":{"external_id":["someone-else"]}"#)
            #expect(present.status == 201)
            let subscription = try #require(again["subscription_id"])
            #expect(
                try await gateway.start("match-2", targeting: #""include_subscription_ids":["\#(subscription)"]"#).status == 201)
        }
    }

    @Test("takes over an update token that another device had, which is then pushed once")
    func takesOverAToken() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            let token = Deployment.token("update", 1)
            for number in 1...2 {
                let answer = try await live(gateway, "update-tokens", number, #""activity_id":"match-1","token":"\#(token)""#)
                #expect(answer.status == 200)
            }
            let update = try await gateway.push("update", "match-1")
            #expect(update.status == 201)
            let totals = try await gateway.waitUntilFinished(try #require(update["id"]))
            #expect(totals.number("targeted") == 1)
            #expect(gateway.pushes() == [token: 1])
            #expect(try await gateway.tap(1, activity: "match-1").status == 404)
            #expect(try await gateway.tap(2, activity: "match-1").status == 200)
        }
    }

    @Test("learns until when its activity takes updates and the end")
    func learnsTheWindow() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...3)
            let token = #""token":"\#(Deployment.token("update", 1))""#
            // Apple gives an activity 8 hours, and its card 4 more.
            let now = Int64(Date().timeIntervalSince1970)
            let begun = now - 3_600
            let answer = try await live(
                gateway, "update-tokens", 1, #""activity_id":"match-1",\#(token),"started_at":\#(begun)"#)
            #expect(answer.status == 200)
            #expect(answer.number("started_at") == begun)
            #expect(answer.number("updates_until") == begun + 8 * 3_600)
            #expect(answer.number("end_until") == begun + 12 * 3_600)

            for (number, age, update, end) in [(2, 8 * 3_600 + 5, 404, 201), (3, 12 * 3_600 + 5, 404, 404)] {
                let activity = "old-\(number)"
                let old = try await live(
                    gateway, "update-tokens", number,
                    #""activity_id":"\#(activity)","token":"\#(Deployment.token("update", number))","started_at":\#(now - Int64(age))"#
                )
                #expect(old.status == 200)
                #expect(try await gateway.push("update", activity).status == update, "\(age)")
                #expect(try await gateway.push("end", activity).status == end, "\(age)")
            }
            let unknown = try await live(gateway, "update-tokens", 9, #""activity_id":"match-1",\#(token)"#)
            #expect(unknown.status == 404)
            #expect(unknown["detail"] != nil)
        }
    }

    @Test("ends its own activities and nobody else's, and is not pushed afterwards")
    func endsItsActivities() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...3)
            try await gateway.registerUpdateTokens(1...2, activity: "match-1")
            #expect(try await live(gateway, "ends", 3, #""activity_id":"match-1""#).status == 404)
            #expect(try await live(gateway, "ends", 1, #""activity_id":"match-9""#).status == 404)
            #expect((200...204).contains(try await live(gateway, "ends", 1, #""activity_id":"match-1""#).status))
            let update = try await gateway.push("update", "match-1")
            #expect(update.status == 201)
            #expect(try await gateway.waitUntilFinished(try #require(update["id"])).number("targeted") == 1)
            #expect(gateway.pushes() == [Deployment.token("update", 2): 1])
            #expect((200...204).contains(try await live(gateway, "ends", 2, #""activity_id":"match-1""#).status))
            #expect(try await gateway.push("update", "match-1").status == 404)
            // The token belongs to what is over; another one does not, and gets the state that reached nobody just now.
            let old = #""activity_id":"match-1","token":"\#(Deployment.token("update", 1))""#
            #expect(try await live(gateway, "update-tokens", 1, old).status == 409)
            let new = #""activity_id":"match-1","token":"\#(Deployment.token("another", 1))""#
            #expect(try await live(gateway, "update-tokens", 1, new).status == 200)
            #expect(await gateway.simulator.waitForRequests(2).count == 2)
            #expect(gateway.pushes()[Deployment.token("another", 1)] == 1)
        }
    }

    @Test("gives its start token back once")
    func removesItsStartToken() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            let type = #""activity_type":"\#(Deployment.activityType)""#
            #expect(try await live(gateway, "start-tokens", 1, #""activity_type":"Other""#, method: "DELETE").status == 404)
            #expect(try await live(gateway, "start-tokens", 1, type, method: "DELETE").status == 204)
            #expect(try await live(gateway, "start-tokens", 1, type, method: "DELETE").status == 404)
            #expect(try await live(gateway, "start-tokens", 2, type, method: "DELETE").status == 404)
            #expect(try await gateway.start("match-1").status == 400)
        }
    }

    @Test("keeps its token when it sends one that cannot be used")
    func keepsItsToken() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let tooLong = String(repeating: "ab", count: 201)
            for token in ["null", #""""#, #""abc""#, #""zz""#, #""<ab>""#, "12", #""\#(tooLong)""#] {
                for (route, more) in [
                    ("update-tokens", #""activity_id":"match-1""#),
                    ("start-tokens", #""activity_type":"\#(Deployment.activityType)""#),
                ] {
                    let answer = try await live(gateway, route, 1, #"\#(more),"token":\#(token)"#)
                    #expect(answer.status == 400, "\(route) \(token): \(answer.text)")
                    #expect(answer["field"] == "token", "\(route) \(token)")
                }
            }
            #expect(try await gateway.push("update", "match-1").status == 201)
            #expect(try await gateway.start("match-2").status == 201)
        }
    }

    @Test("counts every tap, and the first one for each push stays the first")
    func countsTaps() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...2)
            #expect(try await gateway.tap(1, activity: "match-1").status == 404)
            #expect(try await gateway.tap(3, activity: "match-1").status == 404)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let first = try #require(try await gateway.push("update", "match-1")["id"])
            _ = try await gateway.waitUntilFinished(first)
            let second = try #require(try await gateway.push("update", "match-1")["id"])
            _ = try await gateway.waitUntilFinished(second)

            #expect(try await gateway.tap(1, activity: "match-1")["notification_id"] == second)
            #expect(try await gateway.tap(1, activity: "match-1", notification: first)["notification_id"] == first)
            let since = try await firstTap(gateway)
            #expect(try await gateway.tap(1, activity: "match-1", notification: first.uppercased()).status == 200)
            #expect(try await firstTap(gateway) == since)
            #expect(try await gateway.tap(2, activity: "match-1", notification: first).status == 404)
            #expect(try await gateway.tap(1, activity: "match-2", notification: first).status == 404)
            let totals = try await gateway.summary(of: first)
            #expect(totals.number("clicks") == 2)
            #expect(totals.number("clicked_devices") == 1)
        }
    }

    @Test("among a whole stadium that taps at once is counted exactly, and answered once that is stored")
    func countsStadium() async throws {
        try await Deployment.run { gateway in
            try await gateway.storeDevices(60)
            let start = try #require(try await gateway.start("match-1")["id"])
            _ = try await gateway.waitUntilFinished(start)
            // Two taps a device, from as many connections; two more of somebody who was not pushed.
            try await withThrowingTaskGroup(of: Answer.self) { group in
                for number in 1...61 {
                    for _ in 0..<2 { group.addTask { try await gateway.tap(number, activity: "match-1") } }
                }
                for try await answer in group { #expect([200, 404].contains(answer.status), "\(answer.text)") }
            }
            let totals = try await gateway.summary(of: start)
            #expect(totals.number("clicks") == 120)
            #expect(totals.number("clicked_devices") == 60)
        }
    }

    private func firstTap(_ gateway: Deployment) async throws -> String {
        let connection = try await gateway.database.connect()
        let found = try await connection.queryUnprepared(
            "select min(first_at)::text from click where notification_id = (select min(notification_id) from click)", [])
        await connection.close()
        return found.text(row: 0, column: 0)
    }
}

@Suite("A list of notifications", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct ListTests {
    @Test("goes back page by page without a gap or a repetition, newest first")
    func pages() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            var sent: [String] = []
            for _ in 0..<7 { sent.append(try #require(try await gateway.push("update", "match-1")["id"])) }
            _ = try await gateway.start("match-2")
            var seen: [String] = []
            var before = ""
            while true {
                let page = try await gateway.send(
                    "GET", "/v1/notifications?activity_id=match-1&limit=3\(before)", key: gateway.app.readKey)
                #expect(page.status == 200, "\(page.text)")
                let ids = page.json?["notifications"]?.elements.compactMap { $0["id"]?.string } ?? []
                guard let last = ids.last else { break }
                #expect(ids.count <= 3)
                seen += ids
                before = "&before=\(last)"
            }
            #expect(seen == sent.reversed())
            let wrong = try await gateway.send("GET", "/v1/notifications?before=nothing", key: gateway.app.readKey)
            #expect(wrong.status == 400)
            #expect(wrong["field"] == "before")
        }
    }
}
