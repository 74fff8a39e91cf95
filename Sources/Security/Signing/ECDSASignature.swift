import COpenSSL

/// The two forms of a P-256 signature: DER, which OpenSSL speaks, and the two numbers side by side, which JSON Web Tokens carry.
enum ECDSASignature {
    /// Bytes of r and of s in the raw form.
    private static let numberByteCount = 32
    /// A sequence of two integers of 33 bytes with their heads.
    static let largestDERByteCount = 72

    /// r and s of 32 bytes each; nil when the text is no signature or a number is too large.
    static func raw(derEncoded bytes: ArraySlice<UInt8>) -> [UInt8]? {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            guard let signature = unsafe d2i_ECDSA_SIG(nil, &position, buffer.count) else { return nil }
            defer { unsafe ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: numberByteCount * 2)
            let isWritten = unsafe raw.withUnsafeMutableBufferPointer { output in
                guard let r = output.baseAddress else { return false }
                let size = Int32(numberByteCount)
                return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), r, size) == size
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), r + numberByteCount, size) == size
            }
            return isWritten ? raw : nil
        }
    }

    /// The DER form; nil unless there are exactly 64 bytes.
    static func derEncoded(raw: [UInt8]) -> [UInt8]? {
        guard raw.count == numberByteCount * 2, let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let size = Int32(numberByteCount)
        let isSet = unsafe raw.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return false }
            let r = unsafe BN_bin2bn(start, size, nil)
            let s = unsafe BN_bin2bn(start + numberByteCount, size, nil)
            // On success the signature owns both numbers.
            if unsafe ECDSA_SIG_set0(signature, r, s) == 1 { return true }
            unsafe BN_free(r)
            unsafe BN_free(s)
            return false
        }
        guard isSet else { return nil }
        return unsafe [UInt8](unsafeUninitializedCapacity: largestDERByteCount) { buffer, count in
            var position = buffer.baseAddress
            unsafe count = max(0, Int(i2d_ECDSA_SIG(signature, &position)))
        }
    }
}
