import COpenSSL

/// What a read of plaintext gave.
package enum TLSReadResult: Equatable, Sendable {
    /// So many bytes (1 or more) were appended.
    case bytes(Int)
    /// Nothing now; ask again after `receive`.
    case needsInput
    /// The peer said that it sends no more.
    case closed
}

/// One end of a TLS connection, without a socket: ciphertext goes in by `receive` and out by `withPendingCiphertext`.
///
/// Not `Sendable`: it lives inside the actor that owns the connection. After any method threw, only the pending ciphertext (it holds
/// the alert for the peer) is of use.
@safe package final class TLSSession {
    /// Largest host name, in bytes. Source: RFC 1035 2.3.4.
    private static let hostByteCount = 255

    private let session: OpaquePointer
    private let transport: TLSTransport
    /// Holds what the callbacks of the handshake read.
    private let context: TLSContext
    private var isEstablished = false
    private var hasFailed = false
    private var readFailure: SecurityError?

    private init(_ context: TLSContext) throws(SecurityError) {
        OpenSSLErrorQueue.clear()
        guard let session = unsafe SSL_new(context.pointer) else { throw .lastFailure("TLS session") }
        unsafe self.session = session
        self.context = context
        transport = TLSTransport()
        let bio = unsafe transport.makeBIO()
        unsafe SSL_set_bio(session, bio, bio)
    }

    deinit { unsafe SSL_free(session) }

    /// A session that opens a connection to `host`, a DNS name or an IP address, which the certificate must carry.
    package convenience init(client context: TLSContext, host: String) throws(SecurityError) {
        precondition(context.role == .client, "a client session needs a client context")
        guard (1...Self.hostByteCount).contains(host.utf8.count), !host.utf8.contains(0) else {
            throw .invalidInput(operation: "host name", reason: "empty, too long or with a zero byte")
        }
        try self.init(context)
        let isAddress = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1
        OpenSSLErrorQueue.clear()
        if !isAddress {
            unsafe SSL_set_hostflags(session, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            guard unsafe SSL_set1_host(session, host) == 1,
                unsafe openpushd_session_set_server_name(session, host) == 1
            else { throw .lastRefusal("host name") }
        }
        unsafe SSL_set_connect_state(session)
    }

    /// A session that answers a connection.
    package convenience init(server context: TLSContext) throws(SecurityError) {
        precondition(context.role == .server, "a server session needs a server context")
        try self.init(context)
        unsafe SSL_set_accept_state(session)
    }

    /// Takes bytes that came from the socket. Call `handshake` or `read` next.
    package func receive(_ ciphertext: Span<UInt8>) {
        unsafe ciphertext.withUnsafeBufferPointer { bytes in unsafe transport.input.append(bytes) }
    }

    /// Goes on with the handshake as far as the input allows and says whether it is done. A client calls it once before any input.
    package func handshake() throws(SecurityError) -> Bool {
        guard !hasFailed else { throw .failed(operation: "TLS handshake", reason: "the session has failed") }
        guard !isEstablished else { return true }
        OpenSSLErrorQueue.clear()
        let result = unsafe SSL_do_handshake(session)
        guard result != 1 else {
            isEstablished = true
            return true
        }
        guard unsafe SSL_get_error(session, result) == SSL_ERROR_WANT_READ else { throw failure("TLS handshake") }
        return false
    }

    /// Appends up to `limit` bytes (1 or more) of plaintext to `buffer`; asks OpenSSL until the limit or the end of the input.
    /// When the result is `.bytes`, call again: more may wait where no poll of the socket can see it.
    package func read(into buffer: inout [UInt8], limit: Int) throws(SecurityError) -> TLSReadResult {
        precondition(limit > 0, "a read takes one byte at least")
        if let readFailure { throw readFailure }
        guard !hasFailed else { throw .failed(operation: "TLS read", reason: "the session has failed") }
        OpenSSLErrorQueue.clear()
        var total = 0
        var status: Int32 = SSL_ERROR_NONE
        repeat {
            let room = min(limit - total, Self.recordByteCount)
            var count = 0
            buffer.append(addingCapacity: room) { output in
                unsafe output.withUnsafeMutableBufferPointer { free, initialized in
                    let result = unsafe SSL_read_ex(session, free.baseAddress, room, &count)
                    if result != 1 { unsafe status = SSL_get_error(session, result) }
                    initialized = count
                }
            }
            total += count
        } while total < limit && status == SSL_ERROR_NONE && mayHoldPlaintext
        switch status {
        case SSL_ERROR_NONE: return .bytes(total)
        case SSL_ERROR_WANT_READ: return total > 0 ? .bytes(total) : .needsInput
        case SSL_ERROR_ZERO_RETURN: return total > 0 ? .bytes(total) : .closed
        default:
            // What was read before the failure is good; the failure comes with the next call.
            let failure = failure("TLS read")
            readFailure = failure
            guard total > 0 else { throw failure }
            return .bytes(total)
        }
    }

    /// Whether another read can give something without more input.
    private var mayHoldPlaintext: Bool { unsafe transport.input.count > 0 || SSL_has_pending(session) == 1 }

    /// Largest plaintext of one record, in bytes. Source: RFC 8446 5.1.
    private static let recordByteCount = 16 << 10

    /// Encrypts all of `plaintext` into records of 16 KiB (the last may be shorter). The ciphertext waits inside; hand in large spans.
    package func write(_ plaintext: Span<UInt8>) throws(SecurityError) {
        guard !plaintext.isEmpty else { return }
        guard isEstablished, !hasFailed else { throw .failed(operation: "TLS write", reason: "the session is not open") }
        OpenSSLErrorQueue.clear()
        var written = 0
        let result = unsafe plaintext.withUnsafeBufferPointer { bytes in
            unsafe SSL_write_ex(session, bytes.baseAddress, bytes.count, &written)
        }
        guard result == 1, written == plaintext.count else { throw failure("TLS write") }
    }

    /// Lends all ciphertext that waits for the socket; `body` says how many bytes from the front the socket took. Not called when
    /// nothing waits. It must not call this session.
    package func withPendingCiphertext(_ body: (Span<UInt8>) -> Int) { transport.output.withBytes(body) }

    /// Bytes of ciphertext that wait for the socket.
    package var pendingCiphertextByteCount: Int { transport.output.count }

    /// What ALPN agreed on, such as `h2`; nil before the handshake is done or when a side does not use ALPN.
    package var negotiatedProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(session, &name, &count)
        guard let name = unsafe name, count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// Tells the peer that nothing more is sent; the message waits with the pending ciphertext. Reading goes on.
    package func shutdown() {
        guard isEstablished, !hasFailed else { return }
        OpenSSLErrorQueue.clear()
        unsafe _ = SSL_shutdown(session)
        OpenSSLErrorQueue.clear()
    }

    private func failure(_ operation: String) -> SecurityError {
        hasFailed = true
        let verification = unsafe SSL_get_verify_result(session)
        guard context.role == .client, !isEstablished, verification != Int(X509_V_OK) else { return .lastFailure(operation) }
        OpenSSLErrorQueue.clear()
        return unsafe .certificateRejected(reason: String(cString: X509_verify_cert_error_string(verification)))
    }
}
