import COpenSSL

/// A private key of ES256: ECDSA over P-256 with SHA-256 (RFC 7518 3.4), as Apple's `AuthKey_*.p8` files hold one.
package final class ES256PrivateKey: Sendable {
    private let key: KeyHandle

    /// Reads PKCS#8 (`BEGIN PRIVATE KEY`) or SEC 1 (`BEGIN EC PRIVATE KEY`). Throws for an encrypted key, another kind or another curve.
    package init(pem: [UInt8]) throws(SecurityError) {
        key = try KeyHandle.privateKey(pem: pem, "private key")
        guard key.isP256 else { throw .invalidInput(operation: "private key", reason: "not on the curve P-256") }
    }

    private init(_ key: KeyHandle) { self.key = key }

    /// Makes a new key.
    package static func generate() -> ES256PrivateKey { ES256PrivateKey(.generateP256()) }

    /// Signs `message`; 64 bytes, raw r and s, as JSON Web Tokens want it.
    package func sign(_ message: [UInt8]) throws(SecurityError) -> [UInt8] {
        OpenSSLErrorQueue.clear()
        guard let operation = unsafe EVP_MD_CTX_new() else { throw .lastFailure("ES256 signature") }
        defer { unsafe EVP_MD_CTX_free(operation) }
        guard unsafe EVP_DigestSignInit(operation, nil, EVP_sha256(), nil, key.pointer) == 1 else {
            throw .lastFailure("ES256 signature")
        }
        var encoded = [UInt8](repeating: 0, count: ECDSASignature.largestDERByteCount)
        var count = encoded.count
        guard unsafe EVP_DigestSign(operation, &encoded, &count, message, message.count) == 1,
            let raw = ECDSASignature.raw(derEncoded: encoded[..<count])
        else { throw .lastFailure("ES256 signature") }
        return raw
    }

    /// The key for those who verify.
    package var publicKey: ES256PublicKey { ES256PublicKey(key) }

    /// The key as PKCS#8, not encrypted. Seal it before it is stored.
    package var pem: [UInt8] { key.privatePEM }
}
