import COpenSSL

/// Certificates, roots and rules that many TLS sessions share. TLS 1.2 and 1.3 only.
///
/// To use new certificates or roots, make a new context: sessions that run keep the one they were made from.
// @unchecked: everything is set before the factory returns; afterwards OpenSSL only counts references, atomically.
@safe package final class TLSContext: @unchecked Sendable {
    /// Which end of the connection the sessions play.
    enum Role { case client, server }

    let pointer: OpaquePointer
    let role: Role
    /// What the ALPN callback reads; lives as long as the context.
    private let applicationProtocols: ApplicationProtocols

    private init(role: Role, applicationProtocols names: [String]) throws(SecurityError) {
        OpenSSLErrorQueue.clear()
        guard let pointer = unsafe SSL_CTX_new(role == .client ? TLS_client_method() : TLS_server_method()) else {
            throw .lastFailure("TLS context")
        }
        unsafe self.pointer = pointer
        self.role = role
        applicationProtocols = ApplicationProtocols(names)
    }

    deinit { unsafe SSL_CTX_free(pointer) }

    /// For sessions that open connections. The peer's certificate is always verified: against the system's roots and, when given,
    /// `extraRootsPEM` (one or more certificates), and against the host name or address of the session.
    /// Throws when a root cannot be read.
    package static func client(extraRootsPEM: [UInt8]?, applicationProtocols: [String]) throws(SecurityError) -> TLSContext {
        let context = try TLSContext(role: .client, applicationProtocols: applicationProtocols)
        try context.setCommonRules()
        unsafe SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        guard unsafe SSL_CTX_set_default_verify_paths(context.pointer) == 1 else { throw .lastFailure("system roots") }
        if let extraRootsPEM {
            let store = unsafe SSL_CTX_get_cert_store(context.pointer)
            for root in try Certificate.all(pem: extraRootsPEM, "root certificates") {
                guard unsafe X509_STORE_add_cert(store, root.pointer) == 1 else { throw .lastRefusal("root certificates") }
            }
        }
        let protocols = context.applicationProtocols.wireFormat
        if !protocols.isEmpty {
            let refused = unsafe SSL_CTX_set_alpn_protos(context.pointer, protocols, UInt32(protocols.count))
            guard refused == 0 else { throw .lastFailure("application protocols") }
        }
        return context
    }

    /// For sessions that answer connections with `certificateChainPEM` (the server's own certificate first) and its key (PKCS#8 or a
    /// traditional form, not encrypted). Of what the client offers, the first of `applicationProtocols` is chosen.
    /// Throws when certificate or key cannot be read or do not belong together.
    package static func server(
        certificateChainPEM: [UInt8], privateKeyPEM: [UInt8], applicationProtocols: [String]
    ) throws(SecurityError) -> TLSContext {
        let context = try TLSContext(role: .server, applicationProtocols: applicationProtocols)
        try context.setCommonRules()
        for (index, certificate) in try Certificate.all(pem: certificateChainPEM, "certificate chain").enumerated() {
            let added =
                if index == 0 { unsafe SSL_CTX_use_certificate(context.pointer, certificate.pointer) } else {
                    unsafe openpushd_context_add_chain_certificate(context.pointer, certificate.pointer)
                }
            guard added == 1 else { throw .lastRefusal("certificate chain") }
        }
        let key = try KeyHandle.privateKey(pem: privateKeyPEM, "private key")
        guard unsafe SSL_CTX_use_PrivateKey(context.pointer, key.pointer) == 1,
            unsafe SSL_CTX_check_private_key(context.pointer) == 1
        else { throw .lastRefusal("private key") }
        if !applicationProtocols.isEmpty {
            let argument = unsafe Unmanaged.passUnretained(context.applicationProtocols).toOpaque()
            unsafe SSL_CTX_set_alpn_select_cb(context.pointer, selectApplicationProtocol, argument)
        }
        return context
    }

    /// AES-128 first: it takes the least work per byte, and the hot path is mostly encryption (docs/performance.md).
    private static let cipherSuites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    /// TLS 1.2: authenticated encryption with forward secrecy only.
    private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"

    private func setCommonRules() throws(SecurityError) {
        guard unsafe openpushd_context_require_tls12(pointer) == 1,
            unsafe SSL_CTX_set_ciphersuites(pointer, Self.cipherSuites) == 1,
            unsafe SSL_CTX_set_cipher_list(pointer, Self.ciphers) == 1
        else { throw .lastFailure("TLS rules") }
        // SSL_MODE_RELEASE_BUFFERS stays off: it saved 9 KB of a silent session, and the prototype's sender was slower with it.
        unsafe openpushd_context_set_options(pointer, role == .server ? 1 : 0)
        // Servers resume by tickets, which need no memory; clients make few, long connections.
        unsafe openpushd_context_disable_session_cache(pointer)
    }
}
