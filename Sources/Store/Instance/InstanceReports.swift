import Gateway
import PostgreSQL

/// What devices tell of instances.
extension Store {
    /// How far a device's clock may be ahead or behind before its time counts as the gateway's, in seconds.
    static let reportToleranceSeconds: Int64 = 7 * 24 * 3600

    func storeReport(_ report: InstanceReport, application: ApplicationID) async throws(StorageError) -> Bool {
        try await transaction { connection in
            let owners = report.profile.map {
                StatementCall(
                    DeviceStatements.hasAlias.byPushToken,
                    [.application(application), .bytes(report.pushToken), .text($0.label), .text($0.identifier)])
            }
            guard try await connection.run(owners).contains(where: { $0.rowCount > 0 }) else { return false }
            let fresh = try await connection.run([
                StatementCall(UpdateStatements.lock, [.application(application), .text("\(report.instance)")]),
                StatementCall(InstanceStatements.noteReport, [.application(application), .text(report.messageID)]),
                StatementCall(InstanceStatements.lock, [.application(application), .uuid(report.instance.value)]),
            ])
            guard fresh[1].affectedRowCount == 1 else { return true }
            switch report.event {
            case .start where fresh[2].rowCount == 0:
                _ = try await connection.run(self.begin(report, application))
            case .end where fresh[2].rowCount == 1 && !fresh[2].bool(row: 0, column: 0):
                _ = try await connection.run(self.end(report, number: fresh[2].int32(row: 0, column: 3) + 1, application))
            default: break
            }
            return true
        }
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

    private func end(_ report: InstanceReport, number: Int32, _ application: ApplicationID) -> [StatementCall] {
        let key: [Parameter] = [.application(application), .uuid(report.instance.value)]
        let delivery = InstanceID.mint(milliseconds: report.at * 1_000)
        return [
            StatementCall(
                InstanceStatements.change,
                key + [
                    .uuid(delivery.value), report.attributes.map(Parameter.bytes) ?? .null,
                    report.contentState.map(Parameter.bytes) ?? .null, .null, .bool(true), .int64(report.at),
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
