import APNsSimulator
import Networking
import Security

/// A mistake in the command line.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What the command line and the environment ask for.
struct Flags {
    static let help = """
        Usage: apns-simulator [FLAG VALUE]...

        Plays Apple's push service on this machine, over TLS and HTTP/2. Prints one line when it is ready:
        production=HOST:PORT sandbox=HOST:PORT google=HOST:PORT channels=HOST:PORT sandbox-channels=HOST:PORT control=HOST:PORT ca=PATH

          --listen HOST:PORT          takes pushes for production (127.0.0.1:0: any free port)
          --sandbox-listen HOST:PORT  takes pushes for the sandbox (127.0.0.1:0)
          --google-listen HOST:PORT   plays Google: the token endpoint and FCM (127.0.0.1:0)
          --channels-listen HOST:PORT manages broadcast channels of production (127.0.0.1:0)
          --sandbox-channels-listen HOST:PORT
                                      manages broadcast channels of the sandbox (127.0.0.1:0)
          --control-listen HOST:PORT  takes control requests, HTTP/1.1 in clear (127.0.0.1:0)
          --ca-file PATH              writes the certificate that senders must trust there, and its key beside it
                                      as PATH.key; both are used again when they exist
          --public-key TEAM:KEY:PATH[:production|sandbox|both][:BUNDLE,BUNDLE...]
                                      the public half of a signing key, in PEM; may come several times
          --service-account PATH      the JSON file of a service account that may send through FCM
          --event-loops N             threads that serve connections (1)
          --max-streams N             streams of a connection once it is authenticated (1000)
          --latency MS[-MS]           how long every answer waits (0)
          --no-record                 counts requests and does not keep them
          --help

        A flag that is absent is taken from the environment: APNS_SIMULATOR_LISTEN for --listen, and so on;
        APNS_SIMULATOR_PUBLIC_KEY may hold several keys with spaces between them.

        """

    private(set) var wantsHelp = false
    private(set) var authorityPath: String?
    private(set) var keys: [KeyFile] = []
    private var serviceAccountPath: String?
    private var configuration = SimulatorConfiguration()

    private static let withValue = [
        "listen", "sandbox-listen", "google-listen", "service-account", "channels-listen", "sandbox-channels-listen",
        "control-listen", "ca-file", "public-key",
        "event-loops", "max-streams", "latency",
    ]
    private static let withoutValue = ["no-record"]

    init(_ arguments: some Sequence<String>, environment: [String: String]) throws {
        configuration.controlAddress = .loopback
        var given: Set<String> = []
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" {
                wantsHelp = true
                return
            }
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            let name = String((parts.first ?? "").dropFirst(2))
            guard argument.hasPrefix("--"), Flags.withValue.contains(name) || Flags.withoutValue.contains(name) else {
                throw UsageError("\(argument) is no flag")
            }
            given.insert(name)
            if Flags.withoutValue.contains(name) {
                guard parts.count == 1 else { throw UsageError("--\(name) takes no value") }
                try apply(name, "true")
            } else {
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw UsageError("--\(name) needs a value")
                }
                try apply(name, value)
            }
        }
        for name in Flags.withValue + Flags.withoutValue where !given.contains(name) {
            let variable = "APNS_SIMULATOR_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 })
            guard let text = environment[variable], !text.isEmpty else { continue }
            for value in name == "public-key" ? text.split(separator: " ").map(String.init) : [text] { try apply(name, value) }
        }
    }

    /// The configuration with the files it names.
    func loadConfiguration() throws -> SimulatorConfiguration {
        var configuration = configuration
        configuration.certificateAuthority = try AuthorityFile.load(authorityPath)
        configuration.keys += try keys.map { try $0.load() }
        if let path = serviceAccountPath {
            guard let account = GoogleAccount(serviceAccount: try File.read(path)) else {
                throw UsageError("--service-account \(path) is no JSON file of a service account")
            }
            configuration.googleAccounts.append(account)
        }
        return configuration
    }

    private mutating func apply(_ name: String, _ value: String) throws {
        switch name {
        case "listen": configuration.productionAddress = try Flags.address(name, value)
        case "sandbox-listen": configuration.sandboxAddress = try Flags.address(name, value)
        case "google-listen": configuration.googleAddress = try Flags.address(name, value)
        case "service-account": serviceAccountPath = value
        case "channels-listen": configuration.productionManagementAddress = try Flags.address(name, value)
        case "sandbox-channels-listen": configuration.sandboxManagementAddress = try Flags.address(name, value)
        case "control-listen": configuration.controlAddress = try Flags.address(name, value)
        case "ca-file": authorityPath = value
        case "public-key": keys.append(try KeyFile(value))
        case "event-loops": configuration.eventLoopCount = Int(try Flags.number(name, value, in: 1...256))
        case "max-streams": configuration.settings.concurrentStreams = UInt32(try Flags.number(name, value, in: 1...1_000_000))
        case "latency":
            let bounds = try value.split(separator: "-").map { try Flags.number(name, String($0), in: 0...3_600_000) }
            guard let low = bounds.first, let high = bounds.last, bounds.count <= 2, low <= high else {
                throw UsageError("--latency \(value) is neither milliseconds nor a range of them")
            }
            configuration.settings.latencyMilliseconds = low...high
        case "no-record":
            guard ["true", "false"].contains(value) else { throw UsageError("no-record is neither true nor false") }
            configuration.settings.recordsRequests = value == "false"
        default: throw UsageError("--\(name) is no flag")
        }
    }

    private static func number(_ name: String, _ text: String, in range: ClosedRange<Int64>) throws(UsageError) -> Int64 {
        guard let number = Int64(text), range.contains(number) else {
            throw UsageError("--\(name) \(text) is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func address(_ name: String, _ text: String) throws(UsageError) -> SocketAddress {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let address = SocketAddress(literal: String(text[..<colon]), port: port)
        else { throw UsageError("--\(name) \(text) is not an IP address and a port") }
        return address
    }
}
