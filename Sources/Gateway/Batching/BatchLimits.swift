/// How requests are put together. All of it is for one event loop.
package struct BatchLimits: Sendable {
    /// Most requests of one statement.
    package var batchCount: Int
    /// How long the first request of a batch waits for others.
    package var wait: Duration
    /// Whether nobody waits while no batch is open: under little load each request goes at once, under much they gather while one is
    /// in the database, and another goes beside it after `wait`.
    package var isEager = false
    /// Most batches in the database at once: a loop has 8 connections for all its requests.
    package var openBatchCount: Int
    /// Most requests that wait; more are refused. Default 5,000: less than a second's work.
    package var waitingCount = 5_000
    /// A batch that fails after so long met a database that is silent: those who wait hear the same at once. Source: callers get their 503
    /// within 2 s.
    package var silence: Duration = .seconds(1)
    /// Seconds after which a refused request should come again.
    package static let retrySeconds = 1

    /// Taps and receipts. 5 ms: nobody notices them. Source: a prototype counted 7,000 taps a second one by one, 51,000 with 50 a
    /// statement and 75,000 with 200; `benchmark clicks` repeats that with the real thing.
    package static let taps = BatchLimits(batchCount: 100, wait: .milliseconds(5), openBatchCount: 3)
    /// Looking keys up, with which every request begins; `benchmark registration` measures it. The wait bounds what one slow look does to others.
    package static let principals = BatchLimits(batchCount: 500, wait: .milliseconds(10), isEager: true, openBatchCount: 2)
    /// Start tokens, likewise. A batch may wait for a device that is being changed. Each token is a lock in PostgreSQL's table, which has
    /// 64 for each connection the server allows.
    package static let startTokens = BatchLimits(batchCount: 100, wait: .milliseconds(20), isEager: true, openBatchCount: 2)
}

/// Why a request was not answered.
package enum BatchFailure: Error, Equatable, Sendable {
    /// Too many wait already; this one was not looked at.
    case tooManyWaiting
    case storage(StorageError)
}

extension StorageError {
    /// For callers that know no other failure: who finds too many before it had better come again, as without a database.
    package init(_ failure: BatchFailure) {
        switch failure {
        case .tooManyWaiting: self = .unavailable
        case .storage(let error): self = error
        }
    }
}
