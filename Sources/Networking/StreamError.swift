package import Security

/// Why a stream cannot go on. Its owner closes it.
package enum StreamError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A system call failed: "connect: Connection refused", "send: Connection reset by peer".
    case system(SystemError)
    /// TLS failed; the alert that tells the peer has been sent if there was room.
    case security(SecurityError)
    /// The peer ended the connection in the middle of the TLS handshake.
    case closedDuringHandshake
    /// More than the given number of bytes wait to be sent: the owner did not look at `unsentByteCount`.
    case unsentLimitExceeded(byteCount: Int)
    /// The stream was used after `close` or written to after `shutdownWrite`.
    case closed

    package var description: String {
        switch self {
        case .system(let error): error.description
        case .security(let error): error.description
        case .closedDuringHandshake: "TLS handshake: connection closed by peer"
        case .unsentLimitExceeded(let byteCount): "send: more than \(byteCount) bytes wait"
        case .closed: "stream is closed"
        }
    }
}
