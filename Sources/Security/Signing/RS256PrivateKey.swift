import COpenSSL

/// A private key of RS256: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 3.3), as Google's service accounts have one.
package final class RS256PrivateKey: Sendable {
    /// Least bits of a key. Source: RFC 7518 3.3.
    package static let leastBitCount = 2048

    private let key: KeyHandle

    /// Reads PKCS#8 (`BEGIN PRIVATE KEY`) or PKCS#1 (`BEGIN RSA PRIVATE KEY`). Throws for an encrypted key, another kind, or a short one.
    package init(pem: [UInt8]) throws(SecurityError) {
        key = try KeyHandle.privateKey(pem: pem, "private key")
        try RS256PublicKey.check(key, "private key")
    }

    private init(_ key: KeyHandle) { self.key = key }

    /// Makes a new key of 2,048 bits. Takes a good part of a second.
    package static func generate() -> RS256PrivateKey { RS256PrivateKey(.generateRSA(bitCount: UInt32(leastBitCount))) }

    /// Signs `message`; as many bytes as the key has.
    package func sign(_ message: [UInt8]) throws(SecurityError) -> [UInt8] {
        OpenSSLErrorQueue.clear()
        guard let operation = unsafe EVP_MD_CTX_new() else { throw .lastFailure("RS256 signature") }
        defer { unsafe EVP_MD_CTX_free(operation) }
        guard unsafe EVP_DigestSignInit(operation, nil, EVP_sha256(), nil, key.pointer) == 1 else {
            throw .lastFailure("RS256 signature")
        }
        var signature = unsafe [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key.pointer)))
        var count = signature.count
        guard unsafe EVP_DigestSign(operation, &signature, &count, message, message.count) == 1 else {
            throw .lastFailure("RS256 signature")
        }
        return Array(signature.prefix(count))
    }

    /// The key for those who verify.
    package var publicKey: RS256PublicKey { RS256PublicKey(key) }

    /// The key as PKCS#8, not encrypted. Seal it before it is stored.
    package var pem: [UInt8] { key.privatePEM }
}
