/// A sender's figures over all repetitions.
struct SenderResults {
    var cpuMicrosecondsPerPush = Samples()
    var pushesPerSecond = Samples()
    var peakByteCount = Samples()

    mutating func add(_ figures: SenderFigures) {
        cpuMicrosecondsPerPush.add(figures.cpuMicrosecondsPerPush)
        pushesPerSecond.add(figures.pushesPerSecond)
        if let peak = figures.peakByteCount { peakByteCount.add(Double(peak)) }
    }
}

/// The whole daemon's figures over all repetitions.
struct DaemonResults {
    var cpuMicrosecondsPerPush = Samples()
    var pushesPerSecond = Samples()
    var databaseMicrosecondsPerPush = Samples()
    var sinkMicrosecondsPerPush = Samples()
    var logBytesPerPush = Samples()
    var peakByteCount = Samples()
    var statements: [StatementCost] = []
    /// Pushes the statements were counted for.
    var countedPushes = 0

    mutating func add(_ figures: StartFigures) {
        let pushes = Double(figures.pushCount)
        cpuMicrosecondsPerPush.add(figures.cost.daemonSeconds * 1e6 / pushes)
        databaseMicrosecondsPerPush.add(figures.cost.databaseSeconds * 1e6 / pushes)
        sinkMicrosecondsPerPush.add(figures.cost.sinkSeconds * 1e6 / pushes)
        logBytesPerPush.add(figures.cost.logByteCount / pushes)
        pushesPerSecond.add(pushes / figures.seconds)
    }
}

/// What claiming and recording cost without sending, over all repetitions.
struct PartResults {
    var claimMicrosecondsPerPush = Samples()
    var claimDatabaseMicrosecondsPerPush = Samples()
    var recordMicrosecondsPerPush = Samples()
    var recordDatabaseMicrosecondsPerPush = Samples()
}

/// Everything that was measured; what was not is nil or empty.
struct FanOutResults {
    var reference = SenderResults()
    var sender = SenderResults()
    var daemon = DaemonResults()
    var parts = PartResults()
    var lateReference = SenderResults()
    var lateSender = SenderResults()
    var lateDaemon = DaemonResults()
    var few = DaemonResults()
    var many = DaemonResults()
    var databaseSettings: [(name: String, value: String)] = []
}
