import COpenSSL

/// Why a cryptographic operation was refused. Texts name the operation and OpenSSL's reason; never a key, a host's data or a plaintext.
package enum SecurityError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The peer's certificate is not trusted, has expired, or is for another host. Trying again helps only after the roots changed.
    case certificateRejected(reason: String)
    /// What was given (a PEM text, a key, a host name) cannot be used.
    case invalidInput(operation: String, reason: String)
    /// OpenSSL refused: the peer broke the protocol, sent an alert, or a resource is missing.
    case failed(operation: String, reason: String)

    package var description: String {
        switch self {
        case .certificateRejected(let reason): "certificate rejected: \(reason)"
        case .invalidInput(let operation, let reason): "\(operation): \(reason)"
        case .failed(let operation, let reason): "\(operation): \(reason)"
        }
    }

    /// The failure OpenSSL has just reported on this thread; empties its error queue.
    static func lastFailure(_ operation: String) -> SecurityError {
        .failed(operation: operation, reason: OpenSSLErrorQueue.drain())
    }

    /// Like `lastFailure`, where the cause is what the caller passed in.
    static func lastRefusal(_ operation: String) -> SecurityError {
        .invalidInput(operation: operation, reason: OpenSSLErrorQueue.drain())
    }
}

/// OpenSSL's list of errors, one per thread.
enum OpenSSLErrorQueue {
    /// Most reasons put into one text; OpenSSL itself keeps 16.
    static let reasonCount = 4

    /// Empties the queue into one text of reason strings, oldest first.
    static func drain() -> String {
        var reasons: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            guard reasons.count < reasonCount else { continue }
            let reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            if reasons.last != reason { reasons.append(reason) }
        }
        return reasons.isEmpty ? "no reason given" : reasons.joined(separator: "; ")
    }

    /// Forgets what earlier calls left behind; `SSL_get_error` reads the queue, so it must be empty before each call.
    static func clear() { ERR_clear_error() }
}
