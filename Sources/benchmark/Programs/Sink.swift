import Configuration
import Gateway
import Networking
import Security

/// How long a sink keeps each answer, evenly spread.
struct AnswerDelay {
    let leastMilliseconds: Int
    let mostMilliseconds: Int
    var meanSeconds: Double { Double(leastMilliseconds + mostMilliseconds) / 2_000 }
}

/// What plays APNs at the other end and answers every push with 200.
struct Sink: Sendable {
    let port: Int
    /// The root its certificate is checked against.
    let rootsPath: String
    let process: RunningProgram

    /// The core senders under measurement run on, and the sink's.
    static let clientCore = 1
    static let sinkCore = 0

    /// The words that pin a program to a core; none on a machine with one core, or without taskset.
    static func pinning(to core: Int?) -> [String] {
        guard let core, ProcessEnvironment.coreCount > 1, Workplace.hasTool("taskset") else { return [] }
        return ["taskset", "-c", "\(core)"]
    }
}

/// Makes sinks: the reference one when it can be built, else the simulator of this package.
struct SinkMaker: Sendable {
    /// Streams the sink allows a connection, as APNs was seen to.
    static let streamCount = 1_000
    /// What the pushes are signed with.
    static let providerKey = ProviderKey(teamID: "TEAMIDTEAM", keyID: "ABCDEFGHIJ")

    let workplace: Workplace
    /// Why the reference sink is not used; nil when it is.
    let missing: String?
    /// The signing key, PEM.
    let keyPath: String

    var name: String { missing == nil ? "fast-sink" : "apns-simulator" }

    static func prepare(in workplace: Workplace, benchDirectory: String?) async throws -> SinkMaker {
        let key = ES256PrivateKey.generate()
        let keyPath = workplace.path("AuthKey.p8")
        try SystemFile.write(key.pem, to: keyPath)
        try SystemFile.write(key.publicKey.pem, to: workplace.path("AuthKey.public.pem"))
        let missing = await whatIsMissing(benchDirectory: benchDirectory)
        if missing == nil, let benchDirectory { try await build(from: benchDirectory, in: workplace) }
        return SinkMaker(workplace: workplace, missing: missing, keyPath: keyPath)
    }

    private static func whatIsMissing(benchDirectory: String?) async -> String? {
        guard let benchDirectory else { return "no --bench-directory" }
        guard SystemFile.exists("\(benchDirectory)/fast-sink.c") else { return "no fast-sink.c in --bench-directory" }
        let absent = ["gcc", "pkg-config", "openssl"].filter { !Workplace.hasTool($0) }
        return absent.isEmpty ? nil : "not installed: \(absent.joined(separator: ", "))"
    }

    /// In the places where h2load-reference looks for them, so that both senders meet the same program and certificate.
    private static func build(from benchDirectory: String, in workplace: Workplace) async throws {
        let program = workplace.path("fast-sink")
        if !SystemFile.exists(program) {
            let libraries = try await workplace.run(
                ["pkg-config", "--cflags", "--libs", "libnghttp2", "openssl"], log: "pkg-config")
            let flags = libraries.split { $0 == " " || $0 == "\n" }.map(String.init)
            _ = try await workplace.run(["gcc", "-O2", "-w", "-o", program, "\(benchDirectory)/fast-sink.c"] + flags, log: "gcc")
        }
        guard !SystemFile.exists(workplace.path("cert.pem")) else { return }
        _ = try await workplace.run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                workplace.path("key.pem"), "-out", workplace.path("cert.pem"), "-days", "30", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ], log: "openssl")
    }

    /// Starts a sink.
    ///
    /// - Parameter core: where it runs; nil leaves that to the system.
    func start(_ name: String, core: Int?, delay: AnswerDelay? = nil) async throws -> Sink {
        missing == nil ? try await startReference(name, core, delay) : try await startSimulator(name, core, delay)
    }

    private func startReference(_ name: String, _ core: Int?, _ delay: AnswerDelay?) async throws -> Sink {
        let port = try FreePort.find()
        var arguments = [
            workplace.path("fast-sink"), "-p", "\(port)", "-c", workplace.path("cert.pem"), "-k", workplace.path("key.pem"),
            "-m", "\(Self.streamCount)",
        ]
        if let delay {
            let jitter = delay.mostMilliseconds - delay.leastMilliseconds
            arguments += ["-d", "\(delay.leastMilliseconds * 1_000)", "-j", "\(jitter * 1_000)"]
        }
        let process = try await workplace.start(Sink.pinning(to: core) + arguments, log: name, readyWhen: "listening")
        return Sink(port: port, rootsPath: workplace.path("cert.pem"), process: process)
    }

    private func startSimulator(_ name: String, _ core: Int?, _ delay: AnswerDelay?) async throws -> Sink {
        let rootsPath = workplace.path("apns-ca.pem")
        let key = Self.providerKey
        var arguments = [
            try workplace.program("apns-simulator"), "--ca-file", rootsPath, "--no-record", "--max-streams",
            "\(Self.streamCount)", "--public-key", "\(key.teamID):\(key.keyID):\(workplace.path("AuthKey.public.pem"))",
        ]
        if let delay { arguments += ["--latency", "\(delay.leastMilliseconds)-\(delay.mostMilliseconds)"] }
        let process = try await workplace.start(Sink.pinning(to: core) + arguments, log: name, readyWhen: "production=")
        guard let address = process.readyLine.split(separator: " ").first,
            let port = address.split(separator: ":").last.flatMap({ Int($0) })
        else { throw Failure("apns-simulator named no port: \(process.readyLine)") }
        return Sink(port: port, rootsPath: rootsPath, process: process)
    }
}

/// A port of the loopback interface that nobody listens on.
enum FreePort {
    static func find() throws -> Int {
        guard let anyPort = SocketAddress(ipv4: "127.0.0.1", port: 0) else { preconditionFailure("127.0.0.1 is an address") }
        let listener = try Listener.bind(anyPort)
        defer { listener.close() }
        return Int(listener.address.port)
    }
}
