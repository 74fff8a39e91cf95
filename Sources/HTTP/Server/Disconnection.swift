import Glibc
import Networking

extension StreamError {
    /// Whether the client just went away, which is no failure.
    var isDisconnection: Bool {
        switch self {
        case .system(let error): [ECONNRESET, EPIPE, ETIMEDOUT].contains(error.code)
        case .closed, .closedDuringHandshake: true
        case .security, .unsentLimitExceeded: false
        }
    }
}
