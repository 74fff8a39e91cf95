import PostgreSQL

/// A PostgreSQL server of the benchmark's own, with the settings of deploy/lib/postgresql, those docs/operations.md advises.
struct Cluster: Sendable {
    /// Settings worth telling with the figures.
    static let toldSettings = [
        "server_version", "shared_buffers", "synchronous_commit", "fsync", "full_page_writes", "wal_compression", "max_wal_size",
        "checkpoint_timeout", "autovacuum", "jit", "shared_preload_libraries",
    ]

    let options: DatabaseOptions
    /// The server; its children are the sessions and its helpers.
    let processID: Int32

    /// Makes one, or starts one that was kept.
    static func start(in workplace: Workplace) async throws -> Cluster {
        let directory = workplace.path("postgresql")
        // Counts what each statement took, where Debian's package has it; the server would not start with a library it has not.
        try await prepare(directory, in: workplace)
        _ = try await Undoing.ofProcess.add {
            await workplace.undo(by: [workplace.postgresqlScript, workplace.isKept ? "stop" : "remove", directory])
        }
        _ = try await workplace.run([workplace.postgresqlScript, "start", directory], log: "postgresql")
        let url = try await workplace.run([workplace.postgresqlScript, "url", directory], log: "postgresql-url")
        guard let location = SystemFile.read("\(directory)/location")?.split(separator: "\n").first,
            let line = SystemFile.read("\(location)/data/postmaster.pid")?.split(separator: "\n").first,
            let processID = Int32(line)
        else { throw Failure("the process of the PostgreSQL server in \(directory) is not known") }
        return Cluster(
            options: try DatabaseOptions(url: String(url.split(separator: "\n").first ?? "")), processID: processID)
    }

    private static func prepare(_ directory: String, in workplace: Workplace) async throws {
        _ = try await workplace.run(["mkdir", "-p", directory], log: nil)
        let libraries = try? await workplace.run(["pg_config", "--pkglibdir"], log: "pg_config")
        guard let path = libraries?.split(separator: "\n").first, SystemFile.exists("\(path)/pg_stat_statements.so") else {
            return
        }
        try SystemFile.write(Array("shared_preload_libraries = 'pg_stat_statements'\n".utf8), to: "\(directory)/settings.conf")
    }

    /// User and system time of all its processes so far, in seconds.
    func cpuSeconds() throws -> Double { try ProcessFigures.cpuSecondsOfFamily(processID) }
}
