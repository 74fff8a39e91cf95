extension DatabaseConnection {
    /// What the server is given on top of its own limit before a connection counts as lost.
    private static let deadlineGrace: Duration = .seconds(1)

    private var defaultDeadline: Duration { options.statementTimeout + Self.deadlineGrace }

    /// Executes a statement. `deadline`: when it is not over by then, the connection is closed; default a second more than the session's
    /// statement timeout.
    @discardableResult
    package func query(
        _ statement: Statement, _ parameters: [Parameter] = [], deadline: Duration? = nil
    ) async throws(DatabaseError) -> QueryResult {
        try await run([StatementCall(statement, parameters)], deadline: deadline)[0]
    }

    /// Executes statements in one round trip. Outside of a transaction they are one: all of them happen, or none.
    package func run(_ calls: [StatementCall], deadline: Duration? = nil) async throws(DatabaseError) -> [QueryResult] {
        guard !calls.isEmpty else { return [] }
        try await beginTurn()
        defer { endTurn() }
        do {
            return try await runOnce(calls, deadline: deadline ?? defaultDeadline)
        } catch {
            guard error.isStalePreparedStatement else { throw error }
            for call in calls { prepared.forget(call.statement) }
            // Inside a transaction the server has already given it up: the whole of it has to be repeated.
            guard handle?.isIdle == true else { throw error }
            return try await runOnce(calls, deadline: deadline ?? defaultDeadline)
        }
    }

    private func runOnce(_ calls: [StatementCall], deadline: Duration) async throws(DatabaseError) -> [QueryResult] {
        if prepared.isFull {
            _ = try await perform(.simple, deadline: deadline) { $0.sendSimple("DEALLOCATE ALL") }
            prepared.removeAll()
        }
        var steps: [PipelineStep] = []
        steps.reserveCapacity(calls.count + 1)
        var newlyPrepared: [Statement] = []
        for call in calls {
            let block = ParameterBlock(call.parameters)
            let serverName: String
            if let known = prepared.lookUp(call.statement, types: block.types) {
                serverName = known
            } else {
                serverName = prepared.add(call.statement, types: block.types)
                newlyPrepared.append(call.statement)
                steps.append(.prepare(name: serverName, text: call.statement.text, types: block.types))
            }
            steps.append(.execute(name: serverName, block))
        }
        do throws(DatabaseError) {
            let results = try await perform(.pipeline, deadline: deadline) { steps.send(on: $0) }
            guard results.count == steps.count else {
                close(reason: "unexpected number of answers")
                throw closeFailure
            }
            guard !newlyPrepared.isEmpty else { return results }
            return zip(steps, results).filter { $0.0.isExecution }.map(\.1)
        } catch {
            // Whether these were prepared before the error is not worth finding out.
            for statement in newlyPrepared { prepared.forget(statement) }
            throw error
        }
    }

    /// Executes SQL text with parameters without keeping it prepared: for statements whose text varies.
    @discardableResult
    package func queryUnprepared(
        _ text: String, _ parameters: [Parameter] = [], deadline: Duration? = nil
    ) async throws(DatabaseError) -> QueryResult {
        try await beginTurn()
        defer { endTurn() }
        let steps = [PipelineStep.unprepared(text: text, ParameterBlock(parameters))]
        let results = try await perform(.pipeline, deadline: deadline ?? defaultDeadline) { steps.send(on: $0) }
        guard let result = results.first else {
            close(reason: "unexpected number of answers")
            throw closeFailure
        }
        return result
    }

    /// Executes SQL text that may hold several commands, and returns the last one's result, whose values are text, not binary.
    @discardableResult
    package func execute(_ sql: String, deadline: Duration? = nil) async throws(DatabaseError) -> QueryResult? {
        try await beginTurn()
        defer { endTurn() }
        return try await perform(.simple, deadline: deadline ?? defaultDeadline) { $0.sendSimple(sql) }.last
    }

    /// Sends `data` (of a ``CopyBuffer``) by `COPY table (columns) FROM STDIN (FORMAT binary)`. Returns the number of rows.
    @discardableResult
    package func copyIn(_ sql: String, data: [UInt8], deadline: Duration? = nil) async throws(DatabaseError) -> Int {
        try await beginTurn()
        defer { endTurn() }
        let results = try await perform(.simple, deadline: deadline ?? defaultDeadline, copyData: data) { $0.sendSimple(sql) }
        return results.last?.affectedRowCount ?? 0
    }
}

/// One message of a pipeline.
private enum PipelineStep {
    case prepare(name: String, text: String, types: [UInt32])
    case execute(name: String, ParameterBlock)
    case unprepared(text: String, ParameterBlock)

    var isExecution: Bool {
        if case .prepare = self { false } else { true }
    }

    func send(on handle: ConnectionHandle) -> Bool {
        switch self {
        case .prepare(let name, let text, let types): handle.sendPrepare(name: name, text: text, types: types)
        case .execute(let name, let block): handle.sendExecute(name: name, block)
        case .unprepared(let text, let block): handle.sendUnprepared(text: text, block)
        }
    }
}

extension [PipelineStep] {
    fileprivate func send(on handle: ConnectionHandle) -> Bool {
        handle.enterPipeline() && allSatisfy { $0.send(on: handle) } && handle.sendSync()
    }
}
