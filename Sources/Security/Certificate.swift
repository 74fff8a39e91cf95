import COpenSSL

/// Owns an `X509`: one certificate.
///
// @unchecked: OpenSSL counts references atomically and a finished certificate is only read.
@safe final class Certificate: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership: the caller must not free it.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe X509_free(pointer) }

    /// The certificate as PEM.
    var pem: [UInt8] { unsafe PEM.writing { stream in unsafe PEM_write_bio_X509(stream, pointer) } }

    /// Reads every certificate of a PEM text, in order: one or more. Text between them is skipped, a broken one is refused.
    static func all(pem: [UInt8], _ operation: String) throws(SecurityError) -> [Certificate] {
        try unsafe PEM.reading(pem, operation) { (stream) throws(SecurityError) in
            var certificates: [Certificate] = []
            while let next = unsafe PEM_read_bio_X509(stream, nil, refusePassphrase, nil) {
                certificates.append(unsafe Certificate(owning: next))
            }
            // The end of the text shows as "no start line"; any other error is a broken certificate.
            let isAtEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
            guard isAtEnd, !certificates.isEmpty else { throw .lastRefusal(operation) }
            OpenSSLErrorQueue.clear()
            return certificates
        }
    }
}
