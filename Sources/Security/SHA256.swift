import COpenSSL

/// The SHA-256 digest. One of 32 bytes takes near a microsecond: enough for requests, too much for each push.
package enum SHA256 {
    /// Length of a digest, in bytes.
    package static let byteCount = 32

    // Fetched once, for `EVP_sha256()` is fetched again for each digest. OpenSSL never changes it; nobody frees it.
    private nonisolated(unsafe) static let algorithm: OpaquePointer? = unsafe EVP_MD_fetch(nil, "SHA256", nil)

    /// The digest of `bytes`, 32 bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] { digest(bytes.span) }

    /// The digest of `bytes`, 32 bytes.
    package static func digest(_ bytes: Span<UInt8>) -> [UInt8] {
        unsafe bytes.withUnsafeBufferPointer { input in
            unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
                let done = unsafe EVP_Digest(input.baseAddress, input.count, output.baseAddress, nil, algorithm, nil)
                precondition(done == 1, "SHA-256 is missing from OpenSSL")
                count = byteCount
            }
        }
    }
}

/// Comparison whose duration does not depend on where two secrets differ.
package enum ConstantTime {
    /// Whether both hold the same bytes. Different lengths are told at once: a length is not a secret here.
    package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        guard !left.isEmpty else { return true }
        return unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { right in unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0 }
        }
    }
}

/// Random bytes fit for keys, from OpenSSL's generator seeded by the kernel.
package enum RandomBytes {
    /// Makes `count` bytes (0 or more). Stops the process when the generator cannot be seeded: going on would give guessable keys.
    package static func generate(count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard count > 0 else { return }
            precondition(unsafe RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "no randomness")
            initialized = count
        }
    }
}
