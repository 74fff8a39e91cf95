import Networking

/// When a connection's wait ends, and the one timer that watches it.
///
/// The timer is set again only when a deadline comes earlier; one that moves into the future is looked at when the timer fires.
struct ConnectionDeadline {
    /// What a connection waits for. A change begins a new time limit.
    enum Wait: Equatable {
        case handshake
        case request
        case headers
        case body
        case handler
        case linger
    }

    /// Input a lingering connection drops before it is cut.
    static let lingerByteCount = 16 * 1024 * 1024

    private(set) var wait = Wait.handshake
    private(set) var since = ContinuousClock.now
    private var unsentByteCount = 0
    private(set) var outputProgressedAt = ContinuousClock.now
    private(set) var lingeredByteCount = 0
    private(set) var inputProgressedAt = ContinuousClock.now

    private var timer: TimerID?
    private var firesAt: ContinuousClock.Instant?

    mutating func observe(_ wait: Wait, unsentByteCount unsent: Int, now: ContinuousClock.Instant) {
        if wait != self.wait { (self.wait, since) = (wait, now) }
        if unsentByteCount == 0 || unsent < unsentByteCount { outputProgressedAt = now }
        unsentByteCount = unsent
    }

    /// Counts input that is dropped.
    mutating func drop(_ byteCount: Int, now: ContinuousClock.Instant) {
        lingeredByteCount += byteCount
        inputProgressedAt = now
    }

    /// Makes `action` run at `instant`, or somewhat earlier when a timer for then is already set.
    mutating func arm(
        for instant: ContinuousClock.Instant, now: ContinuousClock.Instant, on loop: EventLoop,
        _ action: @escaping @Sendable () -> Void
    ) {
        if let firesAt, firesAt <= instant { return }
        cancel(on: loop)
        firesAt = instant
        timer = loop.schedule(after: now.duration(to: instant), action)
    }

    mutating func fired() {
        (timer, firesAt) = (nil, nil)
    }

    mutating func cancel(on loop: EventLoop) {
        if let timer { loop.cancel(timer) }
        fired()
    }
}
