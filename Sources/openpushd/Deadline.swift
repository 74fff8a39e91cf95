import Networking

/// Bounds the wait for a task that cannot be interrupted.
enum Deadline {
    /// Returns when the task has ended, or after `limit` at the latest; the task goes on in that case.
    static func wait(for task: Task<Void, Never>, atMost limit: Duration, on loop: EventLoop) async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let watching = Task {
            await task.value
            end.yield()
        }
        let alarm = Task {
            await loop.sleep(for: limit)
            end.yield()
        }
        for await _ in ends { break }
        watching.cancel()
        alarm.cancel()
    }
}
