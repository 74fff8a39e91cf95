import COpenSSL

/// PEM texts in and out of OpenSSL, through memory.
enum PEM {
    /// Largest text taken, in bytes. Source: Debian's bundle of all public roots has 0.2 MB; this leaves room.
    static let byteCount = 4 << 20

    /// Lends `text` to OpenSSL as a stream that is read from its beginning.
    static func reading<Value>(
        _ text: [UInt8], _ operation: String, _ body: (OpaquePointer) throws(SecurityError) -> Value
    ) throws(SecurityError) -> Value {
        guard text.count <= byteCount else { throw .invalidInput(operation: operation, reason: "longer than \(byteCount) bytes") }
        OpenSSLErrorQueue.clear()
        guard let stream = unsafe BIO_new(BIO_s_mem()) else { throw .lastFailure(operation) }
        defer { unsafe BIO_free(stream) }
        let written = unsafe text.withUnsafeBytes { bytes in unsafe BIO_write(stream, bytes.baseAddress, Int32(bytes.count)) }
        guard text.isEmpty || Int(written) == text.count else { throw .lastFailure(operation) }
        return try unsafe body(stream)
    }

    /// Collects what `body` writes to a stream; `body` returns 1 when it succeeded, as OpenSSL does.
    static func writing(_ body: (OpaquePointer) -> Int32) -> [UInt8] {
        guard let stream = unsafe BIO_new(BIO_s_mem()) else { preconditionFailure("no memory for a PEM text") }
        defer { unsafe BIO_free(stream) }
        precondition(unsafe body(stream) == 1, "a valid key or certificate has a PEM form")
        var bytes: UnsafePointer<UInt8>?
        let count = unsafe openpushd_memory_bio_bytes(stream, &bytes)
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}

/// Stands in for OpenSSL's default, which would ask for a passphrase on the terminal: an encrypted key is refused.
func refusePassphrase(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32, _ userData: UnsafeMutableRawPointer?
) -> Int32 { -1 }
