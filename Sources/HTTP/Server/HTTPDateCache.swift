import Glibc
import Synchronization

/// The text of the Date header field, made once a second for all connections of a server.
final class HTTPDateCache: Sendable {
    private let cached = Mutex<(second: Int, text: String)>((-1, ""))

    var text: String {
        let now = max(0, time(nil))
        return cached.withLock { cached in
            if cached.second != now { cached = (now, HTTPDate.text(secondsSince1970: now)) }
            return cached.text
        }
    }
}
