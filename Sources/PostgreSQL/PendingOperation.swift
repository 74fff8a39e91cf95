import CPostgreSQL
import Networking

/// What a connection is carrying out: its answers so far, and who waits for them.
struct PendingOperation {
    enum Completion {
        /// The simple protocol: a missing result ends it.
        case simple
        /// The extended protocol: each command ends with a missing result, the synchronisation point ends it all.
        case pipeline
    }

    let serial: UInt64
    let completion: Completion
    let continuation: CheckedContinuation<Result<[QueryResult], DatabaseError>, Never>
    let deadline: TimerID
    /// The data of a COPY, and how much of it libpq has taken.
    var copyData: [UInt8]?
    var copiedByteCount = 0
    var results: [QueryResult] = []
    var failure: ServerDiagnosis?

    /// What one result means for the operation.
    enum Step { case goOn, finished, feedCopy, protocolViolation }

    mutating func take(_ result: QueryResult) -> Step {
        switch result.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            results.append(result)
            return .goOn
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR:
            failure = failure ?? result.diagnosis
            return .goOn
        case PGRES_PIPELINE_ABORTED: return .goOn
        case PGRES_PIPELINE_SYNC: return .finished
        case PGRES_COPY_IN: return copyData == nil ? .protocolViolation : .feedCopy
        default: return .protocolViolation
        }
    }
}
