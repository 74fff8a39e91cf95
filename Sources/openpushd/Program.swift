import Configuration
import Glibc
import Networking
import Observability
import PostgreSQL
import Security

/// `openpushd`: the push gateway as a daemon. Its configuration is the environment; docs/operations.md lists every variable.
///
/// `main` is not `async`: the runtime would park the main thread where signals are not blocked.
@main struct Program {
    /// Exit statuses, as sysexits(3) names them.
    private enum Exit {
        static let wrongUsage: Int32 = 64
        static let cannotServe: Int32 = 71
        static let wrongConfiguration: Int32 = 78
    }

    private static let endingSignals = [SIGTERM, SIGINT]

    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments == ["--help"] { return StandardOutput.write(help) }
        if arguments == ["--version"] { return StandardOutput.write("openpushd \(ProgramVersion.text)\n") }
        guard arguments.isEmpty else {
            fail("openpushd takes no arguments; its configuration is the environment (openpushd --help)", status: Exit.wrongUsage)
        }
        OpenSSLLibrary.keepUntilExit()
        do {
            let configuration = try DaemonConfiguration(
                environment: ProcessEnvironment.variables(), coreCount: ProcessEnvironment.coreCount)
            // Before any thread is started: threads inherit the mask.
            try Signals.block(endingSignals + [SIGHUP])
            Signals.ignoreBrokenPipes()
            serve(Daemon(configuration: configuration), readings: try certificateReadings())
        } catch let error as ConfigurationError {
            fail("The configuration is wrong:\n\(error)", status: Exit.wrongConfiguration)
        } catch {
            fail("openpushd cannot serve: \(error)", status: Exit.cannotServe)
        }
    }

    /// Certificates, read again for each SIGHUP.
    private static func certificateReadings() throws -> AsyncStream<CertificateReading> {
        // Only the newest counts.
        let (readings, reading) = AsyncStream.makeStream(of: CertificateReading.self, bufferingPolicy: .bufferingNewest(1))
        // A thread of its own: reading a pipe may take as long as it likes, and SIGTERM must be heard all the same.
        try Signals.onEach(SIGHUP, threadName: "reload") {
            reading.yield(CertificateReading(environment: ProcessEnvironment.variables()))
        }
        return readings
    }

    private static func serve(_ daemon: Daemon, readings: AsyncStream<CertificateReading>) -> Never {
        let (stops, stop) = AsyncStream.makeStream(of: Int32.self)
        Task.detached {
            do {
                try await daemon.run(until: stops, readings: readings)
                exit(EXIT_SUCCESS)
            } catch let error as InvalidDatabaseURL {
                fail("The configuration is wrong:\nOPENPUSH_DATABASE_URL: \(error)", status: Exit.wrongConfiguration)
            } catch {
                fail("openpushd cannot serve: \(error)", status: Exit.cannotServe)
            }
        }
        while true { stop.yield(Signals.wait(for: endingSignals)) }
    }

    private static let help = """
        usage: openpushd

        Serves the push gateway until SIGTERM or SIGINT, then finishes what is on the wire. SIGHUP reads certificates again.
        Configuration is read from the environment, each variable also from a file named by NAME_FILE:
        OPENPUSH_DATABASE_URL and OPENPUSH_MASTER_KEY are required; docs/operations.md describes all of them.
        """

    private static func fail(_ message: String, status: Int32) -> Never {
        Logger.writeToStandardError(message)
        exit(status)
    }
}
