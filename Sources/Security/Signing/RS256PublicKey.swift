import COpenSSL

/// A public key of RS256: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 3.3).
package final class RS256PublicKey: Sendable {
    private let key: KeyHandle

    /// Reads `BEGIN PUBLIC KEY`; throws for anything but an RSA key of at least 2,048 bits.
    package init(pem: [UInt8]) throws(SecurityError) {
        key = try KeyHandle.publicKey(pem: pem, "public key")
        try Self.check(key, "public key")
    }

    init(_ key: KeyHandle) { self.key = key }

    static func check(_ key: KeyHandle, _ operation: String) throws(SecurityError) {
        guard let bitCount = key.rsaBitCount else { throw .invalidInput(operation: operation, reason: "not an RSA key") }
        guard bitCount >= RS256PrivateKey.leastBitCount else {
            throw .invalidInput(operation: operation, reason: "shorter than \(RS256PrivateKey.leastBitCount) bits")
        }
    }

    /// Whether `signature` is this key's over `message`.
    package func verifies(signature: [UInt8], message: [UInt8]) -> Bool {
        guard let operation = unsafe EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
        defer { unsafe EVP_MD_CTX_free(operation) }
        OpenSSLErrorQueue.clear()
        guard unsafe EVP_DigestVerifyInit(operation, nil, EVP_sha256(), nil, key.pointer) == 1 else { return false }
        let result = unsafe EVP_DigestVerify(operation, signature, signature.count, message, message.count)
        OpenSSLErrorQueue.clear()
        return result == 1
    }

    /// The key as `BEGIN PUBLIC KEY`.
    package var pem: [UInt8] { key.publicPEM }
}
