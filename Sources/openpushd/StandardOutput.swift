import Glibc

/// Where the daemon says that it is ready. Not buffered: who started it waits for the line.
enum StandardOutput {
    static func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        // The buffer is alive during the call; nobody is left to tell when it fails.
        _ = unsafe Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}
