package import Gateway
import PostgreSQL

extension Store: ChannelStartLedger {
    package func accept(_ start: StartCommand, application: Application, channels demand: ChannelDemand)
        async throws(StorageError) -> ChannelStart
    {
        var lacking: [PushEnvironment] = []
        do throws(StorageError) {
            let acceptance: StartAcceptance = try await transaction { connection in
                lacking = []
                let acceptance = try await self.accept(start, application: application, on: connection)
                guard case .accepted(let notification) = acceptance, demand != .none else { return acceptance }
                let missing = try await connection.query(
                    ActivityChannelStatements.take, [.notification(notification.id), .application(application.id)])
                lacking = (0..<missing.rowCount).compactMap { PushEnvironment(rawValue: missing.int16(row: $0, column: 0)) }
                // Thrown so that nothing of it stays.
                if demand == .required, !lacking.isEmpty { throw StorageError.unavailable }
                return acceptance
            }
            return .decided(acceptance, without: lacking)
        } catch {
            guard demand == .required, !lacking.isEmpty, error == .unavailable else { throw error }
            return .lacking(lacking)
        }
    }
}

extension Store: ChannelSubscriptions {
    package func joinChannel(of activityID: String, device pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> ChannelMembership
    {
        let found = try await query(
            ActivityChannelStatements.membership, [.application(application), .bytes(pushToken), .text(activityID)])
        guard found.rowCount == 1 else { return .unknownDevice }
        guard let activity = found.optionalInt64(column: 3) else { return .unknownActivity }
        guard !found.bool(row: 0, column: 4) else { return .ended }
        guard let identifier = found.optionalText(column: 5), let startedAt = found.optionalInt64(column: 7),
            let environment = PushEnvironment(rawValue: found.int16(row: 0, column: 1)),
            let policy = ChannelStoragePolicy(rawValue: found.int16(row: 0, column: 6))
        else { return .noChannel }
        guard found.bool(row: 0, column: 2) else { return .tooOld }
        try await query(
            ActivityChannelStatements.join,
            [.int64(activity), .int64(found.int64(row: 0, column: 0)), .application(application)])
        return .joined(
            ActivityChannel(environment: environment, identifier: identifier, policy: policy),
            ActivityWindow(startedAt: startedAt))
    }
}
