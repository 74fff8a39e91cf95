import APNsSimulator
import Foundation
import HTTP
import JSON
import TestSupport
import Testing

@Suite("While APNs accepts connections and never speaks", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct APNsAwayTests {
    @Test("backends, devices and dashboards are answered as always, and what was accepted goes out once it speaks")
    func staysResponsive() async throws {
        try await Deployment.run { gateway in
            try await gateway.registerDevices(1...5)
            var silence = Rule()
            silence.subject = .connection
            silence.effect.ignoresHandshake = true
            _ = gateway.simulator.add([silence])
            let start = try #require(try await gateway.start("match-1")["id"])
            for number in 2...20 {
                #expect(try await gateway.start("match-\(number)").status == 201)
                #expect(try await gateway.summary(of: start).status == 200)
                #expect(try await gateway.push("update", "match-\(number)").status == 404)
                #expect(try await gateway.send("GET", "/livez", key: nil).status == 200)
                #expect(try await gateway.send("GET", "/readyz", key: nil).status == 200)
            }
            try await gateway.registerDevices(6...10)
            #expect(gateway.simulator.requests().isEmpty)
            gateway.simulator.removeRules()
            let totals = try await gateway.waitUntilFinished(start)
            #expect(totals.number("accepted") ?? 0 >= 5 && totals.number("unknown") == 0, "\(totals.text)")
        }
    }
}

@Suite("The daemon's memory", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct MemoryTests {
    @Test("after a dozen starts is what it was after three")
    func plateau() async throws {
        let settings = ["OPENPUSH_EVENT_LOOPS": "1", "MALLOC_ARENA_MAX": "2", "OPENPUSH_LOG_LEVEL": "warning"]
        try await Deployment.run(settings: settings) { gateway in
            // Where nothing is measured, fewer will do.
            let deviceCount: Int64 = Sanitizer.isActive ? 200 : 2_000
            try await gateway.storeDevices(Int(deviceCount))
            func startSome(_ numbers: ClosedRange<Int>) async throws -> Int {
                for number in numbers {
                    let start = try #require(try await gateway.start("match-\(number)")["id"])
                    let totals = try await gateway.waitUntilFinished(start)
                    // On a slow machine the simulator may take longer than a push waits for its answer.
                    let ended = (totals.number("accepted") ?? 0) + (totals.number("unknown") ?? 0)
                    #expect(totals["state"] == "finished" && ended == deviceCount, "\(totals.text)")
                }
                return try gateway.daemon.resources().residentByteCount
            }
            let early = try await startSome(1...3)
            let late = try await startSome(4...12)
            // 100 bytes kept of each push would be 1.8 MB.
            #expect(late - early < 1_500_000 || Sanitizer.isActive, "\(early) \(late)")
        }
    }
}
