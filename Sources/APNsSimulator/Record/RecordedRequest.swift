package import HTTP

/// One request the simulator received, and what became of it.
package struct RecordedRequest: Sendable {
    /// What the sender got.
    package enum Outcome: Equatable, Sendable {
        /// No answer yet: it is delayed, or held.
        case pending
        /// An answer with this status and reason left for the wire.
        case answered(status: Int, reason: String?)
        /// The stream was reset with this error code by the simulator.
        case reset(code: UInt32)
        /// There will be no answer: a script said so, a GOAWAY cut the stream, or the connection ended first.
        case unanswered
        /// The sender reset the stream with this error code before it was answered.
        case cancelled(code: UInt32)
    }

    /// Counts the requests of this simulator, from 1.
    package internal(set) var number = 0
    /// When the request was complete, in milliseconds since 1970 of the simulator's clock.
    package var receivedAt: Int64
    package var environment: PushEnvironment
    /// Counts the connections of this simulator, from 1.
    package var connection: Int
    package var streamID: Int32
    /// The device token of the path; nil when that holds none.
    package var token: [UInt8]?
    /// What it wants of broadcast channels; nil for a push to a device.
    package var operation: ChannelOperation?
    /// `apns-channel-id` of such a request.
    package var channelID: String?
    /// Number of the provider token among the distinct ones that were let in; nil when it was not.
    package var providerToken: Int?
    /// What the payload says of itself, and the errors of its shape.
    package var reading: PayloadReading
    package var outcome: Outcome = .pending
    /// Method, path, header fields and body as they came; nil once they had to make room.
    package var request: HTTPRequest?

    /// Bytes that `request` is counted with.
    var requestByteCount: Int {
        guard let request else { return 0 }
        let perField = 32
        return request.headers.reduce(request.target.utf8.count + request.body.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + perField
        }
    }
}

/// Which recorded requests to look at; what is nil does not restrict.
package struct RequestQuery: Sendable {
    /// Only requests with a higher number.
    package var since = 0
    package var token: [UInt8]?
    package var environment: PushEnvironment?
    package var event: PayloadReading.Event?
    /// Only requests of broadcast channels that want this.
    package var operation: ChannelOperation?
    /// Only requests that are not pending any more.
    package var isSettled = false

    /// Every request.
    package init() {}

    /// Requests of broadcast channels.
    package init(operation: ChannelOperation, since: Int = 0) {
        self.operation = operation
        self.since = since
    }

    /// Requests for one device token, numbered higher than `since`.
    package init(token: [UInt8], since: Int = 0) {
        self.token = token
        self.since = since
    }

    func matches(_ request: RecordedRequest) -> Bool {
        request.number > since && (token == nil || token == request.token)
            && (environment == nil || environment == request.environment)
            && (event == nil || event == request.reading.event) && (operation == nil || operation == request.operation)
            && !(isSettled && request.outcome == .pending)
    }
}
