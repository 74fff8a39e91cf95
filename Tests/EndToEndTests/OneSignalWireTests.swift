import APNsSimulator
import Foundation
import HTTP
import JSON
import TestSupport
import Testing

/// A phone that speaks the wire of OneSignal's client, with no key.
private struct Phone {
    let gateway: Deployment
    let number: Int

    var root: String { "/apps/\(gateway.app.id)" }
    var token: String { Deployment.token("device", number) }

    func send(_ method: String, _ path: String, _ body: String = "", key: String? = nil) async throws -> Answer {
        try await gateway.send(method, path, key: key, body: body)
    }

    func createUser(_ externalID: String? = nil, subscription: String? = nil, more: String = "") async throws -> Answer {
        let identity = externalID.map { #""external_id":"\#($0)""# } ?? ""
        let id = subscription.map { #","id":"\#($0)""# } ?? ""
        return try await send(
            "POST", "\(root)/users",
            """
            {"identity":{\(identity)},"properties":{"language":"en","timezone_id":"Europe/Berlin"},"refresh_device_metadata":true,
             "subscriptions":[{"type":"iOSPush","token":"\(token)","enabled":true,"test_type":2,"sdk":"050300"\(id)}]\(more)}
            """)
    }

    func keepActivityToken(_ activity: String, subscription: String) async throws -> Answer {
        try await send(
            "POST", "\(root)/live_activities/\(activity)/token",
            #"{"subscription_id":"\#(subscription)","push_token":"\#(Deployment.token("update", number))","device_type":0}"#)
    }

    func report(_ activity: String, subscription: String, more: String = "") -> String {
        """
        {"app_id":"\(gateway.app.id)","player_id":"\(subscription)","device_type":0,"live_activity_id":"\(activity)",\
        "live_activity_type":"\(Deployment.activityType)"\(more)}
        """
    }
}

extension Answer {
    fileprivate var userID: String? { json?["identity"]?["onesignal_id"]?.string }
    fileprivate var subscription: String? { json?["subscriptions"]?.elements.first?["id"]?.string }
}

@Suite("An app on OneSignal's wire", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct OneSignalWireTests {
    @Test("needs a base URL only: from the first launch over login, start, update and receipt to the tap and the log-out")
    func playsTheWire() async throws {
        try await Deployment.run { gateway in
            let phone = Phone(gateway: gateway, number: 1)
            #expect(try await phone.createUser().status == 401)
            #expect(try await gateway.control("app", "set", gateway.app.id, "--open-device-routes", "on").status == 0)
            let launched = try await phone.createUser()
            #expect(launched.status == 201, "\(launched.text)")
            let (user, subscription) = (try #require(launched.userID), try #require(launched.subscription))
            let name = "\(phone.root)/users/by/onesignal_id/\(user)"
            let login = try await phone.send("PATCH", "\(name)/identity", #"{"identity":{"external_id":"fan-1"}}"#)
            #expect(login.status == 200 && login.userID == user)
            let tagged = try await phone.send(
                "PATCH", name, #"{"properties":{"tags":{"club":"home"}},"deltas":{"session_count":1}}"#)
            #expect(tagged.status == 202)

            // The type comes encoded twice, as that client sends it.
            let typeToken = "\(phone.root)/activities/tokens/start/Match%2541ttributes/subscriptions/\(subscription)"
            let kept = try await phone.send(
                "PUT", typeToken, #"{"activity_token":"\#(Deployment.token("start", 1))","device_type":0}"#)
            #expect(kept.status == 200, "\(kept.text)")
            let start = try await gateway.start(
                "match-1", targeting: #""filters":[{"field":"tag","key":"club","relation":"=","value":"home"}]"#)
            #expect(start.status == 201, "\(start.text)")
            _ = try await gateway.waitUntilFinished(try #require(start["id"]))
            #expect(gateway.pushes(.start) == [Deployment.token("start", 1): 1])
            #expect(try await phone.keepActivityToken("match-1", subscription: subscription).status == 200)
            let update = try #require(try await gateway.push("update", "match-1")["id"])
            _ = try await gateway.waitUntilFinished(update)
            #expect(gateway.pushes(.update) == [Deployment.token("update", 1): 1])

            for _ in 0..<3 {
                let receipt = try await phone.send(
                    "PUT", "/notifications/\(update)/report_received", phone.report("match-1", subscription: subscription))
                #expect(receipt.status == 200, "\(receipt.text)")
                // onesignal-liveactivity://track/click?clickId=&activityId=&activityType=&notificationId=
                let click = try await phone.send(
                    "POST", "\(phone.root)/live_activities/match-1/click",
                    phone.report(
                        "match-1", subscription: subscription,
                        more: #","click_id":"6f0f3d5e-7d9c-4c1b-8a4b-1d2e3f405162","notificationId":"\#(update)""#))
                #expect(click.status == 200 && click["notification_id"] == update, "\(click.text)")
            }
            let message = try await gateway.send(
                "GET", "/notifications/\(update)?app_id=\(gateway.app.id)", key: gateway.app.restKey)
            #expect(message.number("successful") == 1 && message.number("received") == 1 && message.number("converted") == 1)
            #expect(try await gateway.summary(of: update).number("clicks") == 1)

            let loggedOut = try await phone.createUser(subscription: subscription)
            #expect(loggedOut.status == 202 && loggedOut.subscription == subscription && loggedOut.userID != user)
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(try await gateway.start("match-2", targeting: #""include_aliases":{"external_id":["fan-1"]}"#).status == 400)
            #expect(try await phone.send("GET", name).status == 404)
        }
    }

    @Test("that tells of one phone 50 times at once has one device, and nobody is refused")
    func isOneDevice() async throws {
        try await Deployment.run { gateway in
            #expect(try await gateway.control("app", "set", gateway.app.id, "--open-device-routes", "on").status == 0)
            let phone = Phone(gateway: gateway, number: 1)
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for _ in 0..<50 { group.addTask { try await phone.createUser("fan-1") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { [201, 202].contains($0.status) })
            #expect(answers.filter { $0.status == 201 }.count == 1)
            #expect(Set(answers.compactMap(\.subscription)).count == 1)
            #expect(Set(answers.compactMap(\.userID)).count == 1)
            let user = try await gateway.send(
                "GET", "\(phone.root)/users/by/external_id/fan-1", key: gateway.app.restKey)
            #expect(user.json?["subscriptions"]?.elements.count == 1)
        }
    }

    @Test("ends an activity on the phone, moves a subscription and removes it, and none of them is pushed any more")
    func leaves() async throws {
        try await Deployment.run { gateway in
            #expect(try await gateway.control("app", "set", gateway.app.id, "--open-device-routes", "on").status == 0)
            var subscriptions: [String] = []
            for number in 1...3 {
                let phone = Phone(gateway: gateway, number: number)
                let subscription = try #require(try await phone.createUser("fan-\(number)").subscription)
                #expect(try await phone.keepActivityToken("match-1", subscription: subscription).status == 200)
                subscriptions.append(subscription)
            }
            let phone = Phone(gateway: gateway, number: 1)
            let ended = try await phone.send("DELETE", "\(phone.root)/live_activities/match-1/token/\(subscriptions[0])")
            #expect(ended.status == 200)
            #expect(try await phone.keepActivityToken("match-1", subscription: subscriptions[0]).status == 409)
            let moved = try await phone.send(
                "PATCH", "\(phone.root)/subscriptions/\(subscriptions[1])/owner", #"{"identity":{"external_id":"fan-9"}}"#)
            #expect(moved.status == 202, "\(moved.text)")
            #expect(try await phone.send("DELETE", "\(phone.root)/subscriptions/\(subscriptions[2])").status == 200)
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(gateway.pushes() == [:])
            #expect(try await phone.send("DELETE", "\(phone.root)/subscriptions/\(subscriptions[2])").status == 404)
        }
    }

    @Test("finds the routes closed again when they are closed, and by a client key always open")
    func closes() async throws {
        try await Deployment.run { gateway in
            let phone = Phone(gateway: gateway, number: 1)
            for (setting, status) in [("on", 201), ("off", 401)] {
                let set = try await gateway.control("app", "set", gateway.app.id, "--open-device-routes", setting)
                #expect(set.status == 0 && set.answer?["device_routes_open"]?.bool == (setting == "on"))
                #expect(try await phone.createUser().status == status)
            }
            let withKey = try await phone.send(
                "POST", "\(phone.root)/users", #"{"subscriptions":[{"type":"iOSPush","token":"ab"}]}"#, key: gateway.app.clientKey
            )
            #expect(withKey.status == 201)
        }
    }
}
