import Gateway
import PostgreSQL

extension Store {
    /// A registration that changes nothing, as at most launches of an app, is one look-up and writes nothing.
    ///
    /// Another one may take the same push token between the look for who has it and the writing: the next look finds that one too.
    func store(
        _ registration: DeviceRegistration, mayBeNew: Bool = true, application: Application
    ) async throws(StorageError) -> UserRegistration {
        for _ in 0..<Self.conflictRetryLimit {
            do {
                return try await storeOnce(registration, mayBeNew: mayBeNew, application: application)
            } catch .refused(sqlState: SQLState.uniqueViolation) {
                continue
            }
        }
        return try await storeOnce(registration, mayBeNew: mayBeNew, application: application)
    }

    private func storeOnce(
        _ registration: DeviceRegistration, mayBeNew: Bool, application: Application
    ) async throws(StorageError) -> UserRegistration {
        var registration = registration
        registration.isRelayed = application.relaysThroughFCM
        return try await storeOnce(known: registration, mayBeNew: mayBeNew, application: application)
    }

    private func storeOnce(
        known registration: DeviceRegistration, mayBeNew: Bool, application: Application
    ) async throws(StorageError) -> UserRegistration {
        let found = try await query(registration.findStatement, registration.name(application.id))
        if found.rowCount == 1, let device = KnownDevice(found, row: 0), !device.isChanged(by: registration),
            mayBeNew || device.subscriptionID == registration.subscription
        {
            return .registered(device.seen, isNew: false)
        }
        let environment = registration.environment ?? application.defaultEnvironment
        if found.rowCount == 0, let refusal = DeviceProfile(environment: environment).applying(registration).refusal {
            return .refused(refusal)
        }
        return try await transaction { connection in
            let (devices, isNew) = try await self.lock(
                registration, environment, mayBeNew: mayBeNew, application.id, on: connection)
            guard let device = devices.first, mayBeNew || device.subscriptionID == registration.subscription else {
                return .unknown
            }
            let after = device.profile.applying(registration)
            if let refusal = after.refusal { return .refused(refusal) }
            // Another device that had the token is this one from before, under a user who is gone.
            var calls = devices.dropFirst().flatMap { DeviceStatements.removal(of: [$0.number], application.id) }
            calls +=
                DeviceChange(
                    application: application.id, device: device.number, before: device.profile, after: after,
                    registration: registration,
                    pushToken: registration.pushToken == device.pushToken ? nil : registration.pushToken
                ).calls
            if !calls.isEmpty { _ = try await connection.run(calls) }
            return .registered(UserDevice(subscriptionID: device.subscriptionID, profile: after), isNew: isNew)
        }
    }

    /// The rows a registration names, locked: its own first, then that of another device that has the token. Made when there is
    /// none, if it may be.
    private func lock(
        _ registration: DeviceRegistration, _ environment: PushEnvironment, mayBeNew: Bool, _ application: ApplicationID,
        on connection: DatabaseConnection
    ) async throws -> (devices: [KnownDevice], isNew: Bool) {
        let name = registration.name(application)
        // Who lost a row between two looks comes again, as often as a transaction that lost against another.
        for look in 0...Self.conflictRetryLimit {
            // A token alone is mostly new when a registration gets here; an identifier is mostly known.
            if registration.subscription == nil || look > 0 {
                let added = try await connection.query(
                    DeviceStatements.add,
                    [
                        .application(application), registration.pushToken.map(Parameter.bytes) ?? .null,
                        .int16(environment.rawValue),
                    ])
                if added.rowCount == 1 {
                    let device = KnownDevice(
                        number: added.int64(row: 0, column: 0), subscriptionID: added.uuid(column: 1),
                        pushToken: registration.pushToken, profile: DeviceProfile(environment: environment))
                    return ([device], true)
                }
            }
            // The rows are locked first; what belongs to them is read afterwards, as their last owners left it.
            let found = try await connection.run([
                StatementCall(registration.lockStatement, name), StatementCall(registration.findStatement, name),
            ])[1]
            let devices = (0..<found.rowCount).compactMap { KnownDevice(found, row: $0) }
            guard devices.count == found.rowCount else { throw StorageError.refused(sqlState: SQLStates.unreadableValue) }
            if !devices.isEmpty || !mayBeNew { return (devices, false) }
        }
        throw StorageError.unavailable
    }
}

/// A row of `DeviceStatements.find`.
struct KnownDevice {
    let number: Int64
    let subscriptionID: UUID
    /// Nil as long as the device has not told any.
    let pushToken: [UInt8]?
    let profile: DeviceProfile

    var seen: UserDevice { UserDevice(subscriptionID: subscriptionID, profile: profile) }

    /// Whether storing the registration would change anything.
    func isChanged(by registration: DeviceRegistration) -> Bool {
        if let token = registration.pushToken, token != pushToken { return true }
        return profile.applying(registration) != profile
    }
}

extension KnownDevice {
    /// Nil when the row holds what this version cannot read.
    init?(_ rows: QueryResult, row: Int) {
        guard let profile = DeviceProfile(rows, row: row) else { return nil }
        self.init(
            number: rows.int64(row: row, column: 0), subscriptionID: rows.uuid(row: row, column: 1),
            pushToken: rows.isNull(row: row, column: 17) ? nil : rows.bytes(row: row, column: 17), profile: profile)
    }
}

extension DeviceRegistration {
    fileprivate var findStatement: Statement { subscription == nil ? DeviceStatements.find : DeviceStatements.findNamed }
    fileprivate var lockStatement: Statement { subscription == nil ? DeviceStatements.lock : DeviceStatements.lockNamed }

    /// The parameters of both.
    fileprivate func name(_ application: ApplicationID) -> [Parameter] {
        [.application(application), pushToken.map(Parameter.bytes) ?? .null] + (subscription.map { [.uuid($0)] } ?? [])
    }
}
