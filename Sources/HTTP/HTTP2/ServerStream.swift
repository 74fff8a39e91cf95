/// One stream of a server session: the request as it comes in, then the response as it goes out.
struct ServerStream {
    enum Phase: Equatable {
        case receivingHeaders
        case receivingBody
        /// The request is complete and waits in the event queue.
        case received
        /// The request was handed out by `nextEvent`.
        case delivered
        /// The session answers by itself; what still comes in is dropped.
        case rejected
    }

    var phase = Phase.receivingHeaders
    /// When the first frame of the request arrived.
    let startedAt: ContinuousClock.Instant
    var request = HTTPRequest(method: "", target: "", version: .http2)
    var headerByteCount = 0
    var headerCount = 0
    /// More header bytes or fields than the limits allow: 431 once the header block is complete.
    var hasExcessiveHeaders = false

    var hasResponse = false
    var responseBody: [UInt8] = []
    var sentByteCount = 0
    /// Where the rest of the response comes from; nil for one that is whole.
    var bodyStream: HTTPBodyStream?
    /// Whether libnghttp2 has been told that there is nothing to send for the moment.
    var isDeferred = false
    /// When the last byte of the response was taken for sending.
    var progressedAt: ContinuousClock.Instant?
    var sentEndOfStream = false
    /// Body bytes that came after the stream was answered without them.
    var droppedByteCount = 0

    init(startedAt: ContinuousClock.Instant) { self.startedAt = startedAt }

    /// Whether the request was refused and answered, and only the peer has not ended its side.
    var isSettled: Bool { phase == .rejected && sentEndOfStream }

    /// Since when the peer has left a response unread; nil when there is none, or when it has taken all that there is.
    var unsentSince: ContinuousClock.Instant? {
        guard hasResponse, let progressedAt else { return nil }
        guard let bodyStream, sentByteCount == responseBody.count else { return progressedAt }
        return bodyStream.waitingSince.map { max($0, progressedAt) }
    }

    /// Whether the peer still owes a part of the request.
    var isIncomplete: Bool { phase == .receivingHeaders || phase == .receivingBody }
}
