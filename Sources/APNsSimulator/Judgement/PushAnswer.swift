package import HTTP

/// What the simulator answers to one push.
package struct PushAnswer: Equatable, Sendable {
    /// The HTTP status, 200 to 599.
    package var status: Int
    /// The `reason` of the body; nil leaves the body empty.
    package var reason: String?
    /// The `timestamp` of the body, in milliseconds since 1970; Apple sends it with 410 only.
    package var timestampMilliseconds: Int64?
    /// Fields beside those that Apple sends, such as `retry-after`.
    package var headers: HTTPHeaders
    /// A body to send instead of Apple's.
    package var body: [UInt8]?

    /// Apple took responsibility for the push.
    package static let accepted = PushAnswer(status: 200)

    /// An answer with any status; the reason need not be one of Apple's.
    package init(
        status: Int, reason: String? = nil, timestampMilliseconds: Int64? = nil, headers: HTTPHeaders = [:], body: [UInt8]? = nil
    ) {
        self.status = status
        self.reason = reason
        self.timestampMilliseconds = timestampMilliseconds
        self.headers = headers
        self.body = body
    }

    /// One of Apple's refusals.
    package init(_ reason: Reason, timestampMilliseconds: Int64? = nil) {
        self.init(status: reason.status, reason: reason.rawValue, timestampMilliseconds: timestampMilliseconds)
    }
}
