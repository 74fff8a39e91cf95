import CLinux
import Glibc

/// A thread that runs one closure.
enum SystemThread {
    /// Carries the closure to the new thread.
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread; the caller must join or detach it. It inherits the caller's signal mask.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) -> pthread_t {
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(Body(body))
        let result = unsafe pthread_create(&thread, nil, threadMain, argument.toOpaque())
        guard result == 0 else {
            unsafe argument.release()
            throw SystemError(operation: "pthread_create", code: result)
        }
        // The kernel takes 15 bytes and a zero; a refused name is only missed in tools.
        _ = unsafe pthread_setname_np(thread, String(decoding: name.utf8.prefix(15), as: UTF8.self))
        return thread
    }

    static func join(_ thread: pthread_t) {
        let result = pthread_join(thread, nil)
        precondition(result == 0, "pthread_join failed")
    }

    static func detach(_ thread: pthread_t) {
        pthread_detach(thread)
    }

    private static let threadMain: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
        guard let argument = unsafe argument else { preconditionFailure("a thread started without its body") }
        unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
    }
}
