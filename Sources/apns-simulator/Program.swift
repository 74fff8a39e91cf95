import APNsSimulator
import Glibc
import Networking

/// Plays APNs until it is told to end.
@main struct Program {
    /// Status of a process that was called with wrong flags. Source: sysexits.h, EX_USAGE.
    private static let usageStatus: Int32 = 64
    private static let endingSignals = [SIGTERM, SIGINT]

    static func main() async {
        do {
            try Signals.block(endingSignals)
            Signals.ignoreBrokenPipes()
            var flags = try Flags(CommandLine.arguments.dropFirst(), environment: EnvironmentVariables.all)
            if flags.wantsHelp {
                StandardStream.output.write(Flags.help)
                return
            }
            let authority = try AuthorityFile.load(flags.authorityPath)
            flags.configuration.certificateAuthority = authority
            for path in flags.keys { flags.configuration.keys.append(try path.load()) }
            let simulator = try await Simulator.start(flags.configuration)
            StandardStream.output.write(
                "production=\(simulator.productionAddress) sandbox=\(simulator.sandboxAddress)"
                    + " control=\(simulator.controlAddress.map { "\($0)" } ?? "none") ca=\(flags.authorityPath ?? "none")\n")
            try await waitForSignal()
            await simulator.stop()
        } catch let error as UsageError {
            StandardStream.error.write("apns-simulator: \(error)\nTry apns-simulator --help.\n")
            exit(usageStatus)
        } catch {
            StandardStream.error.write("apns-simulator: \(error)\n")
            exit(EXIT_FAILURE)
        }
    }

    private static func waitForSignal() async throws {
        let loop = try EventLoop.start(name: "signals")
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let source = try SignalSource(endingSignals, loop: loop) { continuation.yield($0) }
        loop.perform {
            do { try source.start() } catch { continuation.finish() }
        }
        for await _ in signals { break }
    }
}
