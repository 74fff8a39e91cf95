import Configuration
import Gateway
import Networking
import Security

/// What `benchmark registration` is asked to measure.
struct RegistrationOptions {
    let registrationCount: Int
    let deviceCount: Int
    let clientCount: Int
    let repetitionCount: Int
    /// The program; a name is looked for on the `PATH`.
    let nginx: String
    let workDirectory: String
    let isKept: Bool
    let checkout: String

    init(_ arguments: inout BenchmarkArguments) throws {
        registrationCount = try arguments.integer("registrations", default: 100_000, in: 1...100_000_000)
        deviceCount = try arguments.integer("devices", default: 1_000_000, in: 1...100_000_000)
        clientCount = try arguments.integer("clients", default: 64, in: 1...1_000)
        repetitionCount = try arguments.integer("repetitions", default: 3, in: 1...100)
        nginx = arguments.optionalText("nginx") ?? "nginx"
        checkout = arguments.optionalText("checkout") ?? "."
        workDirectory = arguments.optionalText("work-directory") ?? "\(checkout)/.local/benchmark"
        isKept = arguments.flag("keep")
        try arguments.finish()
    }

    var hasNginx: Bool { nginx.contains("/") ? SystemFile.isExecutable(nginx) : Workplace.hasTool(nginx) }
    static var hasPgbench: Bool { Workplace.hasTool("pgbench") }
}

/// Registrations of start tokens over HTTP against pgbench, which runs such an upsert over as many connections, and against nginx, which
/// answers the same requests with a constant: by turns.
struct RegistrationBenchmark {
    /// Also named in SQL/register.pgbench.sql.
    private static let activityType = "BenchmarkAttributes"

    let options: RegistrationOptions

    init(_ arguments: inout BenchmarkArguments) throws { options = try RegistrationOptions(&arguments) }

    /// Measures and returns one JSON object.
    func run() async throws -> String {
        let machine = Machine()
        let loop = try EventLoop.start(name: "benchmark")
        let workplace = try await Workplace.open(
            directory: options.workDirectory, checkout: options.checkout, isKept: options.isKept, loop: loop)
        let keyPath = workplace.path("AuthKey.p8")
        try SystemFile.write(ES256PrivateKey.generate().pem, to: keyPath)
        FanOutBenchmark.tell("starting PostgreSQL and making \(options.deviceCount) devices")
        let cluster = try await Cluster.start(in: workplace)
        let database = try await BenchmarkDatabase.make(in: cluster, workplace: workplace, keyPath: keyPath)
        try await database.addDevices(options.deviceCount, activityType: Self.activityType, withAttributes: true)
        try SystemFile.write(Array(PackageResources.register_pgbench_sql), to: workplace.path("register.sql"))
        let daemon = try await GatewayProcess.start(in: workplace, database: database, sink: nil)
        let nginx = options.hasNginx ? try await StaticServer.start(options.nginx, in: workplace) : nil
        var results = RegistrationResults()
        for number in 1...options.repetitionCount {
            FanOutBenchmark.tell("registrations, \(number) of \(options.repetitionCount)")
            if RegistrationOptions.hasPgbench {
                try await database.settle()
                results.pgbenchPerSecond.add(try await runPgbench(database, in: workplace))
            }
            try await database.settle()
            let processID = daemon.process.processID
            try await send(to: daemon.port, status: 200, round: number, database, loop: loop, into: &results.daemon) {
                try ProcessFigures.cpuSeconds(of: processID)
            }
            if let nginx {
                try await send(to: nginx.port, status: 201, round: 0, database, loop: loop, into: &results.nginx) {
                    try ProcessFigures.cpuSecondsOfFamily(nginx.process.processID)
                }
            }
        }
        let settings = try await database.settings()
        await daemon.stop()
        await nginx?.process.stop()
        await database.close()
        return RegistrationReport(options: options, machine: machine, databaseSettings: settings, results: results).json()
    }

    /// Connections of the daemon, which it opens as it needs them: those of each event loop.
    static var connectionCount: Int { ProcessEnvironment.coreCount * ClickBenchmark.connectionCount }

    private func send(
        to port: UInt16, status: Int, round: Int, _ database: BenchmarkDatabase, loop: EventLoop,
        into figures: inout RegistrationFigures, cpuSeconds: () throws -> Double
    ) async throws {
        let requests = RegistrationRequests(
            count: options.registrationCount, deviceCount: options.deviceCount, round: round, key: database.restKey,
            activityType: Self.activityType)
        let cpuBefore = try cpuSeconds()
        let begunAt = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<options.clientCount {
                let client = try RegistrationClient(port: port, requests: requests, status: status, loop: loop)
                group.addTask { try await client.run() }
            }
            try await group.waitForAll()
        }
        let seconds = begunAt.duration(to: .now) / .seconds(1)
        let count = Double(options.registrationCount)
        figures.perSecond.add(count / seconds)
        figures.cpuMicroseconds.add((try cpuSeconds() - cpuBefore) * 1e6 / count)
    }

    private func runPgbench(_ database: BenchmarkDatabase, in workplace: Workplace) async throws -> Double {
        let clients = min(Self.connectionCount, options.registrationCount)
        let output = try await workplace.run(
            [
                "/usr/bin/env", "pgbench", "--no-vacuum", "--protocol=prepared", "--client=\(clients)", "--jobs=2",
                "--transactions=\(options.registrationCount / clients)", "--file=\(workplace.path("register.sql"))",
                "--define=app=\(database.application.id.rawValue)", "--define=device_count=\(options.deviceCount)",
                database.connectionString,
            ], log: "pgbench")
        guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix("tps = ") }),
            let rate = line.dropFirst("tps = ".count).split(separator: " ").first.flatMap({ Double($0) })
        else { throw Failure("pgbench told no rate: \(output)") }
        return rate
    }
}

/// nginx, answering everything with a constant 201.
struct StaticServer {
    let process: RunningProgram
    let port: UInt16

    static func start(_ program: String, in workplace: Workplace) async throws -> StaticServer {
        guard let any = SocketAddress(ipv4: "127.0.0.1", port: 0) else { preconditionFailure("127.0.0.1 is an address") }
        // nginx cannot tell which port it got: it is given one that was free a moment ago.
        let listener = try Listener.bind(any)
        let port = listener.address.port
        listener.close()
        let directory = try workplace.absolutePath("")
        let configuration = """
            daemon off;
            worker_processes auto;
            pid \(directory)nginx.pid;
            error_log stderr notice;
            events { worker_connections 2048; }
            http {
                access_log off;
                keepalive_requests 1000000000;
                client_body_temp_path \(directory)nginx-body;
                proxy_temp_path \(directory)nginx-proxy;
                fastcgi_temp_path \(directory)nginx-fastcgi;
                uwsgi_temp_path \(directory)nginx-uwsgi;
                scgi_temp_path \(directory)nginx-scgi;
                server {
                    listen 127.0.0.1:\(port);
                    location / { default_type application/json; return 201 '{"activity_type":"BenchmarkAttributes"}'; }
                }
            }

            """
        let path = try workplace.absolutePath("nginx.conf")
        try SystemFile.write(Array(configuration.utf8), to: path)
        let arguments = (program.contains("/") ? [program] : ["/usr/bin/env", program]) + ["-c", path, "-e", "stderr"]
        // Its notices begin with the year. The first comes when it listens.
        return StaticServer(
            process: try await workplace.start(arguments, log: "nginx", readyWhen: "2"), port: port)
    }
}
