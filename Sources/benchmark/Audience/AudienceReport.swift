import JSON

/// What reading one audience took.
struct AudienceFigures {
    /// Of all processes of the server, for each device found.
    private(set) var serverMicroseconds = Samples()
    /// The same for each device of the app, found or not.
    private(set) var serverMicrosecondsLookedThrough = Samples()
    private(set) var seconds = Samples()
    private(set) var foundCount = 0

    mutating func add(serverSeconds: Double, seconds: Double, found: Int, lookedThrough: Int) {
        serverMicroseconds.add(serverSeconds * 1e6 / Double(max(found, 1)))
        serverMicrosecondsLookedThrough.add(serverSeconds * 1e6 / Double(lookedThrough))
        self.seconds.add(seconds)
        foundCount = found
    }
}

/// All ways, by name.
struct AudienceResults {
    static let names = ["bare"] + AudienceWay.all.map(\.name) + ["aliases"]
    var ways: [String: AudienceFigures] = [:]

    /// How many times the bare table's time a device takes; nil when nothing could be measured.
    func ratio(of name: String) -> Double? {
        guard let bare = ways["bare"]?.serverMicroseconds.median, bare > 0, let way = ways[name]?.serverMicroseconds.median else {
            return nil
        }
        return way / bare
    }
}

/// Writes the results as one JSON object.
struct AudienceReport {
    let options: AudienceOptions
    let machine: Machine
    let databaseSettings: [(name: String, value: String)]
    let results: AudienceResults

    func json() -> String {
        var writer = JSONWriter()
        writer.beginObject()
        let head = ReportHead(program: "benchmark audience", machine: machine, databaseSettings: databaseSettings)
        head.write(to: &writer) { writer in
            writer.member("devices", options.deviceCount)
            writer.member("page", options.pageCount)
            writer.member("list", options.listCount)
            writer.member("repetitions", options.repetitionCount)
        }
        writer.key("goals")
        writer.beginArray()
        // Issue 4; nothing more is asked for than what must be.
        for (name, figure, must) in [
            ("tag", "server time a device of a tag that all have / of the bare token table", 1.3),
            ("filter", "server time a device of an AND/OR filter that all match / of the bare token table", 3.0),
        ] {
            let value = results.ratio(of: name)
            Goal(
                figure: figure, better: .less, must: must, aim: must, value: value,
                missing: value == nil ? "the measured time was too short" : nil
            ).write(to: &writer)
        }
        writer.endArray()
        for name in AudienceResults.names { write(name, to: &writer) }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(_ name: String, to writer: inout JSONWriter) {
        let figures = results.ways[name] ?? AudienceFigures()
        writer.key(name)
        writer.beginObject()
        writer.member("devices", figures.foundCount)
        writer.member("ratio", results.ratio(of: name), digits: 2)
        writer.member("postgresql_cpu_us_per_device", figures.serverMicroseconds, digits: 3)
        writer.member("postgresql_cpu_us_per_device_of_the_app", figures.serverMicrosecondsLookedThrough, digits: 3)
        writer.member("seconds", figures.seconds, digits: 3)
        writer.endObject()
    }
}
