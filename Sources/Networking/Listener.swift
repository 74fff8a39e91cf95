import CLinux
import Glibc
import Synchronization

/// A connection a listener has taken, before a stream is made of it.
package struct AcceptedConnection: ~Copyable, Sendable {
    /// The client's end.
    package let peer: SocketAddress
    private let descriptor: FileDescriptor

    init(descriptor: consuming FileDescriptor, peer: SocketAddress) {
        self.descriptor = descriptor
        self.peer = peer
    }

    /// Hands over the socket: non-blocking, closed on exec, without delay.
    package consuming func takeDescriptor() -> FileDescriptor { descriptor }
}

/// A TCP socket that takes connections. Several loops may watch the same one (`watch` with `shared: true`).
package final class Listener: Sendable {
    /// Where it listens, with the real port when 0 was asked for.
    package let address: SocketAddress
    /// What to watch on a loop. Unwatch it on every loop before `close`.
    package let rawDescriptor: Int32
    private let descriptor: Mutex<FileDescriptor?>

    private init(owning descriptor: consuming FileDescriptor, address: SocketAddress) {
        self.address = address
        rawDescriptor = descriptor.rawValue
        self.descriptor = Mutex(consume descriptor)
    }

    /// Connections that wait to be accepted, at most; the kernel also applies `net.core.somaxconn` (4,096 by default).
    package static let defaultBacklog: Int32 = 4_096

    /// Starts to listen. An address in use is an error, "bind: Address already in use": the port is never shared with another process.
    ///
    /// An IPv6 listener takes IPv6 only, so "0.0.0.0" and "[::]" can be listened on side by side.
    package static func bind(_ address: SocketAddress, backlog: Int32 = defaultBacklog) throws(SystemError) -> Listener {
        let descriptor = try Socket.open(family: address.family)
        // Connections of an earlier process that linger in TIME_WAIT do not hold the port; a listener still does.
        try Socket.set(SO_REUSEADDR, level: SOL_SOCKET, to: 1, on: descriptor.rawValue)
        if address.family == AF_INET6 {
            try Socket.set(IPV6_V6ONLY, level: Int32(IPPROTO_IPV6), to: 1, on: descriptor.rawValue)
        }
        let number = descriptor.rawValue
        try unsafe SystemError.check("bind", address.withSystemAddress { unsafe Glibc.bind(number, $0, $1) })
        try SystemError.check("listen", listen(number, backlog))
        let bound = try Socket.localAddress(number)
        return Listener(owning: descriptor, address: bound)
    }

    /// Takes a waiting connection; nil when there is none.
    ///
    /// Errors do not harm the listener: `EMFILE`, `ENFILE`, `ENOBUFS` and `ENOMEM` mean that a resource is missing, and since the
    /// connection stays in the queue the owner should pause its watch for a moment instead of being called again at once. A
    /// connection that died while it waited is passed over.
    package func accept() throws(SystemError) -> AcceptedConnection? {
        // Bounds the calls for connections that died; the rest are tried when the loop reports the listener again.
        for _ in 0..<Listener.deadConnectionsPerAccept {
            var peer: SocketAddress?
            let result = descriptor.withLock { (descriptor) -> Int32 in
                guard descriptor != nil else {
                    errno = EBADF
                    return -1
                }
                let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
                let (accepted, address) = unsafe SocketAddress.reading { unsafe accept4(rawDescriptor, $0, &$1, flags) }
                peer = address
                return accepted
            }
            if result == -1 {
                if Socket.isWouldBlock(errno) { return nil }
                if Listener.isDeadConnection(errno) { continue }
                throw .last("accept")
            }
            let accepted = FileDescriptor(owning: result)
            // It fails with EINVAL when the peer is already gone.
            guard let peer, (try? Socket.disableDelay(result)) != nil else { continue }
            return AcceptedConnection(descriptor: accepted, peer: peer)
        }
        return nil
    }

    private static let deadConnectionsPerAccept = 64

    /// Errors of the connection that was next in the queue, not of the listener. Source: accept(2), "Error handling".
    private static func isDeadConnection(_ code: Int32) -> Bool {
        switch code {
        case ECONNABORTED, EINTR, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH: true
        default: false
        }
    }

    /// Stops listening; connections that were not accepted are reset. Later calls, and `accept`, find it closed.
    package func close() {
        descriptor.withLock { $0 = nil }
    }
}
