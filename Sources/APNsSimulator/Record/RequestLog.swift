import Synchronization

/// Everything that was received, and those who wait for more of it.
final class RequestLog: Sendable {
    fileprivate struct Waiter {
        let query: RequestQuery
        var missing: Int
        let continuation: CheckedContinuation<Bool, Never>
    }
    fileprivate struct State {
        var ring = RequestRing()
        var tally = Tally()
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
        /// Whether nothing comes any more, and nobody may wait for it.
        var isClosed = false
    }
    private let state = Mutex(State())

    /// Writes a request down and answers its number.
    ///
    /// - Parameter openStreams: how many streams are open on its connection.
    func append(_ request: RecordedRequest, openStreams: Int, settings: SimulatorSettings) -> Int {
        let (number, ready) = state.withLock { state -> (Int, [CheckedContinuation<Bool, Never>]) in
            state.tally.received(request, openStreams: openStreams)
            if settings.recordsRequests {
                _ = state.ring.append(request, limit: settings.recordedRequestLimit, byteLimit: settings.recordedByteLimit)
            } else {
                state.ring.skip()
            }
            guard !state.waiters.isEmpty else { return (state.ring.lastNumber, []) }
            var numbered = request
            numbered.number = state.ring.lastNumber
            return (state.ring.lastNumber, state.takeReady(for: numbered, settled: false))
        }
        for continuation in ready { continuation.resume(returning: true) }
        return number
    }

    /// Writes down what became of a request; `previous` is what was written before.
    func settle(_ number: Int, _ outcome: RecordedRequest.Outcome, replacing previous: RecordedRequest.Outcome = .pending) {
        let ready = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
            state.tally.settled(previous, by: -1)
            state.tally.settled(outcome, by: 1)
            guard let request = state.ring.settle(number, outcome), previous == .pending, !state.waiters.isEmpty else {
                return []
            }
            return state.takeReady(for: request, settled: true)
        }
        for continuation in ready { continuation.resume(returning: true) }
    }

    /// The first `limit` requests that match, oldest first.
    func select(_ query: RequestQuery, limit: Int) -> [RecordedRequest] { state.withLock { $0.ring.select(query, limit: limit) } }

    /// Returns true once `count` requests match, and false when `giveUp` or `close` came first.
    ///
    /// `deadline` is called with the number to give up, once the wait has begun.
    func wait(for count: Int, matching query: RequestQuery, deadline: (Int) -> Void) async -> Bool {
        await withCheckedContinuation { continuation in
            var isThere = false
            let waiter: Int? = state.withLock { state in
                let missing = count - state.ring.count(matching: query, upTo: count)
                isThere = missing <= 0
                guard !isThere, !state.isClosed else { return nil }
                state.lastWaiter += 1
                state.waiters[state.lastWaiter] = Waiter(query: query, missing: missing, continuation: continuation)
                return state.lastWaiter
            }
            if let waiter { deadline(waiter) } else { continuation.resume(returning: isThere) }
        }
    }

    /// Ends a wait without success; nothing when it has ended.
    func giveUp(_ waiter: Int) {
        state.withLock { $0.waiters.removeValue(forKey: waiter) }?.continuation.resume(returning: false)
    }

    /// Ends all waits, those to come included.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.continuation.resume(returning: false) }
    }

    /// The counters as they are.
    var tally: Tally { state.withLock { $0.tally } }

    /// Bytes of header fields and bodies kept, and number of requests kept.
    var size: (requests: Int, bytes: Int) { state.withLock { ($0.ring.count, $0.ring.byteCount) } }

    /// Changes the counters.
    func count(_ change: (inout Tally) -> Void) { state.withLock { change(&$0.tally) } }

    /// Forgets every request and starts counting anew; connections that are open stay counted.
    func removeAll() {
        state.withLock { state in
            state.ring = RequestRing()
            state.tally = Tally(keeping: state.tally)
        }
    }
}

extension RequestLog.State {
    /// Waiters that this request was the last one for. A settled request counts for those who wait for settled ones only.
    fileprivate mutating func takeReady(for request: RecordedRequest, settled: Bool) -> [CheckedContinuation<Bool, Never>] {
        var ready: [CheckedContinuation<Bool, Never>] = []
        for (id, waiter) in waiters where waiter.query.isSettled == settled && waiter.query.matches(request) {
            if waiter.missing > 1 {
                waiters[id]?.missing -= 1
            } else {
                waiters[id] = nil
                ready.append(waiter.continuation)
            }
        }
        return ready
    }
}
