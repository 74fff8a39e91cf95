/// How one request of a client session ended.
package struct HTTP2ClosedStream: Sendable {
    /// The slot `submit` returned; free again after `clearEvents`.
    package let slot: Int
    /// The status of the answer; 0 when none came.
    package let status: Int
    /// The HTTP/2 error code the stream ended with; 0 when it ended in order.
    package let errorCode: UInt32
    /// Whether the request's head was handed over for sending, so that the peer may have seen it.
    package let mayHaveLeft: Bool
    /// Which element of `answers` holds the body and `retry-after`; nil for a status of 200.
    package let answer: Int?

    /// Whether the peer, or the protocol, states that the request was not processed (RFC 9113, section 8.7).
    package var isRefused: Bool { errorCode == HTTP2ErrorCode.refusedStream || !mayHaveLeft }
}

/// What an answer other than 200 said.
package struct HTTP2ErrorAnswer: Sendable {
    /// Most bytes of a body that are kept; the rest is dropped. APNs sends less than 100.
    package static let bodyByteLimit = 1024
    /// Most bytes of a `retry-after` value that are kept; an HTTP date has 29.
    package static let retryAfterByteLimit = 64

    /// The body, up to the limit.
    package var body: [UInt8] = []
    /// The value of `retry-after`; empty when there was none.
    package var retryAfter: [UInt8] = []

    mutating func removeAll() {
        body.removeAll(keepingCapacity: true)
        retryAfter.removeAll(keepingCapacity: true)
    }
}

/// A GOAWAY frame of the peer.
package struct HTTP2GoAway: Sendable, Equatable {
    /// Most bytes of debug data that are kept.
    package static let debugDataByteLimit = 1024

    /// Requests with a greater identifier were not processed.
    package let lastStreamID: Int32
    /// The HTTP/2 error code.
    package let errorCode: UInt32
    /// What the peer said besides: JSON, text or nothing.
    package let debugData: [UInt8]
}
