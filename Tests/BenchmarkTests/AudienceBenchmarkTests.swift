import JSON
import Networking
import Testing

/// With inputs so small, figures mean nothing; that every device was found, the program checks itself.
@Suite("benchmark audience", .timeLimit(.minutes(3))) struct AudienceBenchmarkTests {
    @Test("reads every audience, tells the ratios, and clears up")
    func measures() async throws {
        let run = try BenchmarkRun(
            ["audience", "--devices", "3000", "--page", "100", "--list", "500", "--repetitions", "2"])
        let result = try await run.json()
        #expect(result["program"]?.string == "benchmark audience")
        #expect(result["goals"]?.elements.compactMap { $0["must"]?.double } == [1.3, 3])
        for (name, count) in [
            ("bare", 3_000), ("tag", 3_000), ("tag_of_a_tenth", 300), ("filter", 3_000), ("filter_of_a_third", 1_190),
            ("aliases", 500),
        ] {
            #expect(result[name]?["devices"]?.integer == Int64(count), "\(name)")
            #expect(try #require(result[name]?["seconds"]?["median"]?.double) > 0)
        }
        #expect(!run.hasWorkDirectory)
    }

    @Test("says what is wrong with its options", arguments: [("--page", "0"), ("--list", "20001")])
    func refuses(option: String, value: String) async throws {
        let run = try BenchmarkRun(["audience", option, value], hasPlace: false)
        #expect(await run.child.wait() == .status(64))
        #expect(run.errors.hasPrefix("\(option) must be in "))
    }
}
