import JSON
import Networking
import Testing

/// With inputs so small, times mean nothing; that every subscriber got every update, the program checks itself.
@Suite("benchmark channel", .timeLimit(.minutes(3))) struct ChannelBenchmarkTests {
    @Test("updates a channel with one push, whoever is on it, and clears up")
    func measures() async throws {
        let run = try BenchmarkRun(["channel", "--subscribers", "1000000", "--updates", "5", "--repetitions", "2"])
        let result = try await run.json()
        #expect(result["program"]?.string == "benchmark channel")
        for part in ["one", "many"] {
            #expect(result[part]?["pushes_per_update"]?["most"]?.double == 1, "\(part)")
            #expect(try #require(result[part]?["ms_per_update"]?["median"]?.double) > 0)
        }
        let goals = try #require(result["goals"]?.elements)
        #expect(goals.map { $0["must"]?.double } == [1, 1.25])
        #expect(goals.first?["reached"]?.bool == true)
        #expect(!run.hasWorkDirectory)
    }

    @Test("says what is wrong with its options", arguments: [("--subscribers", "1"), ("--updates", "0")])
    func refuses(option: String, value: String) async throws {
        let run = try BenchmarkRun(["channel", option, value], hasPlace: false)
        #expect(await run.child.wait() == .status(64))
        #expect(run.errors.hasPrefix("\(option) must be in "))
    }
}
