import Glibc

/// How the process treats signals. To be called first in `main`: threads inherit the mask of the thread that starts them.
package enum Signals {
    /// Keeps signals from interrupting the process, so that `wait` can take them.
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

    /// Blocks the calling thread until one of the signals comes, and takes it. They must be blocked in every thread.
    ///
    /// For the main thread of a program whose `main` is not `async`: the runtime parks the thread of an `async` one where no
    /// signal is blocked, and the process would end.
    package static func wait(for signals: [Int32]) -> Int32 {
        var set = set(of: signals)
        var number: Int32 = 0
        // It only fails for numbers that are no signals.
        unsafe sigwait(&set, &number)
        return number
    }

    /// Does something each time one signal comes, on a thread of its own, where it may block. It must be blocked in every thread.
    ///
    /// Signals that come while it works make one more turn together.
    package static func onEach(_ signal: Int32, threadName: String, _ work: @escaping @Sendable () -> Void) throws(SystemError) {
        let thread = try SystemThread.start(name: threadName) {
            while true {
                _ = wait(for: [signal])
                work()
            }
        }
        SystemThread.detach(thread)
    }

    private static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        return set
    }
}
