import JSON
import Networking
import Testing

/// With inputs so small, figures mean nothing; that every tap was counted, the program checks itself.
@Suite("benchmark clicks", .timeLimit(.minutes(3))) struct ClickBenchmarkTests {
    @Test("counts taps both ways, tells the ratio, and clears up")
    func measuresBothWays() async throws {
        let run = try BenchmarkRun(
            ["clicks", "--taps", "600", "--devices", "200", "--clients", "150", "--repetitions", "2"])
        let result = try await run.json()
        #expect(result["program"]?.string == "benchmark clicks")
        #expect(result["inputs"]?["postgresql"]?["synchronous_commit"]?.string == "on")
        let single = try #require(result["single"]?["taps_per_second"]?["median"]?.double)
        let batched = try #require(result["batched"]?["taps_per_second"]?["median"]?.double)
        #expect(single > 0 && batched > 0)
        let ratio = try #require(result["ratio"]?.double)
        #expect(abs(ratio - batched / single) < 0.1)
        let goal = try #require(result["goals"]?.elements.first)
        #expect(goal["must"]?.double == 8)
        #expect(goal["reached"]?.bool == (ratio >= 8))
        #expect(!run.hasWorkDirectory)
    }

    @Test("says what is wrong with its options", arguments: [("--taps", "0"), ("--clients", "100000")])
    func refuses(option: String, value: String) async throws {
        let run = try BenchmarkRun(["clicks", option, value], hasPlace: false)
        #expect(await run.child.wait() == .status(64))
        #expect(run.errors.hasPrefix("\(option) must be in "))
    }
}
