import Networking

extension DatabasePool {
    /// Lends a connection for the time of `body`, which runs where the caller runs and must not keep it.
    @discardableResult
    package nonisolated func withConnection<Value>(_ body: (DatabaseConnection) async throws -> Value) async throws -> Value {
        let connection = try await acquire()
        do {
            let value = try await body(connection)
            await release(connection)
            return value
        } catch {
            await release(connection)
            throw error
        }
    }

    /// Executes one statement on any connection. See ``DatabaseConnection/query(_:_:deadline:)``.
    @discardableResult
    package func query(
        _ statement: Statement, _ parameters: [Parameter] = [], deadline: Duration? = nil
    ) async throws(DatabaseError) -> QueryResult {
        try await run([StatementCall(statement, parameters)], deadline: deadline)[0]
    }

    /// Executes statements in one round trip and one transaction. See ``DatabaseConnection/run(_:deadline:)``.
    ///
    /// `isUrgent`: whether it does not wait behind other callers. For what few callers do, and what must not fail because many are served.
    package func run(
        _ calls: [StatementCall], deadline: Duration? = nil, isUrgent: Bool = false
    ) async throws(DatabaseError) -> [QueryResult] {
        let connection = try await acquire(isUrgent: isUrgent)
        do {
            let results = try await connection.run(calls, deadline: deadline)
            release(connection)
            return results
        } catch {
            release(connection)
            throw error
        }
    }

    /// See ``DatabaseConnection/queryUnprepared(_:_:deadline:)``.
    @discardableResult
    package func queryUnprepared(
        _ text: String, _ parameters: [Parameter] = [], deadline: Duration? = nil
    ) async throws(DatabaseError) -> QueryResult {
        let connection = try await acquire()
        do {
            let result = try await connection.queryUnprepared(text, parameters, deadline: deadline)
            release(connection)
            return result
        } catch {
            release(connection)
            throw error
        }
    }

    /// Runs `body` between BEGIN and COMMIT on one connection and returns its value once that is committed; any error rolls back.
    ///
    /// `retryLimit`: how many times a transaction that lost against another one (40001, 40P01), or met a prepared statement the schema
    /// has outgrown, is repeated from its start, after a short random delay; `body` must have no effect outside of the database then.
    /// When the answer to COMMIT is lost, `.unavailable` is thrown and the transaction may have been committed.
    @discardableResult
    package nonisolated func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, retryLimit: Int = 0, deadline: Duration? = nil,
        _ body: (DatabaseConnection) async throws -> Value
    ) async throws -> Value {
        var failureCount = 0
        while true {
            do {
                return try await withConnection { connection in
                    try await connection.transaction(mode, deadline: deadline, body)
                }
            } catch let error as DatabaseError where error.isTransactionConflict || error.isStalePreparedStatement {
                failureCount += 1
                guard failureCount <= retryLimit else { throw error }
                let delay = Backoff.transactionConflict.delay(afterFailure: failureCount, random: .random(in: 0..<1))
                await loop.sleep(for: delay)
            }
        }
    }
}

/// What a transaction sees of others.
package enum TransactionMode: String, Sendable {
    case readCommitted = "BEGIN"
    case repeatableRead = "BEGIN ISOLATION LEVEL REPEATABLE READ"
    case serializable = "BEGIN ISOLATION LEVEL SERIALIZABLE"
    case readOnly = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
}

extension DatabaseConnection {
    /// One transaction, tried once. `deadline` applies to BEGIN, COMMIT and ROLLBACK each.
    @discardableResult
    package nonisolated func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, deadline: Duration? = nil, _ body: (DatabaseConnection) async throws -> Value
    ) async throws -> Value {
        try await execute(mode.rawValue, deadline: deadline)
        let value: Value
        do {
            value = try await body(self)
        } catch {
            await rollBack(deadline: deadline)
            throw error
        }
        let answer = try await execute("COMMIT", deadline: deadline)
        // An error `body` did not pass on has already ended the transaction: COMMIT then rolls back and says so in its tag.
        guard answer?.commandTag == "COMMIT" else {
            throw DatabaseError.server(
                sqlState: SQLState.failedTransaction, message: "the transaction failed and was rolled back", constraint: nil)
        }
        return value
    }

    /// A connection that cannot roll back is closed, which has the same effect.
    private func rollBack(deadline: Duration?) async {
        guard isOpen else { return }
        do { try await execute("ROLLBACK", deadline: deadline) } catch { close(reason: "could not roll back") }
    }
}
