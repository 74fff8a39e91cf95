import Gateway
import Networking
import Observability
import PostgreSQL
import Security
import Store

/// The database of a benchmark: the schema, one app with a key, and devices.
struct BenchmarkDatabase: Sendable {
    private static let name = "benchmark"
    /// How long making devices, or clearing up between measurements, may take.
    private static let patience: Duration = .seconds(1_800)

    let cluster: Cluster
    let application: Application
    /// Lets a backend in.
    let restKey: String
    /// `OPENPUSH_MASTER_KEY`.
    let masterKey: String
    let store: Store
    private let options: DatabaseOptions
    private let pool: DatabasePool
    private let connection: DatabaseConnection
    /// Whether the server counts what each statement takes.
    let countsStatements: Bool

    /// For `OPENPUSH_DATABASE_URL`.
    var connectionString: String { options.connectionString }

    /// Makes it, in the place of an earlier one.
    static func make(in cluster: Cluster, workplace: Workplace, keyPath: String) async throws -> BenchmarkDatabase {
        let loop = workplace.loop
        let server = try await DatabaseConnection.connect(loop: loop, options: cluster.options)
        _ = try await server.execute("drop database if exists \(name) with (force)", deadline: patience)
        _ = try await server.execute("create database \(name)", deadline: patience)
        await server.close()
        let options = cluster.options.selecting(database: name)
        let masterKey = RandomBytes.generate(count: 32)
        guard let sealingKey = SealingKey(bytes: masterKey) else { preconditionFailure("32 bytes are a sealing key") }
        let pool = DatabasePool(loop: loop, options: options, size: 1, acquireTimeout: .seconds(10))
        let store = Store(pool: pool, sealingKey: sealingKey)
        try await store.applySchema()
        let creation = try await store.createApplication(
            name: "benchmark",
            credentials: ApplicationCredentials(
                bundleID: "com.example.app",
                signingKey: ApplicationCredentials.SigningKey(
                    key: SinkMaker.providerKey, pem: try CredentialFile.read(path: keyPath))),
            environment: .production)
        guard case .created(let application) = creation else { throw Failure("\(keyPath) is no signing key") }
        let key = try await store.createKey(kind: .rest, application: application.id)
        let connection = try await DatabaseConnection.connect(loop: loop, options: options)
        // Statements of this connection may take as long as they need: they are preparations.
        _ = try await connection.execute("set statement_timeout = 0")
        let statistics = try await connection.execute("show shared_preload_libraries")
        let countsStatements = statistics?.text(row: 0, column: 0).contains("pg_stat_statements") == true
        if countsStatements { _ = try await connection.execute("create extension pg_stat_statements") }
        return BenchmarkDatabase(
            cluster: cluster, application: application, restKey: key.key.exposed, masterKey: Base64.encode(masterKey),
            store: store,
            options: options, pool: pool, connection: connection, countsStatements: countsStatements)
    }

    func close() async {
        await connection.close()
        await pool.close()
    }

    /// Gives so many devices a start token for a new activity type, and lets vacuum and analyze see them.
    ///
    /// - Parameter withAttributes: they are new, and have what filters ask for, tags and aliases.
    func addDevices(_ count: Int, activityType: String, withAttributes: Bool = false) async throws {
        let script = String(
            decoding: withAttributes ? PackageResources.audience_sql : PackageResources.devices_sql, as: UTF8.self)
        let settings = "select set_config('benchmark.%', $1, false)"
        for (name, value) in [
            ("app", "\(application.id.rawValue)"), ("activity_type", activityType), ("device_count", "\(count)"),
        ] {
            let text = settings.split(separator: "%").joined(separator: name)
            try await connection.queryUnprepared(text, [.text(value)])
        }
        _ = try await connection.execute(script, deadline: Self.patience)
        for table in ["device", "start_token", "device_tag", "device_alias"] {
            _ = try await connection.execute("vacuum (analyze) \(table)", deadline: Self.patience)
        }
    }

    /// Connections of their own, for a measurement.
    func openPool(size: Int, on loop: EventLoop, acquireTimeout: Duration) -> DatabasePool {
        DatabasePool(loop: loop, options: options, size: size, acquireTimeout: acquireTimeout)
    }

    /// Makes a notification of an activity of its own, and its delivery to every device.
    func deliver(activityID: String) async throws {
        let script = String(decoding: PackageResources.delivered_sql, as: UTF8.self)
        try await connection.queryUnprepared(
            script, [.int32(application.id.rawValue), .text(activityID)], deadline: Self.patience)
    }

    /// The taps of an activity, and how many devices they came from.
    func taps(activityID: String) async throws -> (taps: Int64, devices: Int64) {
        let found = try await connection.queryUnprepared(
            String(decoding: PackageResources.tapped_sql, as: UTF8.self),
            [.int32(application.id.rawValue), .text(activityID)])
        return (found.int64(row: 0, column: 0), found.int64(row: 0, column: 1))
    }

    /// Does what the server would else do at some moment of the next measurement: vacuum of what was written, and a checkpoint.
    func settle() async throws {
        for table in [
            "start_token", "delivery", "click", "device_report", "fan_out_chunk", "fan_out", "notification", "activity", "worker",
        ] {
            _ = try await connection.execute("vacuum (analyze) \(table)", deadline: Self.patience)
        }
        _ = try await connection.execute("checkpoint", deadline: Self.patience)
    }

    /// Whether all pushes of a notification are recorded; costs the daemon nothing and the server next to nothing.
    func isFinished(_ notification: UUID) async throws -> Bool {
        let found = try await connection.query(Self.finished, [.uuid(notification.bytes)])
        guard found.rowCount == 1 else { throw Failure("the database has no notification \(notification)") }
        return found.bool(row: 0, column: 0)
    }

    private static let finished = Statement(
        name: "benchmark_finished", text: String(decoding: PackageResources.finished_sql, as: UTF8.self))

    /// How many bytes of write-ahead log there were so far.
    func writtenLogBytes() async throws -> Double {
        let result = try await connection.queryUnprepared(
            "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8")
        return result.double(row: 0, column: 0)
    }

    /// The server's settings that bear on the figures.
    func settings() async throws -> [(name: String, value: String)] {
        var settings: [(name: String, value: String)] = []
        for name in Cluster.toldSettings {
            let result = try await connection.queryUnprepared("select current_setting($1)", [.text(name)])
            settings.append((name, result.text(row: 0, column: 0)))
        }
        return settings
    }

    /// Forgets what statements took so far.
    func forgetStatements() async throws {
        if countsStatements { _ = try await connection.execute("select pg_stat_statements_reset()") }
    }

    /// What statements took since, the most costly first; empty when the server does not count.
    func statementCosts() async throws -> [StatementCost] {
        guard countsStatements else { return [] }
        let result = try await connection.queryUnprepared(String(decoding: PackageResources.statements_sql, as: UTF8.self))
        return (0..<result.rowCount).map { row in
            StatementCost(
                text: result.text(row: row, column: 0), callCount: result.int64(row: row, column: 1),
                microseconds: result.double(row: row, column: 2), logByteCount: result.int64(row: row, column: 3))
        }
    }
}

/// What one statement took in all.
struct StatementCost: Sendable {
    /// As pg_stat_statements writes it.
    let text: String
    let callCount: Int64
    /// Elapsed inside the server, waiting included.
    let microseconds: Double
    let logByteCount: Int64
}
