import Glibc
import Networking
import Observability

/// `benchmark`: measures the gateway and prints one JSON object. docs/performance.md says how to repeat a figure.
///
/// `main` is not `async`: the runtime would park the main thread where signals are not blocked.
@main struct Program {
    private static let endingSignals = [SIGTERM, SIGINT]
    /// Status of a process that was called wrongly. Source: sysexits.h, EX_USAGE.
    private static let usageStatus: Int32 = 64

    static func main() {
        do {
            // Before any thread is started: threads inherit the mask.
            try Signals.block(endingSignals)
            Signals.ignoreBrokenPipes()
        } catch {
            Logger.writeToStandardError("\(error)")
            exit(EXIT_FAILURE)
        }
        Task.detached {
            await Undoing.ofProcess.endProcess(status: await run(CommandLine.arguments.dropFirst()))
        }
        let signal = Signals.wait(for: endingSignals)
        // The status a shell reports for a process that a signal ended.
        Task.detached { await Undoing.ofProcess.endProcess(status: 128 + signal) }
        // A second signal does not wait for the programs to end.
        _ = Signals.wait(for: endingSignals)
        exit(128 + signal)
    }

    /// Prints the result, or why there is none; returns the exit status.
    private static func run(_ words: some Sequence<String>) async -> Int32 {
        do {
            print(try await measure(words))
            return EXIT_SUCCESS
        } catch let mistake as BenchmarkArguments.Mistake {
            Logger.writeToStandardError("\(mistake) (benchmark --help)")
            return usageStatus
        } catch {
            Logger.writeToStandardError("benchmark: \(error)")
            return EXIT_FAILURE
        }
    }

    private static func measure(_ words: some Sequence<String>) async throws -> String {
        var arguments = try BenchmarkArguments(words)
        switch arguments.command {
        case "sender": return try await SenderBenchmark(&arguments).run()
        case "clicks": return try await ClickBenchmark(&arguments).run()
        case "channel": return try await ChannelBenchmark(&arguments).run()
        case "audience": return try await AudienceBenchmark(&arguments).run()
        case "registration": return try await RegistrationBenchmark(&arguments).run()
        case "fan-out": return try await FanOutBenchmark(&arguments).run()
        case "--help": return help
        default: throw BenchmarkArguments.Mistake(description: "there is no benchmark '\(arguments.command)'")
        }
    }

    private static let help = """
        usage: benchmark fan-out [OPTION VALUE]...
               benchmark clicks [OPTION VALUE]...
               benchmark channel [OPTION VALUE]...
               benchmark audience [OPTION VALUE]...
               benchmark registration [OPTION VALUE]...
               benchmark sender --port PORT --ca-file PATH [OPTION VALUE]...

        fan-out  everything of docs/performance.md in one run: starts a sink that plays APNs, PostgreSQL and openpushd, measures, and
                 ends what it started. Run it at the top of the checkout, from a release build, on a machine that does nothing else.

          --bench-directory PATH  where fast-sink.c and h2load-reference are. Without them apns-simulator is the sink and figures are
                                  not compared with h2load's
          --pushes N              of the bare sender and h2load (1000000)
          --devices N             of a start of the whole daemon (1000000); the scale is measured with a fifth and with twice as many
          --repetitions N         of each measurement (3)
          --only NAME[,NAME]...   sender, daemon, parts, latency, scale (all)
          --work-directory PATH   what it makes (.local/benchmark); must not exist
          --keep                  leaves that directory, with logs and database
          --checkout PATH         the top of the project's files (.)

        clicks   taps that are put together, as openpushd counts them, against one statement a tap: starts PostgreSQL, measures both by
                 turns, checks that every tap was counted, and ends what it started.

          --taps N                of each measurement (100000)
          --devices N             that were pushed (1000000)
          --clients N             callers at once, each with one tap (1000)
          --repetitions N         of each measurement (3)
          --work-directory PATH, --keep, --checkout PATH  as above

        channel  updates of an activity on a broadcast channel, with one subscriber and with many: what they cost openpushd, by turns.
                 Starts PostgreSQL, apns-simulator and openpushd, checks that every subscriber got every update, and ends what it started.

          --subscribers N         (1000000)
          --updates N             of each measurement (200)
          --repetitions N         of each measurement (3)
          --work-directory PATH, --keep, --checkout PATH  as above

        audience  audiences of a tag, of filters and of a list, read page by page, against the bare token table: by turns, as above.

          --devices N             of the app (1000000)
          --page N                devices of a page (1000)
          --list N                aliases of the list (20000)
          --repetitions N         of each measurement (3)
          --work-directory PATH, --keep, --checkout PATH  as above

        registration  registrations of start tokens over HTTP against pgbench, which runs such an upsert with as many connections, and
                 against nginx, which answers the same requests with a constant: by turns, as above.

          --registrations N       of each measurement (100000)
          --devices N             they are of (1000000)
          --clients N             connections of the callers (64)
          --nginx PATH            the program (nginx, on the PATH); without it CPU is not compared
          --repetitions N         of each measurement (3)
          --work-directory PATH, --keep, --checkout PATH  as above

        sender   the bare sender alone: tokens from memory, outcomes counted, nothing stored. An HTTP/2 server that answers every push
                 with 200 must listen on 127.0.0.1:PORT with a certificate of that authority.

          --pushes N              (1000000)
          --warm-up N             pushes before the clock runs (50000)
          --connections N         (4)
          --repetitions N         (3)
          --key-file PATH         the signing key, PEM (a new one)
        """
}
