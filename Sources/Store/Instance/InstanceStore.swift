import Gateway
import PostgreSQL

extension Store {
    /// What a start says that nobody can get.
    static let nobodyFailure = "no eligible device: the profile has no device that could be started from the server for this type"
    static let androidFailure = "no eligible device: Android devices cannot be reached by this gateway"
    static let noTokenFailure = "no device of the instance has told an update token"

    func startInstance(_ start: StoredInstanceStart, application: Application) async throws(StorageError) -> Bool {
        try await transaction { connection in
            let found = try await self.find(start.command, application: application.id, on: connection)
            if found.isOverloaded { return false }
            var notification: NotificationID?
            let devices = try await self.devices(of: start.request, type: found.type, application.id, on: connection)
            if let type = found.type, !devices.isEmpty {
                guard
                    case .accepted(let accepted) = try await self.store(
                        start.command, type: type, devices: devices, audience: nil, application: application.id, on: connection)
                else { throw StorageError.unavailable }
                notification = accepted.id
            }
            let failure = start.request.platform == .android ? Self.androidFailure : Self.nobodyFailure
            try await self.add(
                start, notification: notification, failure: notification == nil ? failure : nil, application.id, on: connection)
            return true
        }
    }

    /// The devices of the profile that can be started; on Android none can.
    private func devices(
        of request: InstanceStart, type: Int32?, _ application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> [Int64] {
        guard let type, request.platform != .android else { return [] }
        let found = try await connection.query(
            InstanceStatements.devices,
            [
                .application(application), .int32(type), .textArray(request.profile.map(\.label)),
                .textArray(request.profile.map(\.identifier)), request.pushToken.map(Parameter.bytes) ?? .null,
            ])
        return (0..<found.rowCount).map { found.int64(row: $0, column: 0) }
    }

    private func add(
        _ start: StoredInstanceStart, notification: NotificationID?, failure: String?, _ application: ApplicationID,
        on connection: DatabaseConnection
    ) async throws {
        let request = start.request
        let number = notification.map { Parameter.notification($0) } ?? .null
        _ = try await connection.run([
            StatementCall(
                NotificationTypeStatements.record, [.application(application), .text(request.notificationType), .null]),
            StatementCall(
                InstanceStatements.add,
                [
                    .application(application), .uuid(start.id.value), .text(request.profile[0].label),
                    .text(request.profile[0].identifier), .text(request.notificationType),
                    request.platform.map { .int16($0.rawValue) } ?? .null, .int16(InstanceSource.api.rawValue),
                    .bytes(request.attributes), .bytes(request.contentState), Parameter(request.deepLink), Parameter(failure),
                    number, .uuid(start.delivery.value), .null, .int64(request.expiresAt),
                ]),
            StatementCall(
                InstanceStatements.addDelivery,
                [
                    .application(application), .uuid(start.id.value), .int32(1), .uuid(start.delivery.value),
                    .int16(ActivityEvent.start.rawValue), .int16(InstanceSource.api.rawValue), number, Parameter(failure), .null,
                ]),
        ])
    }

    func updateInstance(_ update: StoredInstanceUpdate, application: Application)
        async throws(StorageError) -> InstanceUpdateAcceptance
    {
        let (acceptance, superseded): (InstanceUpdateAcceptance, [NotificationID]) = try await transaction { connection in
            try await self.updateInstance(update, application: application.id, on: connection)
        }
        if !superseded.isEmpty { try await finish(superseded) }
        return acceptance
    }

    private func updateInstance(
        _ update: StoredInstanceUpdate, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> (InstanceUpdateAcceptance, [NotificationID]) {
        let instance = update.request.instance
        let results = try await connection.run([
            StatementCall(UpdateStatements.lock, [.application(application), .text(update.command.activityID)]),
            StatementCall(InstanceStatements.lock, [.application(application), .uuid(instance.value)]),
            StatementCall(
                UpdateStatements.find,
                [
                    .application(application), .text(update.command.activityID),
                    .int64(update.command.content.event.windowSeconds),
                ]),
        ])
        let (locked, found) = (results[1], results[2])
        guard locked.rowCount == 1 else { return (.unknownInstance, []) }
        if locked.bool(row: 0, column: 0) { return (.over(.ended), []) }
        if locked.bool(row: 0, column: 1) { return (.over(.expired), []) }
        if let last = update.lastDelivery, InstanceID(locked.uuid(column: 2)) != last { return (.outOfDate, []) }
        let pushed = try await push(update.command, activity: found, application: application, on: connection)
        let calls = changes(by: update, number: locked.int32(row: 0, column: 3) + 1, pushed.notification, application)
        _ = try await connection.run(calls)
        return (.accepted, pushed.superseded)
    }

    /// Queues the push. Devices that tell a token later are late joiners of it.
    private func push(
        _ command: UpdateCommand, activity found: QueryResult, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> (notification: NotificationID?, superseded: [NotificationID]) {
        var found = found
        if found.rowCount == 0 {
            // The app began it by itself, and no device has told a token yet.
            found = try await connection.run([
                StatementCall(
                    UpdateTokenStatements.addActivity, [.application(application), .text(command.activityID), .null]),
                StatementCall(
                    UpdateStatements.find,
                    [.application(application), .text(command.activityID), .int64(command.content.event.windowSeconds)]),
            ])[1]
        }
        guard found.rowCount == 1, !found.bool(row: 0, column: 1) else { return (nil, []) }
        let activity = found.int64(row: 0, column: 0)
        let superseded = try await supersede(before: command.content.event, of: activity, on: connection)
        let stored = try await store(command, of: activity, application: application, on: connection)
        return (stored.id, superseded)
    }

    private func changes(
        by update: StoredInstanceUpdate, number: Int32, _ notification: NotificationID?, _ application: ApplicationID
    ) -> [StatementCall] {
        let key: [Parameter] = [.application(application), .uuid(update.request.instance.value)]
        let isEnd = update.request.event == .end
        return [
            StatementCall(
                InstanceStatements.change,
                key + [
                    .uuid(update.delivery.value), .bytes(update.attributes), .bytes(update.contentState),
                    Parameter(update.deepLink), .bool(isEnd), .null,
                ]),
            StatementCall(
                InstanceStatements.addDelivery,
                key + [
                    .int32(number), .uuid(update.delivery.value), .int16(update.request.event.rawValue),
                    .int16(InstanceSource.api.rawValue), notification.map { .notification($0) } ?? .null,
                    Parameter(notification == nil ? Self.noTokenFailure : nil), .null,
                ]),
        ]
    }
}
