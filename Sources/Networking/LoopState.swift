/// What one event loop owns; touched on the loop's thread only.
final class LoopState {
    /// Most jobs and actions run in one turn, so that a chain of tasks cannot keep the loop from its descriptors.
    static let workPerTurn = 1_024

    let poller: Poller
    var timers = TimerHeap()
    let readBuffer = ReadBuffer()
    /// Work of this turn; `nextWork` is the index of the first that has not run.
    private var work: [Work] = []
    private var nextWork = 0
    /// The array exchanged with the inbox, kept for its storage.
    private var incoming: [Work] = []
    private var turnEndActions: [@Sendable () -> Void] = []

    init(poller: Poller) {
        self.poller = poller
    }

    /// True when the loop must not wait for descriptors.
    var hasImmediateWork: Bool { nextWork < work.count || !turnEndActions.isEmpty }

    var hasTimers: Bool { timers.count > 0 }

    func add(_ item: Work) {
        work.append(item)
    }

    func addAtTurnEnd(_ action: @escaping @Sendable () -> Void) {
        turnEndActions.append(action)
    }

    /// Moves what other threads have left into this turn.
    func collect(_ take: (inout [Work]) -> Inbox.Phase) -> Inbox.Phase {
        let phase = take(&incoming)
        work.append(contentsOf: incoming)
        incoming.removeAll(keepingCapacity: true)
        return phase
    }

    /// Milliseconds epoll may wait for the first timer: rounded up, so that a timer never fires early; -1 without timers.
    func waitMilliseconds(now: UInt64) -> Int32 {
        guard let deadline = timers.nextDeadline else { return -1 }
        guard deadline > now else { return 0 }
        return Int32(clamping: (deadline - now + 999_999) / 1_000_000)
    }

    func fireTimers(now: UInt64) {
        let sequence = timers.nextSequence
        while let action = timers.takeDue(at: now, scheduledBefore: sequence) { action() }
    }

    /// Runs work, including what it adds meanwhile, up to the limit of a turn.
    func runWork(on executor: UnownedSerialExecutor, _ task: UnownedTaskExecutor) {
        let limit = nextWork + LoopState.workPerTurn
        while nextWork < min(limit, work.count) {
            let item = work[nextWork]
            nextWork += 1
            switch item {
            case .job(let job): unsafe job.runSynchronously(isolatedTo: executor, taskExecutor: task)
            case .action(let action): action()
            }
        }
        if nextWork == work.count {
            work.removeAll(keepingCapacity: true)
            nextWork = 0
        } else if nextWork > work.count / 2 {
            // Each item is moved at most once for every item that has run: constant cost per item.
            work.removeFirst(nextWork)
            nextWork = 0
        }
    }

    /// Runs the actions registered for the end of this turn; those they register run at the end of the next.
    func runTurnEndActions() {
        guard !turnEndActions.isEmpty else { return }
        let actions = turnEndActions
        turnEndActions = []
        for action in actions { action() }
    }

    /// Lets go of all handlers and timers when the loop ends, and wakes those who sleep.
    func release() {
        poller.removeAll()
        for action in timers.takeAllThatFireOnStop() { action() }
    }
}
