package import Networking

/// What a server tells its owner, for metrics and logs. It carries no request content.
package enum HTTPServerEvent: Sendable, Equatable {
    case connectionOpened
    case connectionClosed(HTTPConnectionEnd)
    /// The connection limit is reached: clients wait in the backlog until a connection ends.
    case acceptingPaused(connectionCount: Int)
    /// A resource of the system ran out; accepting goes on after a moment.
    case acceptFailed(SystemError)
    /// A handler answered. The duration runs from the whole request to its response, before it is sent.
    case responded(status: Int, duration: Duration)
    /// The server answered by itself: the request broke a rule or a limit. The reason is one of a fixed set of texts.
    case refused(status: Int, reason: String)
}

/// Why a connection ended.
package enum HTTPConnectionEnd: Sendable, Equatable {
    /// The client closed it, between requests or in the middle of one.
    case closedByClient
    /// The last response was sent, and either side had asked for the end.
    case finished
    /// It waited for a request longer than the idle time limit.
    case idle
    case handshakeTimeout
    /// The client was slower with a request than the header or body time limit; it was answered 408.
    case requestTimeout
    /// The client did not read its response.
    case writeTimeout
    /// The peer broke a protocol, or the system reported an error.
    case failed(String)
    /// The server was stopped before the connection had finished.
    case stopped
}
