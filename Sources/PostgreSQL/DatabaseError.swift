/// Why the database did not answer as hoped. Its texts never hold parameter values, SQL text or credentials.
package enum DatabaseError: Error, Equatable {
    /// Nobody answered in time: no connection, connection lost, too slow, or the pool is exhausted. What was sent may or may not have
    /// been carried out; trying later may succeed.
    case unavailable(reason: String)
    /// The server that answered takes no writes: it is a standby, or `default_transaction_read_only` is on. Nothing was carried out; trying
    /// later, perhaps on another server, may succeed.
    case readOnly(reason: String)
    /// The server refused the statement. Trying again does not help, unless ``isTransactionConflict``.
    case server(sqlState: String, message: String, constraint: String?)

    /// What happened, in words.
    package var reason: String {
        switch self {
        case .unavailable(let reason), .readOnly(let reason): reason
        case .server: description
        }
    }

    /// A serialization failure or a deadlock: the same transaction may pass when it is repeated.
    package var isTransactionConflict: Bool {
        guard case .server(let sqlState, _, _) = self else { return false }
        return sqlState == SQLState.serializationFailure || sqlState == SQLState.deadlockDetected
    }

    /// The server no longer accepts a statement it prepared before: the schema changed or somebody discarded it.
    var isStalePreparedStatement: Bool {
        guard case .server(let sqlState, _, _) = self else { return false }
        return sqlState == SQLState.featureNotSupported || sqlState == SQLState.invalidStatementName
    }
}

extension DatabaseError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unavailable(let reason): "database unavailable: \(reason)"
        case .readOnly(let reason): "database takes no writes: \(reason)"
        case .server(let sqlState, let message, let constraint?):
            "database error \(sqlState): \(message) (constraint \(constraint))"
        case .server(let sqlState, let message, nil): "database error \(sqlState): \(message)"
        }
    }
}

/// The codes of PostgreSQL's appendix A that decide something here or in an adapter.
package enum SQLState {
    package static let uniqueViolation = "23505"
    package static let foreignKeyViolation = "23503"
    package static let checkViolation = "23514"
    package static let serializationFailure = "40001"
    package static let deadlockDetected = "40P01"
    package static let lockNotAvailable = "55P03"
    static let featureNotSupported = "0A000"
    static let invalidStatementName = "26000"
    static let readOnlyTransaction = "25006"
    static let failedTransaction = "25P02"
    static let queryCanceled = "57014"
    /// Class 22: the primary message of these may quote the offending value.
    static let dataExceptionClass = "22"
    /// Class 08, but not 08P01 (a message the server cannot read): the connection; 53: disk, memory or connections used up; 57P: shutting
    /// down or starting.
    static let unavailablePrefixes = ["080", "53", "57P"]
}
