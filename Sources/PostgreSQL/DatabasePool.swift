package import Networking

/// The connections of one event loop: bounded, kept open in the background, lent to one caller at a time.
///
/// While the database is away, callers fail at once with `.unavailable` and one connection attempt after another probes for its return.
package actor DatabasePool {
    /// Something an operator wants to read; called on the loop.
    package enum Event: Sendable, Equatable {
        /// A connection is open where there was none: at the start, and after an outage.
        case connected
        case connectionLost(reason: String)
        /// `retryAfter`: when the next attempt follows.
        case connectingFailed(reason: String, retryAfter: Duration)
    }

    /// Gauges for metrics.
    package struct Occupancy: Sendable, Equatable {
        package var open: Int
        package var idle: Int
        package var waiting: Int
    }

    /// Most callers that wait for a connection; the next ones are refused at once.
    package static let waiterLimit = 1024

    nonisolated let loop: EventLoop
    private let options: DatabaseOptions
    private let size: Int
    private let acquireTimeout: Duration
    private let observe: @Sendable (Event) -> Void

    private var open: [ObjectIdentifier: DatabaseConnection] = [:]
    private var idle: [DatabaseConnection] = []
    private var waiters: [Waiter] = []
    private var lastWaiter: UInt64 = 0
    private var connectingCount = 0
    private var failureCount = 0
    private var failure = DatabaseError.unavailable(reason: "not connected")
    private var order = ServerOrder()
    private var retry: TimerID?
    private var isClosed = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Nothing happens before the first use or ``start()``.
    ///
    /// `size`: connections, 1 to 100. `acquireTimeout`: longest a caller waits for a connection, default 1 s: it has to fail well before an
    /// HTTP client loses patience.
    package init(
        loop: EventLoop, options: DatabaseOptions, size: Int, acquireTimeout: Duration = .seconds(1),
        observe: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        precondition((1...100).contains(size), "a pool has 1 to 100 connections")
        self.loop = loop
        self.options = options
        self.size = size
        self.acquireTimeout = acquireTimeout
        self.observe = observe
    }

    /// Opens the connections in the background.
    package func start() { fill() }

    /// Refuses callers from now on and closes every connection, also those that are lent.
    package func close() {
        isClosed = true
        if let retry { loop.cancel(retry) }
        retry = nil
        failWaiters(.unavailable(reason: "the pool is closed"))
        for connection in open.values { connection.assumeIsolated { $0.close(reason: "the pool is closed") } }
    }

    package var occupancy: Occupancy { Occupancy(open: open.count, idle: idle.count, waiting: waiters.count) }

    // MARK: Lending

    private struct Waiter {
        let serial: UInt64
        let isUrgent: Bool
        let continuation: CheckedContinuation<Result<DatabaseConnection, DatabaseError>, Never>
        let deadline: TimerID
    }

    /// No connection is open, and the last attempt failed.
    private var isAway: Bool { open.isEmpty && failureCount > 0 }

    /// - Parameter isUrgent: whether it is served before all who are not. Callers of that kind bound their own number.
    func acquire(isUrgent: Bool = false) async throws(DatabaseError) -> DatabaseConnection {
        if let connection = idle.popLast() { return connection }
        let outcome = await withCheckedContinuation { lendOrKeepWaiting($0, isUrgent: isUrgent) }
        return try outcome.get()
    }

    private func lendOrKeepWaiting(
        _ continuation: CheckedContinuation<Result<DatabaseConnection, DatabaseError>, Never>, isUrgent: Bool
    ) {
        func refuse(_ failure: DatabaseError) { continuation.resume(returning: .failure(failure)) }
        guard !isClosed else { return refuse(.unavailable(reason: "the pool is closed")) }
        // One may have come back since the caller looked.
        if let connection = idle.popLast() { return continuation.resume(returning: .success(connection)) }
        guard !isAway else { return refuse(failure) }
        guard isUrgent || waiters.count < Self.waiterLimit else {
            return refuse(.unavailable(reason: "too many callers wait for a connection"))
        }
        fill()
        lastWaiter += 1
        let serial = lastWaiter
        let deadline = loop.schedule(after: acquireTimeout) { [weak self] in
            self?.assumeIsolated { $0.waiterTimedOut(serial) }
        }
        let waiter = Waiter(serial: serial, isUrgent: isUrgent, continuation: continuation, deadline: deadline)
        waiters.insert(waiter, at: isUrgent ? waiters.firstIndex { !$0.isUrgent } ?? waiters.count : waiters.count)
    }

    /// Takes a connection back. One that is not in order is closed and replaced.
    func release(_ connection: DatabaseConnection) {
        let isIdle = connection.assumeIsolated { connection in
            if !connection.isIdle { connection.close(reason: "returned in mid-transaction") }
            return connection.isOpen
        }
        if isIdle { lend(connection) }
    }

    private func lend(_ connection: DatabaseConnection) {
        guard !waiters.isEmpty else { return idle.append(connection) }
        let waiter = waiters.removeFirst()
        loop.cancel(waiter.deadline)
        waiter.continuation.resume(returning: .success(connection))
    }

    private func waiterTimedOut(_ serial: UInt64) {
        guard let index = waiters.firstIndex(where: { $0.serial == serial }) else { return }
        let reason = open.isEmpty ? "no connection to the database yet" : "all connections are busy"
        waiters.remove(at: index).continuation.resume(returning: .failure(.unavailable(reason: reason)))
    }

    private func failWaiters(_ failure: DatabaseError) {
        let failing = waiters
        waiters = []
        for waiter in failing {
            loop.cancel(waiter.deadline)
            waiter.continuation.resume(returning: .failure(failure))
        }
    }

    // MARK: Keeping connections open

    /// Starts the attempts that are missing: all of them, or a single probe after a failure.
    private func fill() {
        guard !isClosed, retry == nil else { return }
        let missing = size - open.count - connectingCount
        let wanted = failureCount > 0 ? min(missing, 1 - connectingCount) : missing
        guard wanted > 0 else { return }
        for _ in 0..<wanted {
            connectingCount += 1
            Task { await connect() }
        }
    }

    private func connect() async {
        do throws(DatabaseError) {
            let connection = try await DatabaseConnection.connect(
                loop: loop, options: options, order: order,
                onClose: { [weak self] connection, failure in self?.assumeIsolated { $0.lost(connection, failure) } })
            connectingCount -= 1
            adopt(connection)
        } catch {
            connectingCount -= 1
            connectingFailed(error)
        }
    }

    private func adopt(_ connection: DatabaseConnection) {
        guard !isClosed else { return connection.assumeIsolated { $0.close() } }
        guard connection.assumeIsolated({ $0.isOpen }) else { return fill() }
        if self.open.isEmpty { observe(.connected) }
        failureCount = 0
        if let endpoint = connection.assumeIsolated({ $0.endpoint }) { order.worked(endpoint) }
        open[ObjectIdentifier(connection)] = connection
        lend(connection)
        fill()
    }

    private func connectingFailed(_ error: DatabaseError) {
        guard !isClosed else { return }
        failure = error
        if open.isEmpty { failWaiters(error) }
        // Attempts that failed together count once.
        guard retry == nil else { return }
        failureCount += 1
        order.failed()
        let delay = Backoff.reconnecting.delay(afterFailure: failureCount, random: .random(in: 0..<1))
        observe(.connectingFailed(reason: error.reason, retryAfter: delay))
        retry = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { pool in
                pool.retry = nil
                pool.fill()
            }
        }
    }

    private func lost(_ connection: DatabaseConnection, _ failure: DatabaseError) {
        guard open.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        idle.removeAll { $0 === connection }
        guard !isClosed else { return }
        observe(.connectionLost(reason: failure.reason))
        if case .readOnly = failure { leave(connection.assumeIsolated { $0.endpoint }, failure) }
        fill()
    }

    /// Turns away from a server that takes no writes, as if connecting to it had failed: it would accept connections for ever.
    private func leave(_ endpoint: DatabaseOptions.Endpoint?, _ failure: DatabaseError) {
        // Connections that were left over when the pool had turned to another server change nothing.
        guard let endpoint, order.prefers(endpoint) else { return }
        connectingFailed(failure)
        for other in idle {
            other.assumeIsolated { if $0.endpoint == endpoint { $0.close(reason: "it leads to a server that takes no writes") } }
        }
    }
}
