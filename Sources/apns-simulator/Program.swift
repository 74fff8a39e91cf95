import APNsSimulator
import Glibc
import Networking
import Security
import Synchronization

/// Plays APNs until it is told to end.
///
/// `main` is not `async`: the runtime would park the main thread where signals are not blocked.
@main struct Program {
    /// Status of a process that was called with wrong flags. Source: sysexits.h, EX_USAGE.
    private static let usageStatus: Int32 = 64
    private static let endingSignals = [SIGTERM, SIGINT]

    static func main() {
        OpenSSLLibrary.keepUntilExit()
        do {
            // Before any thread is started: threads inherit the mask.
            try Signals.block(endingSignals)
            Signals.ignoreBrokenPipes()
            let flags = try Flags(CommandLine.arguments.dropFirst(), environment: EnvironmentVariables.all)
            if flags.wantsHelp { return StandardStream.output.write(Flags.help) }
            let configuration = try flags.loadConfiguration()
            let running = Mutex<Simulator?>(nil)
            Task.detached {
                do {
                    let simulator = try await Simulator.start(configuration)
                    running.withLock { $0 = simulator }
                    announce(simulator, authorityPath: flags.authorityPath)
                } catch { fail(error) }
            }
            _ = Signals.wait(for: endingSignals)
            guard let simulator = running.withLock({ $0 }) else { return }
            Task.detached {
                await simulator.stop()
                exit(EXIT_SUCCESS)
            }
            // A second signal does not wait for the connections.
            _ = Signals.wait(for: endingSignals)
        } catch { fail(error) }
    }

    private static func announce(_ simulator: Simulator, authorityPath: String?) {
        StandardStream.output.write(
            "production=\(simulator.productionAddress) sandbox=\(simulator.sandboxAddress)"
                + " google=\(simulator.googleAddress)"
                + " channels=\(simulator.productionManagementAddress) sandbox-channels=\(simulator.sandboxManagementAddress)"
                + " control=\(simulator.controlAddress.map { "\($0)" } ?? "none") ca=\(authorityPath ?? "none")\n")
    }

    private static func fail(_ error: any Error) -> Never {
        StandardStream.error.write("apns-simulator: \(error)\n")
        guard error is UsageError else { exit(EXIT_FAILURE) }
        StandardStream.error.write("Try apns-simulator --help.\n")
        exit(usageStatus)
    }
}
