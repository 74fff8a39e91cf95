/// Counters over everything since the start or the last reset.
package struct Tally: Sendable, Equatable {
    package internal(set) var connectionCount = 0
    package internal(set) var openConnectionCount = 0
    /// TCP connections that a script or an unsuccessful handshake ended before HTTP/2 began.
    package internal(set) var failedConnectionCount = 0
    package internal(set) var requestCount = 0
    package internal(set) var shapeErrorCount = 0
    /// Answers by status.
    package internal(set) var answerCounts: [Int: Int] = [:]
    /// Answers with a reason, by reason.
    package internal(set) var reasonCounts: [String: Int] = [:]
    /// Streams the simulator reset.
    package internal(set) var resetCount = 0
    /// Requests that never got an answer.
    package internal(set) var unansweredCount = 0
    /// Streams the sender reset.
    package internal(set) var cancelledCount = 0
    package internal(set) var goAwayCount = 0
    /// PING frames of senders.
    package internal(set) var pingCount = 0
    /// Most streams that were open at once on one connection.
    package internal(set) var mostConcurrentStreams = 0

    init() {}

    /// Starts anew with the connections that are open.
    init(keeping tally: Tally) {
        connectionCount = tally.connectionCount
        openConnectionCount = tally.openConnectionCount
    }

    mutating func received(_ request: RecordedRequest, openStreams: Int) {
        requestCount += 1
        mostConcurrentStreams = max(mostConcurrentStreams, openStreams)
        if !request.reading.shapeErrors.isEmpty { shapeErrorCount += 1 }
    }

    mutating func settled(_ outcome: RecordedRequest.Outcome, by amount: Int) {
        switch outcome {
        case .pending: break
        case .answered(let status, let reason):
            answerCounts[status, default: 0] += amount
            if let reason { reasonCounts[reason, default: 0] += amount }
        case .reset: resetCount += amount
        case .unanswered: unansweredCount += amount
        case .cancelled: cancelledCount += amount
        }
    }
}
