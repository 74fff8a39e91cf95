import JSON

/// What registrations took over HTTP.
struct RegistrationFigures {
    var perSecond = Samples()
    /// Of the server's process, not of PostgreSQL or of the callers.
    var cpuMicroseconds = Samples()
}

/// All three ways.
struct RegistrationResults {
    var pgbenchPerSecond = Samples()
    var daemon = RegistrationFigures()
    var nginx = RegistrationFigures()

    var rateRatio: Double? { Self.ratio(daemon.perSecond, pgbenchPerSecond) }
    var cpuRatio: Double? { Self.ratio(daemon.cpuMicroseconds, nginx.cpuMicroseconds) }

    private static func ratio(_ one: Samples, _ other: Samples) -> Double? {
        guard let one = one.median, let other = other.median, other > 0 else { return nil }
        return one / other
    }
}

/// Writes the results as one JSON object.
struct RegistrationReport {
    let options: RegistrationOptions
    let machine: Machine
    let databaseSettings: [(name: String, value: String)]
    let results: RegistrationResults

    func json() -> String {
        var writer = JSONWriter()
        writer.beginObject()
        let head = ReportHead(program: "benchmark registration", machine: machine, databaseSettings: databaseSettings)
        head.write(to: &writer) { writer in
            writer.member("registrations", options.registrationCount)
            writer.member("devices", options.deviceCount)
            writer.member("clients", options.clientCount)
            writer.member("connections", RegistrationBenchmark.connectionCount)
            writer.member("repetitions", options.repetitionCount)
        }
        writer.key("goals")
        writer.beginArray()
        // Issue 4; nothing more is asked for than what must be.
        Goal(
            figure: "registrations per second / pgbench's with as many connections", better: .more, must: 0.7, aim: 0.7,
            value: results.rateRatio, missing: missing(results.rateRatio, "pgbench", isThere: RegistrationOptions.hasPgbench)
        ).write(to: &writer)
        Goal(
            figure: "CPU of the daemon per registration / nginx's per constant answer", better: .less, must: 3, aim: 3,
            value: results.cpuRatio, missing: missing(results.cpuRatio, "nginx", isThere: options.hasNginx)
        ).write(to: &writer)
        writer.endArray()
        writer.member("pgbench_per_second", results.pgbenchPerSecond, digits: 0)
        write("openpushd", results.daemon, to: &writer)
        write("nginx", results.nginx, to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func missing(_ value: Double?, _ program: String, isThere: Bool) -> String? {
        guard value == nil else { return nil }
        return isThere ? "the measured time was too short" : "there is no \(program) on the PATH"
    }

    private func write(_ name: String, _ figures: RegistrationFigures, to writer: inout JSONWriter) {
        writer.key(name)
        writer.beginObject()
        writer.member("registrations_per_second", figures.perSecond, digits: 0)
        writer.member("cpu_us_per_registration", figures.cpuMicroseconds, digits: 2)
        writer.endObject()
    }
}
