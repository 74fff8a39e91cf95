package import Networking
package import Security

/// Speaks HTTP/2 over TLS to one origin, over the connections of one event loop.
///
/// Connections are made as requests come, and end after idle time. Requests wait for a stream in the order they came, each no longer than
/// its own time. `send` is for one request now and then; `submit` costs no task, for senders of many.
package actor HTTPClient {
    /// Times `send` puts a request out again that was provably not processed.
    private static let repeatCount = 2

    package nonisolated let loop: EventLoop
    package nonisolated let origin: HTTPOrigin
    let configuration: HTTPClientConfiguration
    let report: @Sendable (HTTPClientEvent) -> Void
    /// What new connections verify the server with.
    var tls: TLSContext

    var waiting = WaitingCalls()
    var connections: [HTTPClientConnection] = []
    var pause: ReconnectPause
    var lastConnectionNumber = 0
    /// The look-up and the beginning of a connection, while it goes on.
    var connectTask: (task: Task<Void, Never>, startedAt: ContinuousClock.Instant)?
    var lastAttempt: ContinuousClock.Instant?
    /// Why the last connection could not be made; nil once one was.
    var lastFailure: HTTPClientFailure?
    var addressCount = 1
    var addressTurn = 0
    var isServeScheduled = false
    var tickTimer: (id: TimerID, isIdle: Bool)?
    /// Calls that ended in this turn, told at its end: whoever waits may call the client again.
    var ended: [(HTTPClientCall, HTTPClientResult)] = []
    var isDraining = false
    var drainWaiters: [CheckedContinuation<Void, Never>] = []

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// A client without connections.
    ///
    /// - Parameters:
    ///   - tls: a client context with ALPN `h2`.
    ///   - report: called on the loop.
    package init(
        loop: EventLoop, origin: HTTPOrigin, tls: TLSContext, configuration: HTTPClientConfiguration = HTTPClientConfiguration(),
        report: @escaping @Sendable (HTTPClientEvent) -> Void = { _ in }
    ) {
        self.loop = loop
        self.origin = origin
        self.tls = tls
        self.configuration = configuration
        self.report = report
        pause = ReconnectPause(configuration: configuration)
    }

    /// Sends one request. One that was provably not processed goes out again by itself, twice at most, within the time it has.
    package func send(_ request: HTTPClientRequest, timeout: Duration) async -> HTTPClientResult {
        let deadline = ContinuousClock.now + timeout
        var repeats = 0
        while true {
            let left = deadline - .now
            let result = await withCheckedContinuation { continuation in
                submit(request, timeout: left) { continuation.resume(returning: $0) }
            }
            guard case .notSent(let failure) = result, failure.isWorthRepeating, repeats < Self.repeatCount, .now < deadline
            else {
                return result
            }
            repeats += 1
        }
    }

    /// Sends one request; `completion` is called once, on the loop, never during this call.
    ///
    /// - Parameter timeout: until the answer is complete, waiting included; met to within `tickInterval`.
    package func submit(
        _ request: HTTPClientRequest, timeout: Duration, completion: @escaping @Sendable (HTTPClientResult) -> Void
    ) {
        let call = HTTPClientCall(request: request, deadline: .now + timeout, completion: completion)
        if isDraining {
            end(call, .notSent(.draining))
        } else if timeout <= .zero {
            end(call, .notSent(connections.contains { $0.phase == .open } ? .timeout : waitingFailure))
        } else if waiting.count >= configuration.waitingCount {
            end(call, .notSent(.tooManyWaiting(limit: configuration.waitingCount)))
        } else if request.headerByteCount > configuration.headerByteCount {
            end(call, .notSent(.headersTooLarge(byteLimit: configuration.headerByteCount)))
        } else {
            waiting.append(call)
            scheduleServing()
        }
    }

    /// Requests that wait for a stream, and those on one.
    package var waitingCount: Int { waiting.count }
    package var inFlightCount: Int { connections.reduce(0) { $0 + $1.calls.count } }
    /// Connections that exist, whatever their phase.
    package var connectionCount: Int { connections.count }

    /// Uses another context for new connections; those that are open stay. Pauses after failures end: they may have been for want of it.
    package func replaceTLS(_ context: TLSContext) {
        tls = context
        pause.forget()
        scheduleServing()
    }

    /// A client of the same origin without connections: with new ones, and with the pause that the last ones brought about.
    package func successor() -> HTTPClient { HTTPClient(after: self) }

    private init(after old: isolated HTTPClient) {
        loop = old.loop
        origin = old.origin
        tls = old.tls
        configuration = old.configuration
        report = old.report
        pause = old.pause
        lastAttempt = old.lastAttempt
        lastFailure = old.lastFailure
        addressCount = old.addressCount
        addressTurn = old.addressTurn
    }

    /// Takes nothing new and hands back what waits: no request leaves after this returns. The client cannot be used afterwards.
    package func stopSubmitting() {
        isDraining = true
        connectTask?.task.cancel()
        while let call = waiting.popFirst() { end(call, .notSent(.draining)) }
        scheduleServing()
    }

    /// Stops submitting and waits for what is on the wire. After the timeout what is still there is unanswered.
    package func drain(timeout: Duration) async {
        stopSubmitting()
        let timer = loop.schedule(after: timeout) { self.assumeIsolated { $0.endDrain() } }
        await withCheckedContinuation { waiter in
            drainWaiters.append(waiter)
            scheduleServing()
        }
        loop.cancel(timer)
    }

    /// Closes everything; whoever waits for the drain goes on.
    func endDrain() {
        for connection in connections {
            ended += connection.close(.draining)
            report(.connectionClosed(address: connection.address.description, goAway: connection.session.goAway))
        }
        connections = []
        if let timer = tickTimer { loop.cancel(timer.id) }
        tickTimer = nil
        tellEnded()
        let waiters = drainWaiters
        drainWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Notes what became of a call; it is told at the end of the turn.
    func end(_ call: HTTPClientCall, _ result: HTTPClientResult) {
        ended.append((call, result))
        scheduleServing()
    }

    /// Tells what ended. The client is consistent: whoever is told may submit again.
    func tellEnded() {
        let told = ended
        ended = []
        for (call, result) in told { call.complete(result) }
    }
}

extension HTTPClientFailure {
    /// Whether the same request may fare better at once, on another stream or connection.
    fileprivate var isWorthRepeating: Bool {
        switch self {
        case .refused, .connectionLost: true
        default: false
        }
    }
}

/// The calls that wait for a stream, in order.
struct WaitingCalls {
    private var calls: [HTTPClientCall] = []
    private var first = 0

    var count: Int { calls.count - first }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ call: HTTPClientCall) { calls.append(call) }

    mutating func popFirst() -> HTTPClientCall? {
        guard first < calls.count else { return nil }
        defer {
            first += 1
            // Moves what is left once it is the smaller part.
            if first * 2 > calls.count {
                calls.removeFirst(first)
                first = 0
            }
        }
        return calls[first]
    }

    /// Takes out the calls whose time has passed.
    mutating func takeOverdue(now: ContinuousClock.Instant) -> [HTTPClientCall] {
        let overdue = calls[first...].filter { $0.deadline <= now }
        guard !overdue.isEmpty else { return [] }
        calls = calls[first...].filter { $0.deadline > now }
        first = 0
        return overdue
    }
}
