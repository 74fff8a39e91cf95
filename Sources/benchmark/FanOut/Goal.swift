import JSON

/// A figure of issue 3 with what it must reach and what it aims for.
struct Goal {
    enum Better: String {
        case less, more
    }

    let figure: String
    let better: Better
    let must: Double
    let aim: Double
    /// Nil when it was not measured.
    let value: Double?
    /// Why it was not; nil when it was.
    let missing: String?

    private func isWithin(_ bound: Double) -> Bool? {
        value.map { better == .less ? $0 <= bound : $0 >= bound }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("figure", figure)
        writer.member("value", value, digits: 3)
        writer.member("better", better.rawValue)
        writer.member("must", must, digits: 2)
        writer.member("aim", aim, digits: 2)
        Self.write("reached", isWithin(must), to: &writer)
        Self.write("aim_reached", isWithin(aim), to: &writer)
        if let missing { writer.member("not_measured", missing) }
        writer.endObject()
    }

    private static func write(_ name: String, _ flag: Bool?, to writer: inout JSONWriter) {
        writer.key(name)
        if let flag { writer.bool(flag) } else { writer.null() }
    }
}

extension FanOutReport {
    /// All rows of the table, in its order.
    var goals: [Goal] {
        let reference = results.reference
        let wall = results.daemon.pushesPerSecond.median
        return [
            goal(
                "bare sender: CPU per push / h2load's", .sender, .less, must: 0.60, aim: 0.30, isCompared: true,
                ratio(results.sender.cpuMicrosecondsPerPush, reference.cpuMicrosecondsPerPush)),
            goal(
                "bare sender: pushes per second / h2load's", .sender, .more, must: 1.7, aim: 3, isCompared: true,
                ratio(results.sender.pushesPerSecond, reference.pushesPerSecond)),
            goal(
                "whole daemon: CPU per push / h2load's", .daemon, .less, must: 0.85, aim: 0.50, isCompared: true,
                ratio(results.daemon.cpuMicrosecondsPerPush, reference.cpuMicrosecondsPerPush)),
            goal(
                "whole daemon, PostgreSQL and sink on all cores: pushes per second / h2load's", .daemon, .more, must: 0.9,
                aim: 1.3,
                isCompared: true, reference.pushesPerSecond.median.flatMap { reference in wall.map { $0 / reference } }),
            goal(
                "bare sender, late answers: pushes per second / (connections x streams / mean answer time)", .latency, .more,
                must: 0.88, aim: 0.92, share(results.lateSender.pushesPerSecond, connections: FanOutBenchmark.lateConnectionCount)
            ),
            goal(
                "whole daemon, late answers: pushes per second / (connections x streams / mean answer time)", .latency, .more,
                must: 0.88, aim: 0.92, share(results.lateDaemon.pushesPerSecond, connections: Self.lateDaemonConnectionCount)),
            goal(
                "whole daemon: peak resident memory, bytes", .daemon, .less, must: 96e6, aim: 48e6,
                results.daemon.peakByteCount.median),
            goal(
                "whole daemon: CPU per push, many devices / few", .scale, .less, must: 1.1, aim: 1.0,
                ratio(results.many.cpuMicrosecondsPerPush, results.few.cpuMicrosecondsPerPush)),
            goal(
                "whole daemon: peak resident memory, many devices / few", .scale, .less, must: 1.1, aim: 1.0,
                ratio(results.many.peakByteCount, results.few.peakByteCount)),
            goal(
                "whole daemon: WAL bytes per push", .daemon, .less, must: 130, aim: 110, results.daemon.logBytesPerPush.median),
        ]
    }

    private func goal(
        _ figure: String, _ part: FanOutOptions.Part, _ better: Goal.Better, must: Double, aim: Double, isCompared: Bool = false,
        _ value: Double?
    ) -> Goal {
        var missing: String?
        if value == nil {
            missing = "the measured time was too short"
            if isCompared, let reason = missingReference { missing = "h2load did not run: \(reason)" }
            if !options.includes(part) { missing = "left out by --only" }
        }
        return Goal(figure: figure, better: better, must: must, aim: aim, value: value, missing: missing)
    }

    private func ratio(_ ours: Samples, _ theirs: Samples) -> Double? {
        guard let ours = ours.median, let theirs = theirs.median, theirs > 0 else { return nil }
        return ours / theirs
    }

    /// Of what so many connections could carry if every stream were always waiting for its answer.
    private func share(_ rate: Samples, connections: Int) -> Double? {
        rate.median.map { $0 / (Double(connections * SinkMaker.streamCount) / FanOutBenchmark.delay.meanSeconds) }
    }
}
