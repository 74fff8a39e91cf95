import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("The main job", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct MainJobTests {
    @Test("starts, updates and ends an activity on every device and counts the taps")
    func playsAMatch() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...40)
            let start = try await gateway.start("match-1")
            #expect(start.status == 201)
            #expect(start["id"] == start["notification_id"])
            let started = try await gateway.waitUntilFinished(try #require(start["id"]))
            #expect(started.number("targeted") == 40)
            #expect(started.number("accepted") == 40)
            #expect(
                gateway.pushes(.start) == Dictionary(uniqueKeysWithValues: (1...40).map { (Deployment.token("start", $0), 1) }))

            try await gateway.registerUpdateTokens(1...40, activity: "match-1")
            let update = try await gateway.push("update", "match-1")
            #expect(update.status == 201)
            let updated = try await gateway.waitUntilFinished(try #require(update["id"]))
            #expect(updated.number("accepted") == 40)

            for _ in 0..<2 { #expect(try await gateway.tap(7, activity: "match-1").status == 200) }
            #expect(try await gateway.tap(8, activity: "match-1").status == 200)
            let tapped = try await gateway.summary(of: try #require(update["id"]))
            #expect(tapped.number("clicks") == 3)
            #expect(tapped.number("clicked_devices") == 2)

            let end = try await gateway.push("end", "match-1", state: #"{"score":2}"#)
            #expect(end.status == 201)
            let ended = try await gateway.waitUntilFinished(try #require(end["id"]))
            #expect(ended.number("accepted") == 40)
            #expect(gateway.pushes(.end).count == 40)
            #expect(try await gateway.push("update", "match-1").status == 404)
            #expect(gateway.simulator.requests().allSatisfy { $0.reading.shapeErrors.isEmpty })
        }
    }

    @Test("carries attributes and state to the phone byte for byte")
    func keepsBytes() async throws {
        let state =
            #"{"a":1,"b":1.0,"c":20.1234,"t":true,"id":9007199254740993,"f":68.32,"e":1e2,"n":-0.0,"x":null,"u":"\u00e9/é"}"#
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let update = try await gateway.push("update", "match-1", state: state)
            #expect(update.status == 201, "\(update.text)")
            let body = try #require(gateway.simulator.requests().last?.request?.body)
            #expect(String(decoding: body, as: UTF8.self).contains(#""content-state":\#(state)"#))
        }
    }

    @Test("sends the headers Apple asks for")
    func sendsHeaders() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            let start = try await gateway.start("match-1", more: #","priority":5"#)
            _ = try await gateway.waitUntilFinished(try #require(start["id"]))
            let request = try #require(gateway.simulator.requests().first?.request)
            #expect(request.headers["apns-topic"] == "\(Deployment.bundleID).push-type.liveactivity")
            #expect(request.headers["apns-push-type"] == "liveactivity")
            #expect(request.headers["apns-priority"] == "5")
            #expect(Int64(request.headers["apns-expiration"] ?? "") ?? 0 > 1_700_000_000)
            #expect(request.headers["apns-collapse-id"] == "match-1")
            #expect(request.target == "/3/device/\(Deployment.token("start", 1))")
        }
    }

    @Test("says truthfully which devices were not reached, and forgets their tokens")
    func reportsDeadTokens() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...10)
            var gone = Rule.Effect()
            gone.answer = PushAnswer(.unregistered)
            for number in 1...3 {
                var condition = Rule.Condition()
                condition.token = Hexadecimal.decode(Deployment.token("start", number))
                gateway.simulator.script(gone, when: condition)
            }
            let first = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-1")["id"]))
            #expect(first.number("accepted") == 7)
            #expect(first.number("failed") == 3)
            #expect(first.json?["reasons"]?["Unregistered"]?.integer == 3)
            let second = try await gateway.waitUntilFinished(try #require(try await gateway.start("match-2")["id"]))
            #expect(second.number("targeted") == 7)
        }
    }

    @Test("serves HTTP/2 by prior knowledge as well as HTTP/1.1")
    func servesHTTP2() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            #expect(try await gateway.start("match-1", version: .http2).status == 201)
        }
    }
}
