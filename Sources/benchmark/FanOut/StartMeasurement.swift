/// What a start used from the request to its end.
struct StartFigures {
    let pushCount: Int
    let seconds: Double
    let cost: StartCost
}

/// What all programs of a fan-out have used: so far, or between two moments.
struct StartCost {
    let daemonSeconds: Double
    let databaseSeconds: Double
    let sinkSeconds: Double
    let logByteCount: Double

    static func - (later: StartCost, earlier: StartCost) -> StartCost {
        StartCost(
            daemonSeconds: later.daemonSeconds - earlier.daemonSeconds,
            databaseSeconds: later.databaseSeconds - earlier.databaseSeconds,
            sinkSeconds: later.sinkSeconds - earlier.sinkSeconds,
            logByteCount: later.logByteCount - earlier.logByteCount)
    }
}

/// The whole daemon under measurement.
struct StartMeasurement: Sendable {
    let gateway: GatewayProcess
    let database: BenchmarkDatabase
    let sink: Sink

    /// Starts one activity on everybody's phone. The database has been settled before; page images come as they come.
    func run(_ start: SampleStart, activityID: String, devices: Int) async throws -> StartFigures {
        try await database.settle()
        let before = try await cost()
        let seconds = try await gateway.pushToEverybody(start, activityID: activityID, devices: devices)
        return StartFigures(pushCount: devices, seconds: seconds, cost: try await cost() - before)
    }

    /// Most memory the daemon had so far, in bytes.
    func peakByteCount() throws -> Double { Double(try ProcessFigures.peakByteCount(of: gateway.process.processID)) }

    private func cost() async throws -> StartCost {
        StartCost(
            daemonSeconds: try ProcessFigures.cpuSeconds(of: gateway.process.processID),
            databaseSeconds: try database.cluster.cpuSeconds(),
            sinkSeconds: try ProcessFigures.cpuSeconds(of: sink.process.processID),
            logByteCount: try await database.writtenLogBytes())
    }
}
