import CLinux
import Glibc
import Synchronization

/// A thread that waits for descriptors and timers and runs the jobs of the actors pinned to it.
///
/// An actor is pinned by returning the loop from `unownedExecutor`, a task by preferring the loop. The actor's `ready`, timer and
/// end-of-turn callbacks run on the same thread and enter its isolation with `assumeIsolated`, so everything a connection owns is
/// touched by one thread and the compiler holds the rest of the program to it.
///
/// A turn is: wait, hand events to their handlers, fire timers, run jobs (bounded), run the actions for the end of the turn.
/// Nothing that runs on a loop may block.
///
/// A task that does not prefer the loop goes to the end of its queue even where an actor of the loop only calls
/// `withCheckedContinuation`: others may run before the body does. What the wait depends on has to be looked at in the body.
package final class EventLoop: SerialExecutor, TaskExecutor, Sendable {
    /// Name of the thread, for tools such as `top`; the system shows the first 15 bytes.
    package let name: String

    private let inbox = Mutex(Inbox())
    private let wakeUp: FileDescriptor
    /// The thread serving the loop, 0 for none.
    private let servingThread = Atomic<UInt>(0)
    /// The thread to join, until it has been joined.
    private let startedThread = Mutex<pthread_t?>(nil)
    // Confined to the serving thread: `confined` is the only way to it, and it traps on every other thread.
    nonisolated(unsafe) private let state: LoopState

    /// Starts a loop on a thread of its own. The loop lives until `stop`.
    package static func start(name: String) throws(SystemError) -> EventLoop {
        let loop = try EventLoop(name: name)
        let thread = try SystemThread.start(name: name) { loop.run() }
        loop.startedThread.withLock { $0 = thread }
        return loop
    }

    private init(name: String) throws(SystemError) {
        self.name = name
        wakeUp = FileDescriptor(owning: try SystemError.check("eventfd", eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))))
        let poller = try Poller()
        try poller.addWakeUp(wakeUp.rawValue)
        unsafe state = LoopState(poller: poller)
    }

    /// Ends the loop and waits for its thread; a second call waits too. Must not be called on the loop.
    ///
    /// The loop first runs its jobs until none is left. Handlers are released without a call, `sleep` returns early, other timers are
    /// dropped. A job that is enqueued after that is not lost: a short-lived thread takes the loop's place for it.
    package func stop() {
        precondition(!isCurrent, "a loop cannot wait for its own end")
        deliver(inbox.withLock { $0.requestStop() })
        startedThread.withLock { thread in
            if let running = thread { SystemThread.join(running) }
            thread = nil
        }
    }

    /// Whether the caller runs on the loop's thread.
    package var isCurrent: Bool {
        // Only a thread's own store can make it see its own identity, so no ordering is needed.
        servingThread.load(ordering: .relaxed) == UInt(pthread_self())
    }
}

// MARK: - Executor

extension EventLoop {
    package func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    package func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        unsafe UnownedTaskExecutor(ordinary: self)
    }

    /// Lets `assumeIsolated` succeed in callbacks of the loop, which are not part of a task.
    package func checkIsolated() {
        precondition(isCurrent, "not on event loop \(name)")
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Whether `stop` has not been called.
    var isRunning: Bool { inbox.withLock { $0.phase } == .running }

    /// Runs an action on the loop, from any thread: soon, never during the call.
    package func perform(_ action: @escaping @Sendable () -> Void) {
        submit(.action(action))
    }

    private func submit(_ work: Work) {
        if isCurrent {
            confined.add(work)
        } else {
            deliver(inbox.withLock { $0.add(work) })
        }
    }

    private func deliver(_ delivery: Inbox.Delivery) {
        switch delivery {
        case .nothing: break
        case .wake: wake()
        case .restart: serveStragglers()
        }
    }

    private func wake() {
        var one: UInt64 = 1
        // It can only fail with a full counter, and then the loop has been woken 2^64 times.
        _ = unsafe write(wakeUp.rawValue, &one, MemoryLayout<UInt64>.size)
    }

    private func serveStragglers() {
        do {
            let thread = try SystemThread.start(name: name) { self.run() }
            SystemThread.detach(thread)
        } catch {
            preconditionFailure("event loop \(name) has stopped and no thread runs its last jobs: \(error)")
        }
    }
}

// MARK: - On the loop's thread

extension EventLoop {
    /// The loop's state, on its thread; traps elsewhere.
    private var confined: LoopState {
        checkIsolated()
        return unsafe state
    }

    /// Calls `handler` while `descriptor` is ready for `interest`, and when it fails. On the loop's thread.
    ///
    /// The loop holds the handler until `unwatch`, which must come before the descriptor is closed.
    /// - Parameter shared: several loops watch one listener, and a connection should wake only one of them.
    package func watch(
        _ descriptor: Int32, for interest: Readiness, shared: Bool = false, handler: any ReadinessHandler
    ) throws(SystemError) {
        try confined.poller.watch(descriptor, for: interest, shared: shared, handler: handler)
    }

    /// Changes what a watched descriptor is watched for; an empty set pauses it. On the loop's thread.
    package func change(_ descriptor: Int32, to interest: Readiness) {
        do {
            try confined.poller.change(descriptor, to: interest)
        } catch {
            preconditionFailure("descriptor \(descriptor) was closed while it was watched: \(error)")
        }
    }

    /// Releases the handler of a descriptor; one that is not watched is ignored. On the loop's thread.
    package func unwatch(_ descriptor: Int32) {
        confined.poller.unwatch(descriptor)
    }

    /// Runs an action once, not earlier than after `delay` (0 to 31 years, millisecond precision). On the loop's thread.
    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerID {
        confined.timers.schedule(at: deadline(after: delay), firesOnStop: false, action)
    }

    /// As `schedule`, for an action somebody waits for: it also runs, early, when the loop stops.
    func scheduleWaiter(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerID {
        confined.timers.schedule(at: deadline(after: delay), firesOnStop: true, action)
    }

    /// Forgets a timer; one that has fired is ignored. On the loop's thread.
    package func cancel(_ timer: TimerID) {
        confined.timers.cancel(timer)
    }

    /// Runs an action once, when the events and jobs of this turn are done: the place to send what a turn has gathered.
    /// On the loop's thread. An action added by such an action runs at the end of the next turn.
    package func afterTurn(_ action: @escaping @Sendable () -> Void) {
        confined.addAtTurnEnd(action)
    }

    /// The buffer the loop's streams receive into. On the loop's thread.
    var readBuffer: ReadBuffer { confined.readBuffer }

    private func deadline(after delay: Duration) -> UInt64 {
        MonotonicClock.nanoseconds + MonotonicClock.nanoseconds(of: delay)
    }
}

// MARK: - The thread

extension EventLoop {
    /// Serves the loop on the calling thread until it has stopped.
    private func run() {
        // What the thread before left is seen by this one.
        _ = servingThread.exchange(UInt(pthread_self()), ordering: .acquiring)
        let state = confined
        repeat { turn(state) } while !hasEnded(state)
    }

    private func turn(_ state: LoopState) {
        for index in 0..<state.poller.wait(milliseconds: waitMilliseconds(state)) {
            state.poller.dispatch(index)
        }
        state.fireTimers(now: MonotonicClock.nanoseconds)
        let phase = state.collect { (empty) in inbox.withLock { $0.take(into: &empty) } }
        if phase != .running { state.release() }
        unsafe state.runWork(on: asUnownedSerialExecutor(), asUnownedTaskExecutor())
        state.runTurnEndActions()
    }

    private func waitMilliseconds(_ state: LoopState) -> Int32 {
        guard !state.hasImmediateWork else { return 0 }
        let limit = state.waitMilliseconds(now: MonotonicClock.nanoseconds)
        return inbox.withLock { $0.mayWait() } ? limit : 0
    }

    private func hasEnded(_ state: LoopState) -> Bool {
        // Timers of this last turn: the next releases them.
        guard !state.hasImmediateWork, !state.hasTimers else { return false }
        return inbox.withLock { inbox in
            // A stop that was asked for in the middle of this turn: the next releases the handlers.
            guard inbox.phase == .stopping, !state.poller.isWatching, inbox.endIfEmpty() else { return false }
            // Inside the lock: from its release on, another thread may take this one's place.
            servingThread.store(0, ordering: .releasing)
            return true
        }
    }
}
