import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("A start", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct StartTests {
    private let key = "7B1F4A52-3C1D-4E8F-9A6B-0C2D4E6F8A10"

    @Test("with one idempotency key happens once, however often and however concurrently it is sent")
    func happensOnce() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...5)
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for number in 0..<50 {
                    let spelling = number % 2 == 0 ? key : key.lowercased()
                    group.addTask { try await gateway.start("match-1", more: #","idempotency_key":"\#(spelling)""#) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 201 })
            #expect(Set(answers.compactMap { $0["notification_id"] }).count == 1)
            #expect(answers.filter { $0.headers["idempotent-replayed"] == "true" }.count == 49)
            _ = try await gateway.waitUntilFinished(try #require(answers[0]["id"]))
            #expect(gateway.pushes().values.allSatisfy { $0 == 1 })
            #expect(gateway.pushes().count == 5)
        }
    }

    @Test("that is refused does not use its idempotency key up")
    func keepsKeyOfRefusedStart() async throws {
        try await Deployment.run { gateway in
            let first = try await gateway.start("match-1", more: #","idempotency_key":"\#(key)""#)
            #expect(first.status == 400)
            #expect(first.text.contains(Deployment.activityType))
            try await gateway.registerDevices(1...1)
            let second = try await gateway.start("match-1", more: #","idempotency_key":"\#(key)""#)
            #expect(second.status == 201)
            #expect(second.headers["idempotent-replayed"] == nil)
        }
    }

    @Test("reaches whom its targeting names, and nobody else")
    func targets() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...4, more: #","tags":{"club":"home"},"language":"de""#)
            try await gateway.registerDevices(5...8, more: #","tags":{"club":"away"}"#)
            let segment = try await gateway.send(
                "POST", "/apps/\(gateway.app.id)/segments", key: gateway.app.restKey,
                body: #"{"name":"Home fans","filters":[{"field":"tag","key":"club","relation":"=","value":"home"}]}"#)
            #expect(segment.status == 201, "\(segment.text)")
            let cases: [(String, ClosedRange<Int>)] = [
                (#""included_segments":["Home fans"]"#, 1...4),
                (#""included_segments":["All"],"excluded_segments":["Home fans"]"#, 5...8),
                (#""filters":[{"field":"language","relation":"=","value":"de"}]"#, 1...4),
                (#""include_aliases":{"external_id":["user-2","user-3","nobody"]}"#, 2...3),
            ]
            for (number, (targeting, expected)) in cases.enumerated() {
                await gateway.simulator.reset()
                let start = try await gateway.start("match-\(number)", targeting: targeting)
                #expect(start.status == 201, "\(targeting): \(start.text)")
                _ = try await gateway.waitUntilFinished(try #require(start["id"]))
                #expect(Set(gateway.pushes().keys) == Set(expected.map { Deployment.token("start", $0) }), "\(targeting)")
            }
        }
    }

    @Test("that is nested too deeply, or is no text, is refused, and the daemon goes on")
    func hostileBodies() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            let path = "/apps/\(gateway.app.id)/activities/activity/\(Deployment.activityType)"
            func body(_ state: String) -> [UInt8] {
                Array(
                    (#"{"event":"start","activity_id":"m","name":"n","event_attributes":{"a":1},"event_updates":{"s":\#(state)},"#
                        + #""headings":{"en":"T"},"contents":{"en":"B"},"included_segments":["All"]}"#).utf8)
            }
            func nested(_ depth: Int) -> [UInt8] {
                body(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
            }
            var invalid = body(#""?""#)
            if let place = invalid.firstIndex(of: UInt8(ascii: "?")) { invalid[place] = 0xFF }
            let top = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
            for hostile in [nested(500), nested(100_000), top, invalid] {
                let answer = try await gateway.client(of: nil, version: .http1).send(
                    "POST", path, headers: ["authorization": "Key \(gateway.app.restKey)"], body: hostile)
                #expect(answer.status == 400, "\(answer.text)")
            }
            // The same process: a daemon that ended is not started again.
            #expect(try await gateway.start("match-1").status == 201)
        }
    }

    @Test("lists every field that is wrong")
    func listsMistakes() async throws {
        try await Deployment.run { gateway in
            let answer = try await gateway.send(
                "POST", "/apps/\(gateway.app.id)/activities/activity/T", key: gateway.app.restKey,
                body: #"{"event":"begin","activity_id":"a/b","event_attributes":{},"stale_date":100000000000,"surprise":1}"#)
            #expect(answer.status == 400)
            for field in [
                "event", "activity_id", "event_attributes", "event_updates", "name", "headings", "contents", "stale_date",
                "surprise",
            ] {
                #expect(
                    answer.json?["errors"]?.elements.contains { $0.string?.hasPrefix(field) == true } == true,
                    "\(field): \(answer.text)")
            }
        }
    }

    @Test("whose body would be larger than 4096 bytes is refused before anything is sent, and one of 4096 is sent")
    func boundsThePayload() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            try await gateway.registerUpdateTokens(1...1, activity: "match-1")
            let small = try await gateway.push("update", "match-1", state: #"{"p":""}"#)
            #expect(small.status == 201, "\(small.text)")
            let size = try #require(gateway.simulator.requests().last?.request?.body.count)
            let largest = try await gateway.push(
                "update", "match-1", state: #"{"p":"\#(String(repeating: "x", count: 4_096 - size))"}"#)
            #expect(largest.status == 201, "\(largest.text)")
            #expect(gateway.simulator.requests().last?.request?.body.count == 4_096)
            // Four bytes a character: bytes are counted, not characters.
            let emoji = String(repeating: "⚽️", count: (4_096 - size) / 6 + 1)
            let tooLarge = try await gateway.push("update", "match-1", state: #"{"p":"\#(emoji)"}"#)
            #expect(tooLarge.status == 400)
            #expect(tooLarge.text.contains("4096"))
            #expect(gateway.simulator.requests().count == 2)
        }
    }
}
