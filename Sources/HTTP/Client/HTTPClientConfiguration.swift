/// Where a client's server is: HTTPS on a host and port.
package struct HTTPOrigin: Sendable, Hashable {
    /// Host name or address, IPv6 without brackets; certificates are checked against it.
    package let host: String
    /// TCP port.
    package let port: UInt16

    /// Puts host and port together.
    package init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// `:authority`; the port of HTTPS is left out.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }
}

/// What a client may use, and how long things may take. Tests shorten the times.
package struct HTTPClientConfiguration: Sendable {
    /// Most connections that take requests.
    package var connectionCount = 2
    /// Most streams of a connection, whatever the server allows. 100 is what RFC 9113, 6.5.2 recommends servers to allow at least.
    package var streamCount = 100
    /// Most requests that wait for a stream; another one is handed back.
    package var waitingCount = 1_000
    /// Largest header list of a request and of a response, in bytes.
    package var headerByteCount = 16 * 1024
    /// Largest body of a response, in bytes; a larger one makes the request unanswered.
    package var bodyByteCount = 64 * 1024
    /// How long the look-up, TCP, TLS and the first SETTINGS may take together.
    package var connectTimeout = Duration.seconds(10)
    /// A connection without requests is closed after so long.
    package var idleTimeout = Duration.seconds(60)
    /// Silence with requests open after which a PING asks whether the server is there, and how long its answer may take.
    package var pingInterval = Duration.seconds(10)
    package var pingTimeout = Duration.seconds(10)
    /// Pause before a connection beyond the first is added.
    package var connectionSpacing = Duration.seconds(1)
    /// First and longest pause after a connection that failed or was of no use; doubles from one to the other.
    package var firstBackOff = Duration.milliseconds(250)
    package var longestBackOff = Duration.seconds(15)
    /// How often deadlines are looked at while requests are under way.
    package var tickInterval = Duration.milliseconds(250)

    /// The defaults.
    package init() {}
}

/// What a client reports; for log lines and metrics.
package enum HTTPClientEvent: Sendable, Equatable {
    /// A connection takes requests now.
    case connectionOpened(address: String)
    /// A connection could not be made, or ended other than in order; so many requests on it will never be answered.
    case connectionFailed(address: String, HTTPClientFailure, unansweredCount: Int)
    /// A connection was closed in order; the server's GOAWAY, when that was the reason.
    case connectionClosed(address: String, goAway: HTTP2GoAway?)
}
