import CLinux
import Glibc

/// The socket calls of listeners and streams: non-blocking, closed on exec, never raising SIGPIPE.
enum Socket {
    static func open(family: Int32) throws(SystemError) -> FileDescriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return FileDescriptor(owning: try SystemError.check("socket", socket(family, type, 0)))
    }

    /// Sets an integer option.
    static func set(_ option: Int32, level: Int32, to value: Int32, on descriptor: Int32) throws(SystemError) {
        var value = value
        let result = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        try SystemError.check("setsockopt", result)
    }

    /// Sends small writes at once: what is worth gathering is gathered before it is written.
    static func disableDelay(_ descriptor: Int32) throws(SystemError) {
        try set(TCP_NODELAY, level: Int32(IPPROTO_TCP), to: 1, on: descriptor)
    }

    /// Takes the error that waits on a socket, such as how a connect ended; 0 for none.
    static func takePendingError(_ descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return result == -1 ? errno : code
    }

    /// The address a socket is bound to.
    static func localAddress(_ descriptor: Int32) throws(SystemError) -> SocketAddress {
        let (result, address) = unsafe SocketAddress.reading { unsafe getsockname(descriptor, $0, &$1) }
        try SystemError.check("getsockname", result)
        guard let address else { throw SystemError(operation: "getsockname", code: EAFNOSUPPORT) }
        return address
    }

    /// Whether a call on a non-blocking socket should be repeated when the socket is ready.
    static func isWouldBlock(_ code: Int32) -> Bool { code == EAGAIN || code == EWOULDBLOCK }
}
