import Glibc

/// A system call that failed: which one, and with which `errno`.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call that failed, such as "accept".
    package let operation: String
    /// The `errno` it left, such as 24 (`EMFILE`).
    package let code: Int32

    package init(operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The operation and the system's words for the code: "accept: Too many open files".
    package var description: String {
        // glibc 2.32 and later keep the text in thread-local storage.
        guard let text = unsafe strerror(code) else { return "\(operation): error \(code)" }
        return unsafe "\(operation): \(String(cString: text))"
    }

    /// The error of the call that failed just now on this thread.
    static func last(_ operation: String) -> SystemError {
        SystemError(operation: operation, code: errno)
    }

    /// Passes a result through unless it is -1.
    @discardableResult
    static func check(_ operation: String, _ result: Int32) throws(SystemError) -> Int32 {
        guard result != -1 else { throw .last(operation) }
        return result
    }
}
