import Gateway
import JSON
import Security

/// One event as the HTML standard lays it out (9.2, server-sent events), or a comment.
struct ServerSentEvent: Equatable {
    /// Shows that the stream is alive.
    static let comment: [UInt8] = Array(":\n\n".utf8)
    /// How long the client waits before it comes back.
    static let reconnect: [UInt8] = Array("retry: \(EventLimits.reconnectMilliseconds)\n\n".utf8)

    let id: String
    let bytes: [UInt8]

    /// The totals of a notification. Equal totals have the same identifier, in every process and at any time; their state is one of
    /// them, so that nothing else has the identifier of totals that are finished.
    init(totals summary: NotificationSummary) {
        var writer = JSONWriter()
        writer.beginObject()
        summary.write(to: &writer)
        writer.endObject()
        let isFinished = summary.state == .finished
        let digest = SHA256.digest(writer.bytes)
        id = Hexadecimal.encode(Array(digest.prefix(8)))
        let head = "event: \(isFinished ? "finished" : "totals")\nid: \(id)\ndata: "
        bytes = Array(head.utf8) + writer.bytes + Array("\n\n".utf8)
    }
}
