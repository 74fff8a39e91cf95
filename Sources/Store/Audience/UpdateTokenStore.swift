import Gateway
import PostgreSQL

extension Store {
    /// How far in the future the start of an activity may lie before it is taken for this, in seconds: clocks of phones differ.
    static let startedAtToleranceSeconds: Int64 = 300

    func store(_ registration: UpdateTokenRegistration, application: ApplicationID) async throws(StorageError)
        -> UpdateTokenResult
    {
        let found = try await query(UpdateTokenStatements.find[registration.device], registration.key(application))
        guard found.rowCount == 1 else { return .unknownDevice }
        let known = KnownActivity(found)
        if known.isEnded(for: registration) { return .ended }
        if let held = known.held, known.isCovered(by: registration), try await isNoted(known) {
            let catchUp = try await catchUp(known, registration, application: application)
            return .stored(ActivityWindow(startedAt: held.startedAt), catchUp: catchUp)
        }
        if let type = registration.activityType {
            try await query(StartTokenStatements.addType, [.application(application), .text(type)])
        }
        if !known.hasPendingState, let result = try await write(registration, application: application, isAlone: false) {
            return result
        }
        guard let result = try await write(registration, application: application, isAlone: true) else {
            preconditionFailure("who is alone with an activity need not come again")
        }
        return result
    }

    /// Nil when a state waits for a device, which only who is alone with the activity may take.
    private func write(
        _ registration: UpdateTokenRegistration, application: ApplicationID, isAlone: Bool
    ) async throws(StorageError) -> UpdateTokenResult? {
        let (result, superseded): (UpdateTokenResult?, [NotificationID]) = try await transaction { connection in
            try await self.write(registration, application: application, isAlone: isAlone, on: connection)
        }
        if !superseded.isEmpty { try await finish(superseded) }
        return result
    }

    private func write(
        _ registration: UpdateTokenRegistration, application: ApplicationID, isAlone: Bool, on connection: DatabaseConnection
    ) async throws -> (UpdateTokenResult?, [NotificationID]) {
        let lock = isAlone ? UpdateStatements.lock : UpdateTokenStatements.lock
        let found = try await connection.run([
            StatementCall(lock, [.application(application), .text(registration.activityID)]),
            StatementCall(StartTokenStatements.lockToken, [.application(application), .bytes(registration.token)]),
            StatementCall(
                UpdateTokenStatements.lockDevice[registration.device],
                [.application(application), registration.device.parameter]),
            StatementCall(
                UpdateTokenStatements.addActivity,
                [.application(application), .text(registration.activityID), Parameter(registration.activityType)]),
            StatementCall(UpdateTokenStatements.find[registration.device], registration.key(application)),
        ])[4]
        guard found.rowCount == 1,
            try await isOwned(registration.device, by: registration.owners, application, on: connection)
        else { return (.unknownDevice, []) }
        let known = KnownActivity(found)
        if known.isEnded(for: registration) { return (.ended, []) }
        guard isAlone || !known.hasPendingState else { return (nil, []) }
        guard let activity = known.number else { throw StorageError.unavailable }
        let row: [Parameter] = [
            .application(application), .int64(activity), .int64(known.device), .bytes(known.token),
        ]
        var calls = [
            StatementCall(UpdateTokenStatements.lockRows, row),
            StatementCall(
                UpdateTokenStatements.put,
                row + [
                    .int16(known.service), Parameter(registration.startedAt), .int64(Self.startedAtToleranceSeconds),
                ]),
        ]
        if known.type == nil, let type = registration.activityType {
            calls.append(
                StatementCall(
                    UpdateTokenStatements.setType, [.application(application), .int64(activity), .text(type)]))
        }
        let stored = try await connection.run(calls)[1]
        let startedAt = stored.rowCount == 1 ? stored.int64(row: 0, column: 0) : known.held?.startedAt ?? 0
        if known.hasPendingState {
            let superseded = try await acceptPendingState(
                of: activity, named: registration.activityID, startedAt: startedAt, application: application, on: connection)
            // Its fan-out begins with the next claim, and finds this token.
            if let superseded { return (.stored(ActivityWindow(startedAt: startedAt), catchUp: true), superseded) }
        }
        var catchUp = false
        if let latest = known.latest {
            let joined = try await connection.query(
                UpdateTokenStatements.joinLate,
                known.catchUp(with: latest, startedAt: startedAt) + [.bool(known.held?.token != known.token)])
            catchUp = joined.rowCount == 1
        }
        return (.stored(ActivityWindow(startedAt: startedAt), catchUp: catchUp), [])
    }

    /// Whether it is written down that the token, known as it is, was told again; false when it has gone meanwhile.
    private func isNoted(_ known: KnownActivity) async throws(StorageError) -> Bool {
        guard known.isStale, let activity = known.number else { return true }
        let noted = try await query(
            UpdateTokenStatements.noteTold, [.int64(activity), .int64(known.device), .bytes(known.token)])
        return noted.affectedRowCount == 1
    }

    /// For a token that is known already: what reached, or will reach, the device is not sent again.
    private func catchUp(
        _ known: KnownActivity, _ registration: UpdateTokenRegistration, application: ApplicationID
    ) async throws(StorageError) -> Bool {
        guard let latest = known.latest, let held = known.held, !held.isEnded else { return false }
        let results = try await run([
            StatementCall(UpdateTokenStatements.lock, [.application(application), .text(registration.activityID)]),
            StatementCall(UpdateTokenStatements.rejoinLate, known.catchUp(with: latest, startedAt: held.startedAt)),
        ])
        return results[1].rowCount == 1
    }
}

/// The newest activity of a name and what a device has of it.
private struct KnownActivity {
    struct Held {
        let token: [UInt8]
        let startedAt: Int64
        let isEnded: Bool
    }
    let device: Int64
    let service: Int16
    let number: Int64?
    let type: String?
    let latest: Int64?
    let held: Held?
    /// The token that is told, as it is stored.
    let token: [UInt8]
    /// Whether the name now belongs to a new life of the activity.
    let isOver: Bool
    /// Whether a state that was refused waits for a device.
    let hasPendingState: Bool
    /// Whether it is to be written down that the held token was told again.
    let isStale: Bool

    init(_ row: QueryResult) {
        device = row.int64(row: 0, column: 0)
        service = row.int16(row: 0, column: 1)
        number = row.optionalInt64(column: 2)
        type = row.optionalText(column: 3)
        latest = row.optionalInt64(column: 4)
        held =
            row.isNull(row: 0, column: 5)
            ? nil
            : Held(
                token: row.bytes(row: 0, column: 5), startedAt: row.int64(row: 0, column: 6),
                isEnded: row.bool(row: 0, column: 7))
        isOver = !row.isNull(row: 0, column: 8) && row.bool(row: 0, column: 8)
        hasPendingState = row.bool(row: 0, column: 9)
        token = row.bytes(row: 0, column: 10)
        isStale = row.bool(row: 0, column: 11)
    }

    /// What sends the device the latest state.
    func catchUp(with latest: Int64, startedAt: Int64) -> [Parameter] {
        [.int64(latest), .int64(device), .int64(startedAt), .bytes(token)]
    }

    /// Whether the device has ended the very activity the token belongs to.
    func isEnded(for registration: UpdateTokenRegistration) -> Bool {
        guard let held, !isOver else { return false }
        return held.isEnded && held.token == token
    }

    /// Whether storing the registration would change nothing.
    func isCovered(by registration: UpdateTokenRegistration) -> Bool {
        guard let held, !isOver, held.token == token else { return false }
        if type == nil, registration.activityType != nil { return false }
        return registration.startedAt == nil || registration.startedAt == held.startedAt
    }
}

extension UpdateTokenRegistration {
    fileprivate func key(_ application: ApplicationID) -> [Parameter] {
        [.application(application), device.parameter, .text(activityID), .bytes(token)]
    }
}
