/// What happened on the server's side of a HTTP/2 connection, in order.
package enum HTTP2ServerEvent: Sendable, Equatable {
    /// A whole request came in. Answer it with `respond` or `reset`, at any later time or never.
    case request(streamID: Int32, HTTPRequest)
    /// The session refused a request by itself and has answered it: 400, 413, 417, 431, 501.
    case rejected(streamID: Int32, status: Int)
    /// The stream of a delivered request ended before its response was sent whole: reset by either side, or cut by GOAWAY.
    case reset(streamID: Int32, errorCode: UInt32)
    /// The response was sent whole, and the stream is closed.
    case finished(streamID: Int32)
    /// The peer will open no more streams.
    case goAway(lastStreamID: Int32, errorCode: UInt32)
    /// The peer applied the oldest SETTINGS frame it had not acknowledged.
    case settingsAcknowledged
    /// The peer asked whether the server is there; the session answers by itself.
    case ping
    /// The peer has read everything up to the PING of `announceGoAway`; or sends acknowledgements nobody asked for.
    case pingAcknowledged
}
