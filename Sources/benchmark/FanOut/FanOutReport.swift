import Configuration
import JSON

/// Writes the results as one JSON object.
struct FanOutReport {
    let options: FanOutOptions
    let machine: Machine
    let sinkName: String
    /// Why the reference sink or h2load was not used; nil when it was.
    let missingSink: String?
    let missingReference: String?
    let results: FanOutResults

    /// Event loops of a daemon that is told nothing else.
    static var loopCount: Int { min(ProcessEnvironment.coreCount, 64) }
    /// Connections of a daemon in the measurement with late answers: the senders' number, spread over its loops.
    static var lateConnectionsPerLoop: Int { max(1, FanOutBenchmark.lateConnectionCount / loopCount) }
    static var lateDaemonConnectionCount: Int { lateConnectionsPerLoop * loopCount }
    /// Bytes of a statement's text that tell it from others.
    private static let statementCharacterCount = 100

    func json() -> String {
        var writer = JSONWriter()
        writer.beginObject()
        let head = ReportHead(program: "benchmark fan-out", machine: machine, databaseSettings: results.databaseSettings)
        head.write(to: &writer) { writeInputs(to: &$0) }
        writer.key("goals")
        writer.beginArray()
        for goal in goals { goal.write(to: &writer) }
        writer.endArray()
        writeSender("h2load", results.reference, to: &writer)
        writeSender("sender", results.sender, to: &writer)
        writeDaemon("daemon", results.daemon, to: &writer)
        writeParts(to: &writer)
        writeSender("late_h2load", results.lateReference, to: &writer)
        writeSender("late_sender", results.lateSender, to: &writer)
        writeDaemon("late_daemon", results.lateDaemon, to: &writer)
        writeDaemon("few_devices", results.few, to: &writer)
        writeDaemon("many_devices", results.many, to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func writeInputs(to writer: inout JSONWriter) {
        writer.member("pushes", options.pushCount)
        writer.member("devices", options.deviceCount)
        writer.member("few_devices", options.fewDeviceCount)
        writer.member("many_devices", options.manyDeviceCount)
        writer.member("repetitions", options.repetitionCount)
        writer.member("body_bytes", SenderBenchmark.bodyByteCount)
        writer.member("streams_per_connection", SinkMaker.streamCount)
        writer.member("sender_connections", Senders.connectionCount)
        writer.member("late_answers_ms", "\(FanOutBenchmark.delay.leastMilliseconds)-\(FanOutBenchmark.delay.mostMilliseconds)")
        writer.member("late_sender_connections", FanOutBenchmark.lateConnectionCount)
        writer.member("late_daemon_connections", Self.lateDaemonConnectionCount)
        writer.member("sink", sinkName)
        writer.member("fast_sink_missing", missingSink)
        writer.member("h2load_missing", missingReference)
        let isPinned = !Sink.pinning(to: Sink.clientCore).isEmpty
        writer.member("sender_core", isPinned ? Sink.clientCore : nil as Int?)
        writer.member("sink_core_of_sender", isPinned ? Sink.sinkCore : nil as Int?)
    }

    private func writeSender(_ name: String, _ results: SenderResults, to writer: inout JSONWriter) {
        writer.key(name)
        guard !results.cpuMicrosecondsPerPush.isEmpty else { return writer.null() }
        writer.beginObject()
        writer.member("cpu_us_per_push", results.cpuMicrosecondsPerPush, digits: 2)
        writer.member("pushes_per_second", results.pushesPerSecond, digits: 0)
        writer.member("peak_bytes", results.peakByteCount, digits: 0)
        writer.endObject()
    }

    private func writeDaemon(_ name: String, _ results: DaemonResults, to writer: inout JSONWriter) {
        writer.key(name)
        guard !results.cpuMicrosecondsPerPush.isEmpty else { return writer.null() }
        writer.beginObject()
        writer.member("cpu_us_per_push", results.cpuMicrosecondsPerPush, digits: 2)
        writer.member("pushes_per_second", results.pushesPerSecond, digits: 0)
        writer.member("postgresql_cpu_us_per_push", results.databaseMicrosecondsPerPush, digits: 2)
        writer.member("sink_cpu_us_per_push", results.sinkMicrosecondsPerPush, digits: 2)
        writer.member("wal_bytes_per_push", results.logBytesPerPush, digits: 1)
        writer.member("peak_bytes", results.peakByteCount, digits: 0)
        if !results.statements.isEmpty { writeStatements(results, to: &writer) }
        writer.endObject()
    }

    private func writeStatements(_ results: DaemonResults, to writer: inout JSONWriter) {
        let pushes = Double(results.countedPushes)
        writer.key("statements")
        writer.beginArray()
        for statement in results.statements {
            let words = statement.text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
            writer.beginObject()
            writer.member("text", String(words.prefix(Self.statementCharacterCount)))
            writer.member("calls", statement.callCount)
            writer.member("elapsed_us_per_push", statement.microseconds / pushes, digits: 3)
            writer.member("wal_bytes_per_push", Double(statement.logByteCount) / pushes, digits: 1)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Where the daemon's time goes: the rest is what neither sending, claiming nor recording costs by itself.
    private func writeParts(to writer: inout JSONWriter) {
        let parts = results.parts
        writer.key("parts")
        guard let claim = parts.claimMicrosecondsPerPush.median, let record = parts.recordMicrosecondsPerPush.median else {
            return writer.null()
        }
        let send = results.sender.cpuMicrosecondsPerPush.median
        let whole = results.daemon.cpuMicrosecondsPerPush.median
        let rest = whole.flatMap { whole in send.map { whole - $0 - claim - record } }
        writer.beginObject()
        writer.member("send_cpu_us_per_push", send, digits: 2)
        writer.member("claim_cpu_us_per_push", parts.claimMicrosecondsPerPush, digits: 2)
        writer.member("record_cpu_us_per_push", parts.recordMicrosecondsPerPush, digits: 2)
        writer.member("rest_cpu_us_per_push", rest, digits: 2)
        writer.member("claim_postgresql_cpu_us_per_push", parts.claimDatabaseMicrosecondsPerPush, digits: 2)
        writer.member("record_postgresql_cpu_us_per_push", parts.recordDatabaseMicrosecondsPerPush, digits: 2)
        writer.endObject()
    }
}
