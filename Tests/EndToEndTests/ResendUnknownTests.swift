import APNsSimulator
import HTTP
import JSON
import Security
import TestSupport
import Testing

@Suite("openpushctl notification resend-unknown", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct ResendUnknownTests {
    /// APNs resets the streams of these devices without an answer.
    private func leaveUnanswered(_ numbers: ClosedRange<Int>, _ gateway: Deployment) {
        for number in numbers {
            var effect = Rule.Effect()
            effect.resetCode = 2
            var condition = Rule.Condition()
            condition.token = Hexadecimal.decode(Deployment.token("start", number))
            gateway.simulator.script(effect, when: condition)
        }
    }

    @Test("sends a start once more to the devices nobody knows of, and to no other")
    func sendsAgain() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...40)
            leaveUnanswered(1...15, gateway)
            let start = try #require(try await gateway.start("match-1")["id"])
            var totals = try await gateway.waitUntilFinished(start)
            #expect(totals.number("unknown") == 15 && totals.number("accepted") == 25)
            gateway.simulator.removeRules()

            let results = try await withThrowingTaskGroup(of: (Int32, Int64?, String).self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        let result = try await gateway.control("notification", "resend-unknown", start)
                        return (result.status, result.answer?["devices"]?.integer, result.errors)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.filter { $0.0 == 0 && $0.1 == 15 }.count == 1, "\(results)")
            #expect(results.filter { $0.0 == 1 && !$0.2.isEmpty }.count == 1, "\(results)")
            totals = try await gateway.waitUntilFinished(start)
            #expect(totals.number("unknown") == 0 && totals.number("accepted") == 40 && totals.number("targeted") == 40)
            for number in 1...40 {
                #expect(gateway.pushes()[Deployment.token("start", number)] == (number <= 15 ? 2 : 1), "device \(number)")
            }
            // The same push: a phone that got the first one shows one card.
            let byToken = Dictionary(grouping: gateway.simulator.requests()) { $0.token ?? [] }
            for requests in byToken.values {
                #expect(Set(requests.compactMap { $0.request?.headers["apns-id"] }).count == 1)
                #expect(Set(requests.compactMap { $0.request?.headers["apns-collapse-id"] }).count == 1)
            }
        }
    }

    @Test("says why it does nothing")
    func saysWhy() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...1)
            let start = try #require(try await gateway.start("match-1")["id"])
            _ = try await gateway.waitUntilFinished(start)
            for (id, status, text) in [
                (start, 1, "nothing to send again"), ("7b1f4a52-3c1d-4e8f-9a6b-0c2d4e6f8a10", 65, "no notification"),
                ("match-1", 64, "UUID"),
            ] as [(String, Int32, String)] {
                let result = try await gateway.control("notification", "resend-unknown", id)
                #expect(result.status == status && result.errors.contains(text), "\(result)")
            }
            #expect(gateway.simulator.requests().count == 1)
        }
    }
}
