import COpenSSL

/// OpenSSL as a whole.
package enum OpenSSLLibrary {
    /// Keeps what OpenSSL holds until the process is gone; to be called before anything else of this module.
    ///
    /// Without it, OpenSSL frees everything within `exit`, under the hands of the threads that still use it: a daemon that was told to end
    /// while it read certificates crashed instead (found by the thread sanitizer's run of the tests).
    package static func keepUntilExit() {
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
