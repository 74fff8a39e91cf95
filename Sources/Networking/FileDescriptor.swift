import Glibc

/// An open file descriptor, closed once, when it goes out of scope.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number the system knows it by. It must not be closed or kept by the caller.
    package let rawValue: Int32

    /// Takes ownership: nobody else may close `rawValue`.
    package init(owning rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        // Linux frees the number even when close reports EINTR or EIO: trying again could close somebody else's.
        _ = Glibc.close(rawValue)
    }
}
