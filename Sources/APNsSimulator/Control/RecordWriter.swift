import HTTP
import JSON
import Security

/// Writes what was received as JSON.
enum RecordWriter {
    static func write(_ request: RecordedRequest, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("number", request.number)
        writer.member("received_at", request.receivedAt)
        writer.member("environment", request.environment.rawValue)
        writer.member("connection", request.connection)
        writer.member("stream", request.streamID)
        writer.member("token", request.token.map(Hexadecimal.encode))
        writer.member("operation", request.operation?.rawValue)
        writer.member("channel_id", request.channelID)
        writer.member("provider_token", request.providerToken)
        writer.member("event", request.reading.event?.rawValue)
        writer.member("timestamp", request.reading.timestamp)
        writer.key("shape_errors")
        writer.beginArray()
        for sentence in request.reading.shapeErrors { writer.string(sentence) }
        writer.endArray()
        write(request.outcome, to: &writer)
        if let details = request.request { write(details, to: &writer) }
        writer.endObject()
    }

    private static func write(_ outcome: RecordedRequest.Outcome, to writer: inout JSONWriter) {
        switch outcome {
        case .pending: writer.member("outcome", "pending")
        case .answered(let status, let reason):
            writer.member("outcome", "answered")
            writer.member("status", status)
            writer.member("reason", reason)
        case .reset(let code):
            writer.member("outcome", "reset")
            writer.member("code", code)
        case .unanswered: writer.member("outcome", "unanswered")
        case .cancelled(let code):
            writer.member("outcome", "cancelled")
            writer.member("code", code)
        }
    }

    /// `headers` are pairs, since their order and their repetition matter; `json` is there when the body is JSON.
    private static func write(_ request: HTTPRequest, to writer: inout JSONWriter) {
        writer.member("method", request.method)
        writer.member("path", request.target)
        writer.key("headers")
        writer.beginArray()
        for field in request.headers {
            writer.beginArray()
            writer.string(field.name)
            writer.string(field.value)
            writer.endArray()
        }
        writer.endArray()
        writer.member("body", Base64.encode(request.body))
        if let document = try? JSONDocument(parsing: request.body) {
            writer.key("json")
            writer.raw(document.root.rawBytes)
        }
    }

    static func write(_ record: DeviceTokenRecord, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("token", Hexadecimal.encode(record.token))
        writer.member("environment", record.environment.rawValue)
        writer.member("received", record.receivedCount)
        writer.member("accepted", record.acceptedCount)
        writer.member("timestamps_rising", record.fallingTimestampCount == 0)
        writer.member("timestamps_falling", record.fallingTimestampCount)
        writer.member("timestamps_equal", record.equalTimestampCount)
        writer.member("after_end", record.afterEndCount)
        writer.member("highest_timestamp", record.highestTimestamp)
        writer.endObject()
    }
}
