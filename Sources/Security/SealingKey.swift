import COpenSSL

/// A key that seals secrets before they are stored: AES-256-GCM with a random nonce.
///
/// A sealed text is one version byte (1), the nonce, the ciphertext and the tag. Random nonces of 96 bits are safe for far more
/// secrets under one key (2^32; NIST SP 800-38D 8.3) than a gateway ever holds.
package struct SealingKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Length of the key, in bytes.
    package static let byteCount = 32
    private static let version: UInt8 = 1
    private static let nonceByteCount = 12
    private static let tagByteCount = 16
    /// Bytes a sealed text has more than its plaintext.
    package static let overheadByteCount = 1 + nonceByteCount + tagByteCount

    private let bytes: [UInt8]

    /// Takes 32 bytes; nil for any other number.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    package var description: String { "<sealing key>" }
    /// Has no children, so that `dump` does not show the key.
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Seals `plaintext`. `context` says what it belongs to (such as table, row and column); it is not stored, and opening needs the
    /// same, so that a sealed text moved elsewhere does not open.
    package func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8] {
        let nonce = RandomBytes.generate(count: Self.nonceByteCount)
        guard let cipher = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("no memory for a cipher") }
        defer { unsafe EVP_CIPHER_CTX_free(cipher) }
        var text = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: Self.tagByteCount)
        var count: Int32 = 0
        let isSealed =
            unsafe EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nil, bytes, nonce) == 1
            && EVP_EncryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1
            && (plaintext.isEmpty || EVP_EncryptUpdate(cipher, &text, &count, plaintext, Int32(plaintext.count)) == 1)
            && EVP_EncryptFinal_ex(cipher, nil, &count) == 1
            && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagByteCount), &tag) == 1
        precondition(isSealed, "AES-256-GCM is missing from OpenSSL")
        return [Self.version] + nonce + text + tag
    }

    /// Opens what `seal` made with this key and the same `context`; throws for anything else without saying which part is wrong.
    package func open(_ sealed: [UInt8], context: [UInt8]) throws(SecurityError) -> [UInt8] {
        let refusal = SecurityError.invalidInput(operation: "sealed secret", reason: "wrong master key, wrong place or damaged")
        guard sealed.count >= Self.overheadByteCount, sealed[0] == Self.version else { throw refusal }
        guard let cipher = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("no memory for a cipher") }
        defer { unsafe EVP_CIPHER_CTX_free(cipher) }
        let nonce = Array(sealed[1..<1 + Self.nonceByteCount])
        let text = Array(sealed[(1 + Self.nonceByteCount)..<(sealed.count - Self.tagByteCount)])
        var tag = Array(sealed.suffix(Self.tagByteCount))
        var plaintext = [UInt8](repeating: 0, count: text.count)
        var count: Int32 = 0
        let isOpen =
            unsafe EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nil, bytes, nonce) == 1
            && EVP_DecryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1
            && (text.isEmpty || EVP_DecryptUpdate(cipher, &plaintext, &count, text, Int32(text.count)) == 1)
            && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagByteCount), &tag) == 1
            && EVP_DecryptFinal_ex(cipher, nil, &count) == 1
        OpenSSLErrorQueue.clear()
        guard isOpen else { throw refusal }
        return plaintext
    }
}
