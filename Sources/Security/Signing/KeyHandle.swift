import COpenSSL

/// Owns an `EVP_PKEY`: a private key, or a public one.
///
// @unchecked: OpenSSL counts references atomically and does not change a key that is only used, so threads may share it.
@safe final class KeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership: the caller must not free it.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Reads a private key in PKCS#8 or a traditional form, of any kind. An encrypted one is refused.
    static func privateKey(pem: [UInt8], _ operation: String) throws(SecurityError) -> KeyHandle {
        try unsafe PEM.reading(pem, operation) { (stream) throws(SecurityError) in
            guard let key = unsafe PEM_read_bio_PrivateKey(stream, nil, refusePassphrase, nil) else {
                throw .lastRefusal(operation)
            }
            return unsafe KeyHandle(owning: key)
        }
    }

    /// Reads a public key (`BEGIN PUBLIC KEY`) of any kind.
    static func publicKey(pem: [UInt8], _ operation: String) throws(SecurityError) -> KeyHandle {
        try unsafe PEM.reading(pem, operation) { (stream) throws(SecurityError) in
            guard let key = unsafe PEM_read_bio_PUBKEY(stream, nil, refusePassphrase, nil) else {
                throw .lastRefusal(operation)
            }
            return unsafe KeyHandle(owning: key)
        }
    }

    /// Makes a key pair on the curve P-256. Stops the process when OpenSSL cannot: it has no randomness or no memory then.
    static func generateP256() -> KeyHandle {
        guard let key = unsafe openpushd_generate_p256_key() else { preconditionFailure("no P-256 key from OpenSSL") }
        return unsafe KeyHandle(owning: key)
    }

    /// Whether this is a key on the curve P-256, the only one ES256 knows.
    var isP256: Bool {
        guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        let known = unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &length)
        return known == 1 && name.prefix(length).map { UInt8(bitPattern: $0) } == Array("prime256v1".utf8)
    }

    /// Makes an RSA key pair. Stops the process when OpenSSL cannot: it has no randomness or no memory then.
    static func generateRSA(bitCount: UInt32) -> KeyHandle {
        guard let key = unsafe openpushd_generate_rsa_key(bitCount) else { preconditionFailure("no RSA key from OpenSSL") }
        return unsafe KeyHandle(owning: key)
    }

    /// Bits of the modulus of an RSA key; nil for another kind.
    var rsaBitCount: Int? {
        unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA ? Int(EVP_PKEY_get_bits(pointer)) : nil
    }

    /// The private key as PKCS#8.
    var privatePEM: [UInt8] {
        unsafe PEM.writing { stream in unsafe PEM_write_bio_PKCS8PrivateKey(stream, pointer, nil, nil, 0, nil, nil) }
    }

    /// The public key alone.
    var publicPEM: [UInt8] { unsafe PEM.writing { stream in unsafe PEM_write_bio_PUBKEY(stream, pointer) } }
}
