import JSON

/// What counting taps one way took.
struct TapFigures {
    var tapsPerSecond = Samples()
    /// Of this program, which is caller and gateway in one.
    var cpuMicrosecondsPerTap = Samples()
    /// Of all processes of the server.
    var databaseMicrosecondsPerTap = Samples()
    var logBytesPerTap = Samples()
}

/// Both ways.
struct ClickResults {
    var single = TapFigures()
    var batched = TapFigures()

    /// How many times faster; nil when nothing was measured.
    var ratio: Double? {
        guard let single = single.tapsPerSecond.median, let batched = batched.tapsPerSecond.median, single > 0 else { return nil }
        return batched / single
    }
}

/// Writes the results as one JSON object.
struct ClickReport {
    /// Issue 4 asks for eight times the rate.
    private static let must = 8.0
    /// Nothing more is asked for than what must be.
    private static let aim = 8.0

    let options: ClickOptions
    let machine: Machine
    let databaseSettings: [(name: String, value: String)]
    let results: ClickResults

    func json() -> String {
        var writer = JSONWriter()
        writer.beginObject()
        let head = ReportHead(program: "benchmark clicks", machine: machine, databaseSettings: databaseSettings)
        head.write(to: &writer) { writer in
            writer.member("taps", options.tapCount)
            writer.member("devices", options.deviceCount)
            writer.member("clients", options.clientCount)
            writer.member("connections", ClickBenchmark.connectionCount)
            writer.member("repetitions", options.repetitionCount)
        }
        writer.member("ratio", results.ratio, digits: 2)
        writer.key("goals")
        writer.beginArray()
        Goal(
            figure: "taps per second, put together / one statement a tap", better: .more, must: Self.must, aim: Self.aim,
            value: results.ratio, missing: nil
        ).write(to: &writer)
        writer.endArray()
        write("single", results.single, to: &writer)
        write("batched", results.batched, to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(_ name: String, _ figures: TapFigures, to writer: inout JSONWriter) {
        writer.key(name)
        writer.beginObject()
        writer.member("taps_per_second", figures.tapsPerSecond, digits: 0)
        writer.member("cpu_us_per_tap", figures.cpuMicrosecondsPerTap, digits: 2)
        writer.member("postgresql_cpu_us_per_tap", figures.databaseMicrosecondsPerTap, digits: 2)
        writer.member("wal_bytes_per_tap", figures.logBytesPerTap, digits: 1)
        writer.endObject()
    }
}
