import Gateway
import PostgreSQL

extension Store {
    /// Devices of one chunk of a frozen list.
    static let listChunkDeviceCount = 1_000

    func acceptStart(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance {
        try await transaction { connection in
            try await self.accept(start, application: application, on: connection)
        }
    }

    func accept(
        _ start: StartCommand, application: Application, on connection: DatabaseConnection
    ) async throws -> StartAcceptance {
        let found = try await find(start, application: application.id, on: connection)
        if let earlier = found.earlier { return earlier }
        if found.isOverloaded { return .overloaded }
        switch try await resolve(start.audience, type: found.type, application: application.id, on: connection) {
        case .unknownSegments(let names): return .unknownSegments(names)
        case .devices(let devices, let unknownEntryCount, let snapshot):
            guard let type = found.type, !devices.isEmpty else { return .nobody }
            let acceptance = try await store(
                start, type: type, devices: devices, audience: nil, usersSeen: snapshot, application: application.id,
                on: connection)
            if case .accepted(let notification) = acceptance, unknownEntryCount > 0 {
                try await connection.query(
                    StartStatements.noteUnknownEntries, [.notification(notification.id), .int64(unknownEntryCount)])
            }
            return acceptance
        case .conditions(let audience):
            guard let type = found.type,
                try await reachesAnybody(
                    audience, type: type, application: application.id, momentMicroseconds: found.momentMicroseconds,
                    on: connection)
            else { return .nobody }
            return try await store(
                start, type: type, devices: nil, audience: audience, application: application.id, on: connection)
        }
    }

    struct StartFindings {
        let type: Int32?
        let momentMicroseconds: Int64
        let isOverloaded: Bool
        let earlier: StartAcceptance?
    }

    func find(
        _ start: StartCommand, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> StartFindings {
        var calls = [
            StatementCall(StartStatements.limitTime, [.text("\(Self.reachTimeoutMilliseconds)")]),
            StatementCall(
                StartStatements.type,
                [
                    .application(application), .text(start.activityType),
                    .int32(Int32(AdmissionLimits.unfinishedStartCount)),
                ]),
        ]
        if let key = start.idempotency {
            calls.append(StatementCall(StartStatements.replay, [.application(application), .uuid(key.key)]))
        }
        let results = try await connection.run(calls)
        let earlier = start.idempotency.flatMap { Self.replay(results[2], of: $0) }
        return StartFindings(
            type: results[1].optionalInt32(column: 0), momentMicroseconds: results[1].timestampMicroseconds(row: 0, column: 1),
            isOverloaded: results[1].bool(row: 0, column: 2), earlier: earlier)
    }

    static func replay(_ result: QueryResult, of key: IdempotencyKey) -> StartAcceptance? {
        guard result.rowCount == 1 else { return nil }
        return .replayed(publicID: result.uuid(column: 0), sameBody: result.bytes(row: 0, column: 1) == key.bodyDigest)
    }

    /// - Parameter usersSeen: what had been committed when the users that the start names were resolved; nil for a start that names none.
    func store(
        _ start: StartCommand, type: Int32, types: [Int32]? = nil, devices: [Int64]?, audience: FrozenAudience?,
        usersSeen: String? = nil, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> StartAcceptance {
        let frozen = audience.flatMap { $0.isEverybody ? nil : String(decoding: $0.json, as: UTF8.self) }
        // Alone with the activity's name: an end that is accepted at the same time either stops this start or comes before it.
        let stored = try await connection.run([
            StatementCall(UpdateStatements.lock, [.application(application), .text(start.activityID)]),
            StatementCall(
                StartStatements.accept,
                [
                    .application(application), start.idempotency.map { .uuid($0.key) } ?? .null,
                    start.idempotency.map { .bytes($0.bodyDigest) } ?? .null, .text(start.activityID), .int32(type),
                    .text(start.name), .bytes(start.content.stored),
                    .int64(PushLifetime.seconds(of: .start)),
                    .bool(start.content.alerts.count > 1), Parameter(frozen), devices.map(Parameter.int64Array) ?? .null,
                    .int32(Int32(Self.listChunkDeviceCount)), types.map(Parameter.int32Array) ?? .null,
                    Parameter(start.expiresAt), Parameter(usersSeen),
                ]),
        ])[1]
        if stored.rowCount == 1 {
            return .accepted(
                AcceptedNotification(
                    id: NotificationID(rawValue: stored.int64(row: 0, column: 0)), publicID: stored.uuid(column: 1)))
        }
        // The key was used meanwhile; the commit of who used it is what this statement waited for.
        guard let key = start.idempotency else { throw StorageError.unavailable }
        let winner = try await connection.query(StartStatements.replay, [.application(application), .uuid(key.key)])
        guard let replayed = Self.replay(winner, of: key) else { throw StorageError.unavailable }
        return replayed
    }
}
