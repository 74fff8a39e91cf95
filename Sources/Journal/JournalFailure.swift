import Glibc

/// A system call that failed, or a directory that is not to be used.
package struct JournalFailure: Error, Equatable, CustomStringConvertible {
    /// What went wrong, such as "mkdir: Permission denied".
    package let description: String

    init(_ description: String) { self.description = description }

    init(operation: String, code: Int32) {
        // glibc 2.32 and later keep the text in thread-local storage.
        let text = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        description = "\(operation): \(text)"
    }

    /// The error of the call that failed just now on this thread.
    static func last(_ operation: String) -> JournalFailure { JournalFailure(operation: operation, code: errno) }
}
