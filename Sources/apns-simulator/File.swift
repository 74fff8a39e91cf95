import Glibc

/// Small files, read and written whole.
enum File {
    /// A file that could not be read or written.
    struct Failure: Error, CustomStringConvertible {
        let path: String
        let code: Int32
        // The text of an errno is static, or valid until this thread asks for the next one.
        var description: String { unsafe "\(path): \(String(cString: strerror(code)))" }
    }
    /// Largest file read, in bytes: keys and certificates have a few thousand.
    static let byteCountLimit = 1 << 20

    // The path is lent for the time of the call, here and below.
    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    static func read(_ path: String) throws(Failure) -> [UInt8] {
        // As above.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(path: path, code: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while bytes.count < byteCountLimit {
            // At most as many bytes as the chunk has.
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { throw Failure(path: path, code: errno) }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(Failure) {
        // As above.
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failure(path: path, code: errno) }
        defer { close(descriptor) }
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure(path: path, code: errno) }
    }
}

/// Standard output and standard error, without buffers.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        // Nobody is left to tell when this fails.
        _ = unsafe Glibc.write(rawValue, bytes, bytes.count)
    }
}

/// The environment of the process.
enum EnvironmentVariables {
    /// Those the simulator reads, by name.
    static var all: [String: String] {
        var variables: [String: String] = [:]
        for name in [
            "LISTEN", "SANDBOX_LISTEN", "GOOGLE_LISTEN", "SERVICE_ACCOUNT", "CHANNELS_LISTEN", "SANDBOX_CHANNELS_LISTEN",
            "CONTROL_LISTEN", "CA_FILE", "PUBLIC_KEY",
            "EVENT_LOOPS", "MAX_STREAMS", "LATENCY", "NO_RECORD",
        ] {
            // The value is copied before anything can change the environment.
            if let value = unsafe getenv("APNS_SIMULATOR_\(name)") {
                // As above.
                variables["APNS_SIMULATOR_\(name)"] = unsafe String(cString: value)
            }
        }
        return variables
    }
}
