/// Something to run once on a loop's thread.
enum Work: Sendable {
    /// A piece of a task whose actor is pinned to the loop.
    case job(UnownedJob)
    case action(@Sendable () -> Void)
}

/// Where other threads leave work for a loop.
///
/// It holds at most one job of each runnable task, so it is bounded by the number of tasks.
struct Inbox {
    enum Phase {
        case running
        /// `stop` was called: the loop runs what there is and then ends.
        case stopping
        /// No thread serves the loop.
        case ended
    }

    /// What the thread that left work has to do so that it runs.
    enum Delivery {
        /// The loop will look into the inbox before it waits.
        case nothing
        /// The loop may be waiting in epoll.
        case wake
        /// The loop has ended: a new thread must serve the straggler.
        case restart
    }

    var phase = Phase.running
    private(set) var work: [Work] = []
    /// False from just before the loop waits until it looks here again, or until somebody has woken it.
    private var isAwake = true

    mutating func add(_ item: Work) -> Delivery {
        work.append(item)
        if phase == .ended {
            phase = .stopping
            return .restart
        }
        return wakeIfWaiting()
    }

    /// Asks a running loop to end.
    mutating func requestStop() -> Delivery {
        guard phase == .running else { return .nothing }
        phase = .stopping
        return wakeIfWaiting()
    }

    private mutating func wakeIfWaiting() -> Delivery {
        guard !isAwake else { return .nothing }
        isAwake = true
        return .wake
    }

    /// Called by the loop before it waits; false when it must not wait.
    mutating func mayWait() -> Bool {
        guard work.isEmpty, phase == .running else { return false }
        isAwake = false
        return true
    }

    /// Exchanges the work left here for an empty array whose storage is used next.
    mutating func take(into empty: inout [Work]) -> Phase {
        isAwake = true
        swap(&work, &empty)
        return phase
    }

    /// Ends a stopping loop unless more work has come; true when it has ended.
    mutating func endIfEmpty() -> Bool {
        guard phase == .stopping, work.isEmpty else { return false }
        phase = .ended
        return true
    }
}
