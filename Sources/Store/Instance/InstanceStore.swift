import Gateway
import PostgreSQL

extension Store {
    /// What a start says that nobody can get.
    static let nobodyFailure = "no eligible device: the profile has no device that could be started from the server for this type"
    static let noAccountFailure = "no eligible device: the app has no service account for FCM, which Android devices need"
    static let noTokenFailure = "no device of the instance has told an update token"

    func startInstance(_ start: StoredInstanceStart, application: Application) async throws(StorageError) -> Bool {
        try await transaction { connection in
            let found = try await self.find(start.command, application: application.id, on: connection)
            if found.isOverloaded { return false }
            var notification: NotificationID?
            let recipients = try await self.recipients(of: start, application, on: connection)
            if let type = recipients.types.first, !recipients.devices.isEmpty {
                guard
                    case .accepted(let accepted) = try await self.store(
                        start.command, type: type, types: recipients.types, devices: recipients.devices, audience: nil,
                        usersSeen: recipients.snapshot, application: application.id, on: connection)
                else { throw StorageError.unavailable }
                notification = accepted.id
                try await self.hold(accepted.id, of: start, android: recipients.android, application.id, on: connection)
            }
            let isWithoutAccount = start.request.platform == .android && application.fcmAccount == nil
            let failure = isWithoutAccount ? Self.noAccountFailure : Self.nobodyFailure
            let isOnAndroidOnly =
                application.bundleID == nil || !recipients.devices.isEmpty && recipients.devices == recipients.android
            try await self.add(
                start, platform: start.request.platform ?? (isOnAndroidOnly ? .android : nil), notification: notification,
                failure: notification == nil ? failure : nil, application.id, on: connection)
            return true
        }
    }

    /// The devices of the profile that can be started, the types of their tokens, and what had been committed when they were found.
    private func recipients(
        of start: StoredInstanceStart, _ application: Application, on connection: DatabaseConnection
    ) async throws -> (types: [Int32], devices: [Int64], android: [Int64], snapshot: String?) {
        let request = start.request
        let platforms: [DevicePlatform] = request.platform.map { [$0] } ?? DevicePlatform.allCases
        let reachable = platforms.filter { $0 != .android || application.fcmAccount != nil }
        let names: [Parameter] = [.application(application.id), .textArray(start.types)]
        let results = try await connection.run([
            StatementCall(InstanceStatements.types, names),
            StatementCall(
                InstanceStatements.devices,
                names + [
                    .textArray(request.profile.map(\.label)), .textArray(request.profile.map(\.identifier)),
                    request.pushToken.map(Parameter.bytes) ?? .null, .int16Array(reachable.map(\.rawValue)),
                ]),
        ])
        let (types, devices) = (results[0], results[1])
        let numbers = (0..<devices.rowCount).map { devices.int64(row: $0, column: 0) }
        let android = (0..<devices.rowCount).filter { devices.int16(row: $0, column: 1) == DevicePlatform.android.rawValue }
        return (
            (0..<types.rowCount).map { types.int32(row: $0, column: 0) }, numbers, android.map { numbers[$0] },
            numbers.isEmpty ? nil : devices.text(row: 0, column: 2)
        )
    }

    /// Android devices have no token of the activity that they could tell: from now on updates reach them under their own.
    private func hold(
        _ notification: NotificationID, of start: StoredInstanceStart, android devices: [Int64], _ application: ApplicationID,
        on connection: DatabaseConnection
    ) async throws {
        guard !devices.isEmpty else { return }
        let profile = start.request.profile
        _ = try await connection.run([
            StatementCall(InstanceStatements.lockDevices, [.application(application), .int64Array(devices)]),
            StatementCall(
                InstanceStatements.hold,
                [
                    .notification(notification), .int64Array(devices), .textArray(profile.map(\.label)),
                    .textArray(profile.map(\.identifier)),
                ]),
        ])
    }

    private func add(
        _ start: StoredInstanceStart, platform: DevicePlatform?, notification: NotificationID?, failure: String?,
        _ application: ApplicationID,
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
                    platform.map { .int16($0.rawValue) } ?? .null, .int16(InstanceSource.api.rawValue),
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
        let command: UpdateCommand
        switch update.basis {
        case .delivery(let last):
            if let last, InstanceID(locked.uuid(column: 2)) != last { return (.outOfDate, []) }
            command = update.command
        case .whatIsThere(let remake):
            let material = InstanceMaterial(
                attributes: locked.bytes(row: 0, column: 6), contentState: locked.bytes(row: 0, column: 7),
                deepLink: locked.optionalText(column: 8))
            switch remake(material) {
            case .made(let remade): command = remade
            case .tooLarge(let byteCount): return (.tooLarge(byteCount: byteCount), [])
            }
        }
        let pushed = try await push(command, activity: found, application: application, on: connection)
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
                    .uuid(update.delivery.value), update.request.attributes.map(Parameter.bytes) ?? .null,
                    update.request.contentState.map(Parameter.bytes) ?? .null, Parameter(update.request.deepLink), .bool(isEnd),
                    .null,
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
