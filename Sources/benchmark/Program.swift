import Glibc

/// `benchmark`: measures parts of the gateway and prints one JSON object a measurement. docs/performance.md says how to repeat a figure.
@main struct Program {
    static func main() async {
        var arguments = BenchmarkArguments(CommandLine.arguments.dropFirst())
        do {
            switch arguments.command {
            case "sender": print(try await SenderBenchmark(&arguments).run())
            default:
                print(help)
                exit(arguments.command == "--help" ? 0 : 64)
            }
        } catch {
            fail("\(error)")
        }
    }

    private static func fail(_ message: String) -> Never {
        let bytes = Array((message + "\n").utf8)
        // The buffer is alive during the call; nobody is left to tell when it fails.
        _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
        exit(1)
    }

    private static let help = """
        usage: benchmark sender --port PORT --ca-file PATH [--pushes N] [--connections N] [--repetitions N]

        sender   the bare sender: tokens from memory, outcomes counted, nothing stored. An HTTP/2 server that answers every
                 push with 200 must listen on 127.0.0.1:PORT with a certificate of that authority.
        """
}
