import JSON
import Networking
import Testing

/// With inputs so small, figures mean nothing; that every registration was answered well, the program checks itself.
@Suite("benchmark registration", .timeLimit(.minutes(3))) struct RegistrationBenchmarkTests {
    @Test("registers over HTTP, tells what it compares with and why it does not, and clears up")
    func measures() async throws {
        let run = try BenchmarkRun(
            [
                "registration", "--registrations", "400", "--devices", "300", "--clients", "8", "--repetitions", "2", "--nginx",
                "/nonexistent/nginx",
            ])
        let result = try await run.json()
        #expect(result["program"]?.string == "benchmark registration")
        let rate = try #require(result["openpushd"]?["registrations_per_second"]?["median"]?.double)
        #expect(rate > 0)
        let goals = try #require(result["goals"]?.elements)
        #expect(goals.compactMap { $0["must"]?.double } == [0.7, 3])
        #expect(goals.last?["not_measured"]?.string == "there is no nginx on the PATH")
        #expect(!run.hasWorkDirectory)
    }

    @Test("says what is wrong with its options", arguments: [("--registrations", "0"), ("--clients", "1001")])
    func refuses(option: String, value: String) async throws {
        let run = try BenchmarkRun(["registration", option, value], hasPlace: false)
        #expect(await run.child.wait() == .status(64))
        #expect(run.errors.hasPrefix("\(option) must be in "))
    }
}
