import COpenSSL

/// A public key of ES256: ECDSA over P-256 with SHA-256 (RFC 7518 3.4).
package final class ES256PublicKey: Sendable {
    private let key: KeyHandle

    /// Reads `BEGIN PUBLIC KEY`; throws for anything but a key on P-256.
    package init(pem: [UInt8]) throws(SecurityError) {
        key = try KeyHandle.publicKey(pem: pem, "public key")
        guard key.isP256 else { throw .invalidInput(operation: "public key", reason: "not on the curve P-256") }
    }

    init(_ key: KeyHandle) { self.key = key }

    /// Whether `signature`, raw r and s of 32 bytes each, is this key's over `message`. False for a signature in any other form.
    package func verifies(signature: [UInt8], message: [UInt8]) -> Bool {
        guard let encoded = ECDSASignature.derEncoded(raw: signature) else { return false }
        guard let operation = unsafe EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
        defer { unsafe EVP_MD_CTX_free(operation) }
        OpenSSLErrorQueue.clear()
        guard unsafe EVP_DigestVerifyInit(operation, nil, EVP_sha256(), nil, key.pointer) == 1 else { return false }
        let result = unsafe EVP_DigestVerify(operation, encoded, encoded.count, message, message.count)
        OpenSSLErrorQueue.clear()
        return result == 1
    }

    /// The key as `BEGIN PUBLIC KEY`.
    package var pem: [UInt8] { key.publicPEM }
}
