/// What one HTTP/2 connection may cost the server.
package struct HTTP2ServerLimits: Sendable, Equatable {
    /// Largest header list of a request in bytes, counted as RFC 9113 6.5.2 does (32 more for each field). More is answered 431.
    package var headerByteCount = 16 * 1024
    /// Most field lines of a request, pseudo header fields included. More is answered 431.
    package var headerCount = 100
    /// Largest body of a request in bytes. More is answered 413 while it streams in.
    package var bodyByteCount = 4 * 1024 * 1024
    /// Bytes of request bodies the session holds before they are handed on, over all streams. The stream that exceeds it is reset
    /// with REFUSED_STREAM: nothing of it was processed.
    package var bufferedBodyByteCount = 16 * 1024 * 1024
    /// Bytes a peer may go on sending on a stream that was refused and answered, which are dropped. Beyond, RST_STREAM(NO_ERROR).
    package var droppedBodyByteCount = 1024 * 1024
    /// Flow control window of the connection in bytes, 65,535 to 2^31-1.
    package var connectionWindowByteCount: Int32 = 1024 * 1024
    /// RST_STREAM frames the peer may send at once, and how many more each second (CVE-2023-44487). Beyond, GOAWAY.
    package var streamResets: ResetRate = .limited(burst: 1000, perSecond: 33)
    /// Answers to PING and SETTINGS that may wait to be sent (CVE-2019-9512, 9515). Beyond, `receive` throws.
    package var waitingAcknowledgementCount = 1000

    /// How fast a peer may reset its streams.
    package enum ResetRate: Sendable, Equatable {
        case limited(burst: UInt64, perSecond: UInt64)
        /// For a test server that resets are part of. libnghttp2 1.52 has no other limit on misbehaviour to lift.
        case unlimited
    }

    package init() {}
}
