import Configuration
import Glibc
import Networking
import Observability

/// `openpushd`: the push gateway as a daemon. Its configuration is the environment; docs/operations.md lists every variable.
@main struct Program {
    /// Exit statuses, as sysexits(3) names them.
    private enum Exit {
        static let wrongUsage: Int32 = 64
        static let cannotServe: Int32 = 71
        static let wrongConfiguration: Int32 = 78
    }

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments == ["--help"] {
            print(Self.help)
            return
        }
        guard arguments.isEmpty else {
            fail("openpushd takes no arguments; its configuration is the environment (openpushd --help)", status: Exit.wrongUsage)
        }
        let configuration: DaemonConfiguration
        do {
            configuration = try DaemonConfiguration(
                environment: ProcessEnvironment.variables(), coreCount: ProcessEnvironment.coreCount)
        } catch {
            fail("The configuration is wrong:\n\(error)", status: Exit.wrongConfiguration)
        }
        do {
            try await Daemon(configuration: configuration).run()
        } catch {
            fail("openpushd cannot serve: \(error)", status: Exit.cannotServe)
        }
    }

    private static let help = """
        usage: openpushd

        Serves the push gateway until SIGTERM or SIGINT, then finishes what is on the wire.
        Configuration is read from the environment, each variable also from a file named by NAME_FILE:
        OPENPUSH_DATABASE_URL and OPENPUSH_MASTER_KEY are required; docs/operations.md describes all of them.
        """

    private static func fail(_ message: String, status: Int32) -> Never {
        Logger.writeToStandardError(message)
        exit(status)
    }
}
