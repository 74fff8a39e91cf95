import Networking

extension EventLoop {
    /// Runs something on the loop's thread and waits for it.
    func run<Value: Sendable>(_ action: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            perform { continuation.resume(returning: action()) }
        }
    }
}
