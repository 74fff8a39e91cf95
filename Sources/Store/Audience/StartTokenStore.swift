package import Gateway
import PostgreSQL

extension Store {
    /// Stores many; each is answered as `setStartToken` would answer it. Those of one device, or with one token, come in their order.
    package func setStartTokens(_ registrations: [StartTokenRegistration]) async throws(StorageError) -> [Bool] {
        var answers = Array(repeating: false, count: registrations.count)
        for round in StartTokenRounds(registrations) {
            let outcomes = try await storeTogether(round.map { registrations[$0] })
            for (index, outcome) in zip(round, outcomes) {
                switch outcome {
                case .stored: answers[index] = true
                case .unknown: answers[index] = false
                case .notAlone: answers[index] = try await storeAlone(registrations[index])
                }
            }
        }
        return answers
    }

    private func storeTogether(_ round: [StartTokenRegistration]) async throws(StorageError) -> [StartTokenOutcome] {
        do throws(StorageError) {
            let result = try await query(
                StartTokenStatements.register[round[0].device],
                [
                    .application(round[0].application), .names(round.map(\.device)), .textArray(round.map(\.activityType)),
                    .bytesArray(round.map(\.token)), .textArray(round.map { $0.owner?.label.text ?? "" }),
                    .textArray(round.map { $0.owner?.identifier.text ?? "" }),
                ])
            var outcomes = Array(repeating: StartTokenOutcome.unknown, count: round.count)
            for row in 0..<result.rowCount {
                outcomes[Int(result.int64(row: row, column: 0)) - 1] = result.bool(row: row, column: 1) ? .stored : .notAlone
            }
            return outcomes
        } catch {
            // Another device came by one of the tokens meanwhile.
            guard error == .refused(sqlState: SQLState.uniqueViolation) else { throw error }
            return Array(repeating: .notAlone, count: round.count)
        }
    }

    /// Takes the token from whoever has it.
    private func storeAlone(_ registration: StartTokenRegistration) async throws(StorageError) -> Bool {
        let application = Parameter.application(registration.application)
        try await query(StartTokenStatements.addType, [application, .text(registration.activityType)])
        return try await transaction { connection in
            let device = try await connection.run([
                StatementCall(StartTokenStatements.lockToken, [application, .bytes(registration.token)]),
                StatementCall(
                    StartTokenStatements.device[registration.device],
                    [
                        application, registration.device.parameter, .text(registration.activityType),
                        .bytes(registration.token),
                    ]),
            ])[1]
            guard device.rowCount == 1,
                try await self.isOwned(
                    registration.device, by: registration.owner.map { [$0] } ?? [], registration.application, on: connection)
            else { return false }
            let row: [Parameter] = [
                application, .int32(device.int32(row: 0, column: 2)), .int64(device.int64(row: 0, column: 0)),
                .bytes(device.bytes(row: 0, column: 3)),
            ]
            _ = try await connection.run([
                StatementCall(StartTokenStatements.lockRows, row),
                StatementCall(StartTokenStatements.put, row + [.int16(device.int16(row: 0, column: 1))]),
            ])
            return true
        }
    }

    /// Whether a device that is locked has all these aliases. Who changes them changes the device's row.
    func isOwned(
        _ device: DeviceName, by owners: [DeviceAlias], _ application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> Bool {
        guard !owners.isEmpty else { return true }
        let found = try await connection.run(
            owners.map { StatementCall(DeviceStatements.hasAlias[device], device.parameters(with: $0, application)) })
        return found.allSatisfy { $0.rowCount == 1 }
    }

    func remove(
        startTokenOf activityType: String, device name: DeviceName, application: ApplicationID
    ) async throws(StorageError) -> Bool {
        let removed = try await query(
            StartTokenStatements.remove[name], [.application(application), name.parameter, .text(activityType)])
        return removed.affectedRowCount > 0
    }
}

private enum StartTokenOutcome {
    case stored
    /// There is no such device.
    case unknown
    /// Another device has the token, the type is new, or the device changed meanwhile.
    case notAlone
}

enum StartTokenStatements {
    static let all = [addType, lockToken, lockRows, put] + register.both + device.both + remove.both

    static let addType = Statement(
        name: "start_token_add_type",
        text: """
            insert into activity_type (app_id, name)
            select $1, $2 where not exists (select from activity_type where app_id = $1 and name = $2)
            on conflict do nothing
            """)

    /// Alone with this token until the transaction ends: who registers it first gets it first.
    static let lockToken = Statement(
        name: "token_lock", text: "select pg_advisory_xact_lock(hashtextextended(encode($2::bytea, 'hex'), $1::int))")

    /// The device's number, its service, the type's number and the token as it is stored; the device's row cannot change until the
    /// transaction ends.
    static let device = DeviceStatement { key in
        Statement(
            name: "start_token_device\(key.suffix)",
            text: """
                    select device.device_id, device.service, type.type_id, stored_token(device.service, $4, device.push_token)
                    from device join activity_type as type on type.app_id = device.app_id and type.name = $3
                    where device.app_id = $1 and device.\(key.column) = $2
                    for share of device
                """)
    }

    /// The device's row and that of whoever has the token now, locked in their order: app, type, device, token.
    static let lockRows = Statement(
        name: "start_token_lock_rows",
        text: """
            select 1
            from start_token
            where app_id = $1 and type_id = $2 and (device_id = $3 or token = $4)
            order by device_id
            for update
            """)

    /// What a token that is told changes of the row of its device: `stored`, by `excluded`.
    static let toldAgain = """
        token = excluded.token, service = excluded.service,
            registered_at = case when stored.token = excluded.token then stored.registered_at else excluded.registered_at end,
            told_at = case when stored.token = excluded.token then excluded.registered_at end
            where stored.token <> excluded.token or \(TokenTelling.isStale("stored"))
        """

    // A data-modifying WITH nobody reads runs last; counting it makes the removal come first.
    /// Takes the token over and stores it: app, type, device, token, service.
    static let put = Statement(
        name: "start_token_put",
        text: """
            with taken as (
                delete from start_token
                where app_id = $1 and type_id = $2 and token = $4 and device_id <> $3
                returning 1),
            forgotten as (delete from removed_start_token where app_id = $1 and type_id = $2 and device_id = $3)
            insert into start_token as stored (app_id, type_id, device_id, token, service, registered_at)
            select $1, $2, $3, $4, $5, clock_timestamp() from (select count(*) from taken) as counted
            on conflict (app_id, type_id, device_id) do update
                set \(toldAgain)
            """)

    static let remove = DeviceStatement { key in
        Statement(
            name: "start_token_remove\(key.suffix)",
            text: """
                    delete from start_token as token
                    using device, activity_type as type
                    where device.app_id = $1 and device.\(key.column) = $2 and type.app_id = $1 and type.name = $3
                        and token.app_id = $1 and token.type_id = type.type_id and token.device_id = device.device_id
                """)
    }
}
