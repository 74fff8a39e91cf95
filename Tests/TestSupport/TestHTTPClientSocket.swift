import Glibc
import HTTP
import Security
import Synchronization

/// A blocking TCP connection to a port of this host, under TLS when asked.
// A test uses a socket from one thread at a time; it hands it over when it waits for a blocking call on another.
package final class TestSocket: @unchecked Sendable {
    private let descriptor: Int32
    private var tls: TLSSession?

    /// - Parameter tls: the host name to verify and the PEM of the authority.
    package init(
        port: UInt16, tls: (host: String, authority: [UInt8])? = nil, applicationProtocols: [String] = ["http/1.1"],
        timeoutSeconds: Int = 10, receiveBufferByteCount: Int32? = nil
    ) throws {
        // Made before there is a connection: reading the system's roots takes time that the server counts.
        let context = try tls.map { try TestTLSContexts.context(authority: $0.authority, applicationProtocols) }
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw TestHTTPClient.Failure("socket: \(errno)") }
        if var count = receiveBufferByteCount {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &count, socklen_t(MemoryLayout<Int32>.size))
        }
        var limit = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &address) { (pointer) in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw TestHTTPClient.Failure("connect: \(errno)") }
        if let tls, let context {
            let session = try TLSSession(client: context, host: tls.host)
            while try !session.handshake() {
                try flush(session)
                guard let received = receiveSome(), !received.isEmpty else { throw TestHTTPClient.Failure("handshake cut") }
                session.receive(received.span)
            }
            try flush(session)
            self.tls = session
        }
    }

    deinit { close(descriptor) }

    package var negotiatedProtocol: String? { tls?.negotiatedProtocol }

    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) throws {
        guard let tls else { return try sendPlain(bytes) }
        try tls.write(bytes.span)
        try flush(tls)
    }

    /// Ends this direction: the server reads the end of the stream.
    package func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the coming close a reset.
    package func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// The next bytes: empty at the end of the stream (or a reset), nil when the time is over.
    package func receive() throws -> [UInt8]? {
        guard let tls else { return receiveSome() }
        while true {
            var plaintext: [UInt8] = []
            switch try tls.read(into: &plaintext, limit: 65_536) {
            case .bytes: return plaintext
            case .closed: return []
            case .needsInput:
                guard let received = receiveSome() else { return nil }
                if received.isEmpty { return [] }
                tls.receive(received.span)
            }
        }
    }

    /// Everything up to the end of the stream, or what came before the time was over.
    package func receiveToEnd() -> (received: [UInt8], isClosed: Bool) {
        var all: [UInt8] = []
        while let bytes = try? receive() {
            if bytes.isEmpty { return (all, true) }
            all += bytes
        }
        return (all, false)
    }

    private func receiveSome() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { return errno == ECONNRESET ? [] : nil }
        buffer.removeSubrange(count...)
        return buffer
    }

    private func sendPlain(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            // A server that refuses may have closed already; what it said is still to be read.
            guard count > 0 else { return }
            sent += count
        }
    }

    private func flush(_ session: TLSSession) throws {
        var pending: [UInt8] = []
        session.withPendingCiphertext { (bytes) in
            pending = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
            return pending.count
        }
        try sendPlain(pending)
    }
}

/// Client contexts by the authority and the protocols they were made for: each reads all roots of the system.
private enum TestTLSContexts {
    private struct Key: Hashable {
        let authority: [UInt8]
        let applicationProtocols: [String]
    }

    private static let contexts = Mutex<[Key: TLSContext]>([:])

    static func context(authority: [UInt8], _ applicationProtocols: [String]) throws -> TLSContext {
        let key = Key(authority: authority, applicationProtocols: applicationProtocols)
        return try contexts.withLock { contexts in
            if let context = contexts[key] { return context }
            let context = try TLSContext.client(extraRootsPEM: authority, applicationProtocols: applicationProtocols)
            contexts[key] = context
            return context
        }
    }
}
