import JSON

/// What updates of one activity cost.
struct ChannelFigures {
    /// Of the daemon.
    var cpuMicrosecondsPerUpdate = Samples()
    /// From acceptance to the record of the outcome.
    var millisecondsPerUpdate = Samples()
    /// Requests to APNs.
    var pushesPerUpdate = Samples()
}

/// With one subscriber, and with many.
struct ChannelResults {
    var one = ChannelFigures()
    var many = ChannelFigures()

    /// How many times the CPU; nil when nothing was measured.
    var ratio: Double? {
        guard let one = one.cpuMicrosecondsPerUpdate.median, let many = many.cpuMicrosecondsPerUpdate.median, one > 0 else {
            return nil
        }
        return many / one
    }
}

/// Writes the results as one JSON object.
struct ChannelReport {
    /// What the clock of CPU time, of 10 ms, and the machine leave uncertain.
    private static let must = 1.25
    private static let aim = 1.1

    let options: ChannelOptions
    let machine: Machine
    let databaseSettings: [(name: String, value: String)]
    let results: ChannelResults

    func json() -> String {
        var writer = JSONWriter()
        writer.beginObject()
        let head = ReportHead(program: "benchmark channel", machine: machine, databaseSettings: databaseSettings)
        head.write(to: &writer) { writer in
            writer.member("subscribers", options.subscriberCount)
            writer.member("updates", options.updateCount)
            writer.member("repetitions", options.repetitionCount)
        }
        writer.key("goals")
        writer.beginArray()
        Goal(
            figure: "pushes an update of \(options.subscriberCount) subscribers", better: .less, must: 1, aim: 1,
            value: results.many.pushesPerUpdate.median, missing: nil
        ).write(to: &writer)
        Goal(
            figure: "CPU of the daemon, \(options.subscriberCount) subscribers / one", better: .less, must: Self.must,
            aim: Self.aim, value: results.ratio, missing: results.ratio == nil ? "the measured time was too short" : nil
        ).write(to: &writer)
        writer.endArray()
        write("one", results.one, to: &writer)
        write("many", results.many, to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(_ name: String, _ figures: ChannelFigures, to writer: inout JSONWriter) {
        writer.key(name)
        writer.beginObject()
        writer.member("pushes_per_update", figures.pushesPerUpdate, digits: 2)
        writer.member("cpu_us_per_update", figures.cpuMicrosecondsPerUpdate, digits: 0)
        writer.member("ms_per_update", figures.millisecondsPerUpdate, digits: 2)
        writer.endObject()
    }
}
