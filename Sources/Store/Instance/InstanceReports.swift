import Gateway
import PostgreSQL

/// What devices tell of instances.
extension Store {
    /// What a device says happened longer ago counts as of now, in seconds: its clock is wrong, for SDKs do not keep events that long.
    static let reportAgeSeconds: Int64 = 31 * 24 * 3600

    func storeReport(_ report: InstanceReport, application: ApplicationID) async throws(StorageError) -> Bool {
        let (isKept, superseded): (Bool, [NotificationID]) = try await transaction { connection in
            let locked = try await connection.run([
                StatementCall(UpdateStatements.lock, [.application(application), .text("\(report.instance)")]),
                StatementCall(InstanceStatements.lock, [.application(application), .uuid(report.instance.value)]),
            ])[1]
            let known = locked.rowCount == 1 ? KnownInstance(locked) : nil
            guard try await self.isOwner(report, of: known, application, on: connection) else { return (false, []) }
            let noted = try await connection.query(
                InstanceStatements.noteReport, [.application(application), .text(report.messageID)])
            guard noted.affectedRowCount == 1 else { return (true, []) }
            // An end may come before its start: the SDK sends its files one by one.
            if known == nil { _ = try await connection.run(self.begin(report, application)) }
            guard report.event == .end, known.map({ !$0.isOver }) ?? true else { return (true, []) }
            let number = (known?.deliveryCount ?? 1) + 1
            return (true, try await self.end(report, number: number, application, on: connection))
        }
        if !superseded.isEmpty { try await finish(superseded) }
        return isKept
    }

    /// Notes the end, and ends the instance when no other device shows it: nothing of it is sent any more. Returns the fan-outs that stop.
    private func end(
        _ report: InstanceReport, number: Int32, _ application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> [NotificationID] {
        let activity: [Parameter] = [.application(application), .text("\(report.instance)")]
        let held = try await connection.run([
            StatementCall(InstanceStatements.isHeldElsewhere, activity + [.bytes(report.pushToken)]),
            StatementCall(UpdateStatements.find, activity + [.int64(ActivityEvent.end.windowSeconds)]),
        ])
        let endsInstance = !held[0].bool(row: 0, column: 0)
        _ = try await connection.run(end(report, number: number, endsInstance: endsInstance, application))
        guard endsInstance, held[1].rowCount == 1, !held[1].bool(row: 0, column: 1) else { return [] }
        let superseded = try await supersede(before: .end, of: held[1].int64(row: 0, column: 0), on: connection)
        try await connection.query(InstanceStatements.forget, activity)
        return superseded
    }

    /// Whether the device is that of the profile the instance was begun for, or of the one that is told.
    private func isOwner(
        _ report: InstanceReport, of known: KnownInstance?, _ application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> Bool {
        var names = report.profile
        if let known {
            // A start by an address or a number reaches apps that call their users so, too.
            names = [
                known.profile, AliasReference(label: DeviceProfile.externalIDLabel.text, identifier: known.profile.identifier),
            ]
        }
        let found = try await connection.run(
            names.map {
                StatementCall(
                    DeviceStatements.hasAlias.byPushToken,
                    DeviceName.pushToken(report.pushToken).parameters(
                        with: DeviceAlias(label: ExactText($0.label), identifier: ExactText($0.identifier)), application))
            })
        return found.contains { $0.rowCount > 0 }
    }

    private func begin(_ report: InstanceReport, _ application: ApplicationID) -> [StatementCall] {
        let delivery = InstanceID(UUID(high: report.instance.value.high, low: ~report.instance.value.low))
        let empty = Array("{}".utf8)
        return [
            StatementCall(NotificationTypeStatements.record, [.application(application), .text(report.notificationType), .null]),
            StatementCall(
                InstanceStatements.add,
                [
                    .application(application), .uuid(report.instance.value), .text(report.profile[0].label),
                    .text(report.profile[0].identifier), .text(report.notificationType), .int16(report.platform.rawValue),
                    .int16(InstanceSource.device.rawValue), .bytes(report.attributes ?? empty),
                    .bytes(report.contentState ?? empty), .null, .null, .null, .uuid(delivery.value), .int64(report.at), .null,
                ]),
            StatementCall(
                InstanceStatements.addDelivery,
                [
                    .application(application), .uuid(report.instance.value), .int32(1), .uuid(delivery.value),
                    .int16(ActivityEvent.start.rawValue), .int16(InstanceSource.device.rawValue), .null, .null,
                    .int64(report.at),
                ]),
        ]
    }

    private func end(
        _ report: InstanceReport, number: Int32, endsInstance: Bool, _ application: ApplicationID
    ) -> [StatementCall] {
        let key: [Parameter] = [.application(application), .uuid(report.instance.value)]
        let delivery = InstanceID.mint(milliseconds: report.at * 1_000)
        return [
            StatementCall(
                InstanceStatements.change,
                key + [
                    .uuid(delivery.value), .null, .null, .null, .bool(endsInstance), .int64(report.at),
                ]),
            StatementCall(
                InstanceStatements.addDelivery,
                key + [
                    .int32(number), .uuid(delivery.value), .int16(ActivityEvent.end.rawValue),
                    .int16(InstanceSource.device.rawValue), .null, .null, .int64(report.at),
                ]),
        ]
    }

    func storeCount(opened: Bool, delivery: InstanceID, messageID: String, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        let counted = try await query(
            InstanceStatements.count,
            [.application(application), .uuid(delivery.value), .text(messageID), .bool(opened)])
        return counted.rowCount == 1
    }
}

/// A row of `InstanceStatements.lock`.
private struct KnownInstance {
    let isOver: Bool
    let deliveryCount: Int32
    let profile: AliasReference

    init(_ row: QueryResult) {
        isOver = row.bool(row: 0, column: 0) || row.bool(row: 0, column: 1)
        deliveryCount = row.int32(row: 0, column: 3)
        profile = AliasReference(label: row.text(row: 0, column: 4), identifier: row.text(row: 0, column: 5))
    }
}
