import Glibc

/// A small file that holds a key, a certificate or a password.
package enum CredentialFile {
    /// Reads all of `path`, a file or a pipe. Throws with the system's reason when it cannot be read, or when it holds more than 4 MiB.
    package static func read(path: String) throws(SecurityError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw lastFailure() }
        defer { close(descriptor) }
        var contents: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw lastFailure() }
            guard count > 0 else { return contents }
            contents += chunk[..<count]
            guard contents.count <= PEM.byteCount else {
                throw .invalidInput(operation: "file", reason: "longer than \(PEM.byteCount) bytes")
            }
        }
    }

    private static func lastFailure() -> SecurityError {
        .invalidInput(operation: "file", reason: unsafe String(cString: strerror(errno)))
    }
}
