import CLinux
import Glibc
import Synchronization

/// Another program, running as a process and as the leader of a process group of its own, so that a signal reaches what it started too.
///
/// It inherits no signal mask, no ignored signal, and no descriptor but the three it is given. Whoever starts it must end it: it
/// outlives this process otherwise.
package final class ChildProcess: Sendable {
    /// What to run.
    package struct Command: Sendable {
        /// The program, by path or by a name that `PATH` knows, and its arguments.
        package var arguments: [String]
        /// All variables it sees.
        package var environment: [String: String]
        /// Files that get its standard output and standard error, emptied first; nil throws it away. Both may be the same.
        package var outputPath: String?
        package var errorPath: String?
        /// Where it runs; nil for the caller's own directory.
        package var directory: String?

        /// - Parameter arguments: the program first.
        package init(
            _ arguments: [String], environment: [String: String], outputPath: String? = nil, errorPath: String? = nil,
            directory: String? = nil
        ) {
            precondition(!arguments.isEmpty, "a command without a program")
            self.arguments = arguments
            self.environment = environment
            self.outputPath = outputPath
            self.errorPath = errorPath
            self.directory = directory
        }
    }

    /// How a process ended.
    package enum Exit: Hashable, Sendable {
        case status(Int32)
        case signal(Int32)
    }

    private struct State {
        var exit: Exit?
        var waiters: [CheckedContinuation<Exit, Never>] = []
    }

    package let processID: Int32
    private let state = Mutex(State())

    private init(processID: Int32) { self.processID = processID }

    /// Starts a program. Throws when it cannot be found or run.
    package static func start(_ command: Command) throws(SystemError) -> ChildProcess {
        let child = ChildProcess(processID: try Spawning.spawn(command))
        let thread = try SystemThread.start(name: "child") { child.waitForEnd() }
        SystemThread.detach(thread)
        return child
    }

    /// Waits for the end.
    package func wait() async -> Exit {
        await withCheckedContinuation { continuation in
            let exit = state.withLock { state -> Exit? in
                if state.exit == nil { state.waiters.append(continuation) }
                return state.exit
            }
            if let exit { continuation.resume(returning: exit) }
        }
    }

    /// Whether it has not ended.
    package var isRunning: Bool { state.withLock { $0.exit == nil } }

    /// Sends a signal to the process and all of its group; nothing happens once it has ended.
    package func signal(_ number: Int32) {
        state.withLock { state in
            // Until it is reaped, under this lock, its number belongs to nobody else.
            if state.exit == nil { _ = kill(-processID, number) }
        }
    }

    private func waitForEnd() {
        var information = unsafe siginfo_t()
        // Left to be reaped under the lock.
        while unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        let (exit, waiters) = state.withLock { state in
            var status: Int32 = 0
            unsafe waitpid(processID, &status, 0)
            let exit = Exit(waitStatus: status)
            state.exit = exit
            defer { state.waiters = [] }
            return (exit, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: exit) }
    }
}

extension ChildProcess.Exit: CustomStringConvertible {
    /// As wait(2) encodes it: the signal in the lowest 7 bits, the status in the second byte.
    fileprivate init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .status((waitStatus >> 8) & 0xFF) : .signal(signal)
    }

    package var description: String {
        switch self {
        case .status(let status): "ended with status \(status)"
        case .signal(let number): "was ended by signal \(number)"
        }
    }
}

/// The call posix_spawn with all it needs.
private enum Spawning {
    static func spawn(_ command: ChildProcess.Command) throws(SystemError) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        // The initialisers and setters fail only when memory runs out or for numbers that are no descriptors.
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let creation = O_WRONLY | O_CREAT | O_TRUNC
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, command.outputPath ?? "/dev/null", creation, 0o600)
        if let path = command.errorPath, path == command.outputPath {
            unsafe posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, command.errorPath ?? "/dev/null", creation, 0o600)
        }
        if let directory = command.directory { unsafe posix_spawn_file_actions_addchdir_np(&actions, directory) }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

        var processID: pid_t = 0
        let variables = command.environment.map { "\($0.key)=\($0.value)" }.sorted()
        let result = unsafe withStrings(command.arguments) { arguments in
            unsafe withStrings(variables) { environment in
                unsafe posix_spawnp(&processID, command.arguments[0], &actions, &attributes, arguments, environment)
            }
        }
        guard result == 0 else { throw SystemError(operation: "start \(command.arguments[0])", code: result) }
        return processID
    }

    /// Lends a list of C strings that ends with a null pointer.
    private static func withStrings<Value>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Value
    ) -> Value {
        var pointers = unsafe strings.map { unsafe strdup($0) }
        defer { unsafe pointers.forEach { unsafe free($0) } }
        unsafe pointers.append(nil)
        return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("a list that ends with null is not empty") }
            return unsafe body(start)
        }
    }
}
