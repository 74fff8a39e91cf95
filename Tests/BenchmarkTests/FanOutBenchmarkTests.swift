import Foundation
import Glibc
import JSON
import Networking
import TestSupport
import Testing

/// Runs the program with inputs so small that it takes seconds: figures mean nothing then, but every way is gone.
@Suite("benchmark fan-out", .timeLimit(.minutes(3))) struct FanOutBenchmarkTests {
    @Test("measures every figure of the table but those that need h2load, and clears up")
    func measuresEverything() async throws {
        let run = try BenchmarkRun(["fan-out", "--pushes", "500", "--devices", "500", "--repetitions", "1"])
        let result = try await run.json()
        #expect(result["program"]?.string == "benchmark fan-out")
        #expect(result["inputs"]?["sink"]?.string == "apns-simulator")
        #expect(result["inputs"]?["postgresql"]?["synchronous_commit"]?.string == "on")
        let goals = try #require(result["goals"]?.elements)
        #expect(goals.count == 10)
        for goal in goals {
            let figure = try #require(goal["figure"]?.string)
            if figure.hasSuffix("h2load's") {
                #expect(goal["value"]?.isNull == true, "\(figure)")
                #expect(goal["not_measured"]?.string == "h2load did not run: no --bench-directory", "\(figure)")
                #expect(goal["reached"]?.isNull == true, "\(figure)")
            } else if goal["not_measured"]?.string != "the measured time was too short" {
                #expect(try #require(goal["value"]?.double, "\(figure)") > 0)
                #expect(goal["reached"]?.bool != nil, "\(figure)")
            }
        }
        #expect(result["h2load"]?.isNull == true)
        for part in ["sender", "daemon", "late_sender", "late_daemon", "few_devices", "many_devices"] {
            #expect(try #require(result[part]?["pushes_per_second"]?["median"]?.double, "\(part)") > 0)
        }
        #expect(try #require(result["daemon"]?["wal_bytes_per_push"]?["median"]?.double) > 50)
        #expect(try #require(result["daemon"]?["peak_bytes"]?["median"]?.double) > 1_000_000)
        #expect(result["parts"]?["record_cpu_us_per_push"]?["median"]?.double != nil)
        #expect(!run.hasWorkDirectory)
    }

    @Test("leaves out what --only does not name")
    func leavesOut() async throws {
        let run = try BenchmarkRun(["fan-out", "--only", "sender", "--pushes", "200", "--repetitions", "1"])
        let result = try await run.json()
        #expect(result["daemon"]?.isNull == true)
        #expect(result["parts"]?.isNull == true)
        let reasons = try #require(result["goals"]).elements.map { $0["not_measured"]?.string }
        #expect(reasons.filter { $0 == "left out by --only" }.count == 8)
        #expect(try #require(result["sender"]?["pushes_per_second"]?["least"]?.double) > 0)
    }

    @Test("ends what it started when it is told to stop", arguments: [SIGTERM, SIGINT])
    func endsEverything(signal: Int32) async throws {
        let run = try BenchmarkRun(["fan-out", "--only", "sender", "--pushes", "100000000", "--repetitions", "1"])
        let sink = try await run.line(of: "sink-of-sender.output", beginningWith: "production=127.0.0.1:")
        let port = try #require(UInt16(sink.prefix { $0 != " " }))
        _ = try TestSocket(port: port)
        run.child.signal(signal)
        #expect(await run.child.wait() == .status(128 + signal))
        #expect(throws: TestHTTPClient.Failure.self) { try TestSocket(port: port) }
        #expect(!run.hasWorkDirectory)
    }

    @Test(
        "says what is wrong with its options",
        arguments: [
            (["fan-out", "--only", "speed"], "--only takes sender, daemon, parts, latency, scale; speed is none of them"),
            (["fan-out", "--pushes", "0"], "--pushes must be in 1...100000000"),
            (["fan-out", "--fast", "1"], "there is no option --fast"),
            (["fan-out", "--pushes"], "--pushes needs a value"), (["sender"], "--ca-file is missing"),
            (["storm"], "there is no benchmark 'storm'"),
        ])
    func refuses(arguments: [String], complaint: String) async throws {
        let run = try BenchmarkRun(arguments, hasPlace: false)
        #expect(await run.child.wait() == .status(64))
        #expect(run.errors == "\(complaint) (benchmark --help)\n")
    }

    @Test("does not work in a directory that holds something else")
    func refusesDirectory() async throws {
        let run = try BenchmarkRun(["fan-out", "--only", "sender"], isDirectoryTaken: true)
        #expect(await run.child.wait() == .status(1))
        #expect(run.errors.hasSuffix("is there already and no work directory of a benchmark: choose another one\n"))
        #expect(run.hasWorkDirectory)
    }
}
