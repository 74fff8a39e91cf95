/// What one client, one request and one event loop may cost. Every value is a parameter so that tests can make it tiny.
package struct HTTPServerLimits: Sendable, Equatable {
    /// Longest request line over HTTP/1, in bytes. More is answered 414. Source: RFC 9112, 3 asks for at least 8,000.
    package var requestLineByteCount = 8 * 1024
    /// Largest header section in bytes, the request line not counted. More is answered 431.
    package var headerByteCount = 16 * 1024
    /// Most field lines in a request. More is answered 431.
    package var headerCount = 100
    /// Largest request body in bytes, after chunked decoding. More is answered 413.
    package var bodyByteCount = 4 * 1024 * 1024
    /// Longest line with a chunk size and its extensions, in bytes. More is answered 400.
    package var chunkLineByteCount = 256
    /// Bytes of chunk extensions and trailers in one request, which are read and dropped. More is answered 400.
    package var chunkOverheadByteCount = 16 * 1024
    /// Bytes of request bodies one HTTP/2 connection may hold before its requests are complete.
    package var bufferedBodyByteCount = 16 * 1024 * 1024
    /// Bytes of request bodies that all connections of one server hold, until their handlers are done. The connection that exceeds
    /// it is refused with 503; over HTTP/2, when no request is complete that could be answered so, with GOAWAY.
    package var requestMemoryByteCount = 256 * 1024 * 1024

    /// From accept to the end of the TLS handshake.
    package var handshakeTimeout: Duration = .seconds(10)
    /// From the first byte of a request to the end of its header section. Answered 408.
    package var headerTimeout: Duration = .seconds(10)
    /// From the end of the header section to the end of the body. Answered 408. Over HTTP/2 it covers the whole request.
    package var bodyTimeout: Duration = .seconds(30)
    /// How long a connection may wait for its next request. It is closed without an answer.
    package var idleTimeout: Duration = .seconds(75)
    /// How long a HTTP/2 client has to acknowledge that it must go, before the server says which of its streams was the last.
    package var goAwayTimeout: Duration = .seconds(1)
    /// How long a response, or a piece of a streamed one, may wait without the client taking a byte of it. The connection is closed,
    /// or the stream reset.
    package var writeTimeout: Duration = .seconds(30)
    /// How long a closing connection waits for more input to drop, so that a client that still sends gets to see the last answer.
    package var lingerTimeout: Duration = .seconds(1)
    /// How long it drops input altogether, once everything is sent.
    package var lingerLimit: Duration = .seconds(10)

    /// Connections of one server (one event loop). At the limit the server pauses accepting: further clients wait in the
    /// listener's backlog, where other loops and other processes can take them.
    package var connectionCount = 10_000
    /// Requests of one HTTP/2 connection that may be open, streamed answers included, or whose handlers run although their streams
    /// are gone.
    package var concurrentStreamCount = 100
    /// Output that may wait for the socket before the connection stops making and reading more, in bytes.
    package var unsentByteCount = 256 * 1024

    package init() {}

    /// The same limits for a HTTP/2 session.
    var http2: HTTP2ServerLimits {
        var limits = HTTP2ServerLimits()
        limits.headerByteCount = headerByteCount
        limits.headerCount = headerCount
        limits.bodyByteCount = bodyByteCount
        limits.bufferedBodyByteCount = bufferedBodyByteCount
        return limits
    }
}
