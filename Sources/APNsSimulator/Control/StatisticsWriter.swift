import HTTP
import JSON

/// Writes the sums as JSON.
enum StatisticsWriter {
    static func response(_ statistics: SimulatorStatistics) -> HTTPResponse {
        ControlHandler.success { writer in
            writer.beginObject()
            write(statistics.tally, to: &writer)
            writer.member("tokens", statistics.tokenCount)
            writer.member("timestamps_rising", statistics.fallingTimestampCount == 0)
            writer.member("timestamps_falling", statistics.fallingTimestampCount)
            writer.member("timestamps_equal", statistics.equalTimestampCount)
            writer.member("after_end", statistics.afterEndCount)
            writer.member("recorded_requests", statistics.recordedRequestCount)
            writer.member("recorded_bytes", statistics.recordedByteCount)
            writer.key("provider_tokens")
            write(statistics.providerTokenCounts.sorted { $0.key < $1.key }, to: &writer)
            writer.endObject()
        }
    }

    private static func write(_ tally: Tally, to writer: inout JSONWriter) {
        writer.member("connections", tally.connectionCount)
        writer.member("open_connections", tally.openConnectionCount)
        writer.member("failed_connections", tally.failedConnectionCount)
        writer.member("requests", tally.requestCount)
        writer.member("shape_errors", tally.shapeErrorCount)
        writer.member("resets", tally.resetCount)
        writer.member("unanswered", tally.unansweredCount)
        writer.member("cancelled", tally.cancelledCount)
        writer.member("goaways", tally.goAwayCount)
        writer.member("pings", tally.pingCount)
        writer.member("most_concurrent_streams", tally.mostConcurrentStreams)
        writer.key("answers")
        write(tally.answerCounts.sorted { $0.key < $1.key }.map { (key: String($0.key), value: $0.value) }, to: &writer)
        writer.key("reasons")
        write(tally.reasonCounts.sorted { $0.key < $1.key }, to: &writer)
    }

    private static func write(_ counts: [(key: String, value: Int)], to writer: inout JSONWriter) {
        writer.beginObject()
        for (key, value) in counts { writer.member(key, value) }
        writer.endObject()
    }
}
