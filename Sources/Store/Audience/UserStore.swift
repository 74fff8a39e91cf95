package import Gateway
import PostgreSQL

extension Store: UserRegistry {
    package func registerUser(_ device: DeviceRegistration, mayBeNew: Bool, application: Application)
        async throws(StorageError) -> UserRegistration
    {
        try await store(device, mayBeNew: mayBeNew, application: application)
    }

    package func readUser(_ user: UserSelector, application: ApplicationID) async throws(StorageError) -> UserChange {
        let chosen = try await query(UserStatements.choose, user.parameters(application))
        guard let numbers = Self.numbers(chosen) else { return .tooManyDevices }
        guard !numbers.isEmpty else { return .unknown }
        let found = try await query(UserStatements.find, [.application(application), .int64Array(numbers)])
        let devices = (0..<found.rowCount).compactMap { KnownDevice(found, row: $0) }
        guard devices.count == found.rowCount else { throw .refused(sqlState: SQLStates.unreadableValue) }
        return devices.isEmpty ? .unknown : .changed(devices.map(\.seen))
    }

    package func changeUser(_ user: UserSelector, by change: DeviceRegistration, application: ApplicationID)
        async throws(StorageError) -> UserChange
    {
        try await withUser(user, application) { devices, connection in
            let active = UserDevice.active(among: devices.map(\.seen), subscription: change.subscription)
            let changes = devices.indices.map { $0 == active ? change : change.ofAnotherDevice }
            let after = zip(devices, changes).map { $0.profile.applying($1) }
            if let refusal = after.lazy.compactMap(\.refusal).first { return .refused(refusal) }
            if let refusal = DeviceProfile.refusal(of: after, insteadOf: devices.map(\.profile)) { return .refused(refusal) }
            let calls = devices.indices.flatMap { index in
                DeviceChange(
                    application: application, device: devices[index].number, before: devices[index].profile,
                    after: after[index], registration: changes[index]
                ).calls
            }
            if !calls.isEmpty { _ = try await connection.run(calls) }
            return .changed(
                zip(devices, after).map { UserDevice(subscriptionID: $0.subscriptionID, profile: $1) })
        }
    }

    package func removeUser(_ user: UserSelector, application: ApplicationID) async throws(StorageError) -> UserChange {
        try await withUser(user, application) { devices, connection in
            _ = try await connection.run(DeviceStatements.removal(of: devices.map(\.number), application))
            return .changed(devices.map(\.seen))
        }
    }

    /// Locks the devices that are meant, and reads them as their last owners left them: at least one.
    private func withUser(
        _ user: UserSelector, _ application: ApplicationID,
        _ body: ([KnownDevice], DatabaseConnection) async throws -> UserChange
    ) async throws(StorageError) -> UserChange {
        try await transaction { connection in
            let chosen = try await connection.query(UserStatements.choose, user.parameters(application))
            guard let numbers = Self.numbers(chosen) else { return .tooManyDevices }
            guard !numbers.isEmpty else { return .unknown }
            let these: [Parameter] = [.application(application), .int64Array(numbers)]
            let results = try await connection.run([
                StatementCall(UserStatements.lock, these), StatementCall(UserStatements.choose, user.parameters(application)),
                StatementCall(UserStatements.find, these),
            ])
            // Who left the user before the lock was had is not touched; who joined since is not locked, and joined later.
            let kept = Set(Self.numbers(results[1]) ?? [])
            let found = results[2]
            let devices = (0..<found.rowCount).compactMap { KnownDevice(found, row: $0) }
            guard devices.count == found.rowCount else { throw StorageError.refused(sqlState: SQLStates.unreadableValue) }
            let meant = devices.filter { kept.contains($0.number) }
            return meant.isEmpty ? .unknown : try await body(meant, connection)
        }
    }

    /// Nil when there are more than one user can have.
    private static func numbers(_ chosen: QueryResult) -> [Int64]? {
        guard chosen.rowCount <= UserSelector.deviceCount else { return nil }
        return (0..<chosen.rowCount).map { chosen.int64(row: $0, column: 0) }
    }
}

extension UserSelector {
    /// Those of `UserStatements.choose`.
    fileprivate func parameters(_ application: ApplicationID) -> [Parameter] {
        var alias: DeviceAlias?
        var subscription: UUID?
        switch name {
        case .alias(let named): alias = named
        case .subscription(let named): subscription = named
        }
        return [
            .application(application), Parameter(alias?.label.text), Parameter(alias?.identifier.text),
            subscription.map { .uuid($0) } ?? .null, .bool(isWholeUser), Parameter(proof?.label.text),
            Parameter(proof?.identifier.text), .int32(Int32(Self.deviceCount + 1)),
        ]
    }
}

enum UserStatements {
    static let all = [choose, lock, find]

    /// The devices that are meant, in the order of their registration: app, label and identifier or nulls, subscription or null,
    /// whether all of the same external_id are, label and identifier of what was proven or nulls, most of them.
    static let choose = Statement(
        name: "user_choose",
        text: """
            with named as materialized (
                (select device_id from device_alias where app_id = $1 and label = $2 and identifier = $3 limit $8)
                union all
                (select device_id from device where app_id = $1 and public_id = $4)),
            meant as materialized (
                select device_id from named
                union
                (select other.device_id
                from named
                    join device_alias as own on own.app_id = $1 and own.device_id = named.device_id
                        and own.label = '\(DeviceProfile.externalIDLabel)'
                    join device_alias as other on other.app_id = $1 and other.label = own.label
                        and other.identifier = own.identifier
                where $5::bool
                limit $8))
            select device_id
            from meant
            where $6::text is null or (select count(*) from named) = $8 or exists (
                select from device_alias as proven
                where proven.app_id = $1 and proven.device_id = meant.device_id and proven.label = $6
                    and proven.identifier = $7)
            order by device_id
            limit $8
            """)

    /// App, devices.
    static let lock = Statement(
        name: "user_lock",
        text: "select 1 from device where app_id = $1 and device_id = any($2::bigint[]) order by device_id for update")

    /// The same.
    static let find = Statement(
        name: "user_find",
        text: """
            select \(DeviceStatements.columns)
            from device
            where app_id = $1 and device_id = any($2::bigint[])
            order by device_id
            """)
}
