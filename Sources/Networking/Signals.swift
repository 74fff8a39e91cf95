import CLinux
import Glibc

/// How the process treats signals. To be called first in `main`: threads inherit the mask of the thread that starts them.
package enum Signals {
    /// Keeps signals from interrupting the process, so that a `SignalSource` can take them.
    package static func block(_ signals: [Int32]) throws(SystemError) {
        var set = set(of: signals)
        let result = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        guard result == 0 else { throw SystemError(operation: "pthread_sigmask", code: result) }
    }

    /// Makes writing to a broken pipe or connection an error (`EPIPE`) instead of the end of the process.
    ///
    /// Streams never raise SIGPIPE; this is for standard output and for what libraries write to.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        return set
    }
}

/// Takes blocked signals as events of a loop.
package final class SignalSource: ReadinessHandler {
    private let descriptor: FileDescriptor
    private let loop: EventLoop
    private let handler: @Sendable (Int32) -> Void

    /// - Parameter signals: such as `SIGTERM`; they must be blocked in every thread.
    /// - Parameter handler: gets the signal's number, on the loop's thread.
    package init(_ signals: [Int32], loop: EventLoop, handler: @escaping @Sendable (Int32) -> Void) throws(SystemError) {
        var set = Signals.set(of: signals)
        let result = unsafe signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        descriptor = FileDescriptor(owning: try SystemError.check("signalfd", result))
        self.loop = loop
        self.handler = handler
    }

    /// Begins to take signals; on the loop's thread. The loop holds the source until `stop`.
    package func start() throws(SystemError) {
        try loop.watch(descriptor.rawValue, for: .readable, handler: self)
    }

    /// Ends it; on the loop's thread. The signals stay blocked.
    package func stop() {
        loop.unwatch(descriptor.rawValue)
    }

    package func ready(_ readiness: Readiness) {
        var information = signalfd_siginfo()
        // One read, one signal: the descriptor stays readable while there are more.
        guard unsafe read(descriptor.rawValue, &information, MemoryLayout<signalfd_siginfo>.size) > 0 else { return }
        handler(Int32(information.ssi_signo))
    }
}
