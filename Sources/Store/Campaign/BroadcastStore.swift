import Gateway
import PostgreSQL

/// Instances of campaigns. Each is an activity under its own identifier; a campaign's calls come one after the other.
extension Store {
    func startBroadcast(
        _ start: StoredBroadcastStart, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> (BroadcastStartAcceptance, [NotificationID]) {
        let app = Parameter.application(application)
        let campaign = Parameter.int64(start.campaign.number)
        let results = try await connection.run([
            StatementCall(CampaignStatements.lock, [app, campaign]),
            StatementCall(StartTokenStatements.addType, [app, .text(start.command.activityType)]),
            // Before the activities' rows, as everywhere, and before the look for who has the name: another campaign may be taking it.
            StatementCall(BroadcastStatements.lockNames, [app, .text(start.instanceID), campaign]),
            StatementCall(BroadcastStatements.known, [app, .text(start.instanceID)]),
            StatementCall(BroadcastStatements.runningCount, [campaign]),
            StatementCall(BroadcastStatements.unended, [campaign]),
        ])
        guard results[0].rowCount == 1 else { return (.refused(.unknownCampaign), []) }
        if results[3].bool(row: 0, column: 0) { return (.refused(.duplicate), []) }
        guard results[4].int64(row: 0, column: 0) < Int64(CampaignLimits.runningInstanceCount) else {
            return (.refused(.tooManyInstances), [])
        }
        let unended = (0..<results[5].rowCount).map { results[5].int64(row: $0, column: 0) }
        let found = try await find(start.command, application: application, on: connection)
        if found.isOverloaded { return (.overloaded, []) }
        guard let type = found.type else { throw StorageError.unavailable }
        // Nobody need hold a start token: devices also come by the campaign's channel, and through their own app.
        guard
            case .conditions(let audience) = try await resolve(
                start.command.audience, type: type, application: application, on: connection)
        else { return (.refused(.unknownAudience), []) }
        let superseded = try await overtake(unended, of: start.campaign, on: connection)
        try await connection.query(BroadcastStatements.begin, [app, .text(start.instanceID), .int32(type), campaign])
        guard
            case .accepted(let accepted) = try await store(
                start.command, type: type, devices: nil, audience: audience, application: application, on: connection)
        else { throw StorageError.unavailable }
        let notification = Parameter.notification(accepted.id)
        let added = try await connection.query(
            BroadcastStatements.add,
            [app, .text(start.instanceID), campaign, notification, Parameter(start.dismissalDate)])
        try await connection.query(
            BroadcastStatements.takeChannels, [campaign, .int64(added.int64(row: 0, column: 0)), notification])
        return (.accepted, superseded)
    }

    /// Ends the instances that nobody ended, with all that is still to be sent of them: a start that left now would show a card that nobody
    /// can end.
    private func overtake(
        _ activities: [Int64], of campaign: Campaign, on connection: DatabaseConnection
    ) async throws -> [NotificationID] {
        var superseded: [NotificationID] = []
        for activity in activities { superseded += try await supersede(before: .end, of: activity, on: connection) }
        try await connection.query(BroadcastStatements.overtake, [.int64(campaign.number)])
        return superseded
    }

    func updateBroadcast(
        _ update: BroadcastUpdate, of campaign: Campaign, application: ApplicationID,
        command: @Sendable (String) -> UpdateCommand, on connection: DatabaseConnection
    ) async throws -> (BroadcastUpdateAcceptance, [NotificationID]) {
        let app = Parameter.application(application)
        let number = Parameter.int64(campaign.number)
        let results = try await connection.run([
            StatementCall(CampaignStatements.lock, [app, number]),
            update.instanceID.map { StatementCall(BroadcastStatements.named, [app, .text($0), number]) }
                ?? StatementCall(BroadcastStatements.newest, [number]),
            StatementCall(BroadcastStatements.runningCount, [number]),
            StatementCall(BroadcastStatements.clock),
        ])
        guard results[0].rowCount == 1 else { return (.refused(.unknownCampaign), []) }
        let now = results[3].int64(row: 0, column: 0)
        guard results[1].rowCount == 1 else {
            // An instance that was never started, perhaps because another one ran: that is why.
            let isFull = results[2].int64(row: 0, column: 0) >= Int64(CampaignLimits.runningInstanceCount)
            return (.refused(update.instanceID != nil && isFull ? .tooManyInstances : .notRunning), [])
        }
        let instance = BroadcastInstance(results[1])
        if let refusal = instance.refusal(of: update, now: now) { return (.refused(refusal), []) }
        let command = command(instance.id)
        let found = try await connection.run([
            StatementCall(UpdateStatements.lock, [app, .text(instance.id)]),
            StatementCall(
                UpdateStatements.find, [app, .text(instance.id), .int64(command.content.event.windowSeconds)]),
        ])[1]
        guard found.rowCount == 1, !found.bool(row: 0, column: 1) else { return (.refused(.notRunning), []) }
        let activity = found.int64(row: 0, column: 0)
        let superseded = try await supersede(before: command.content.event, of: activity, on: connection)
        _ = try await store(command, of: activity, application: application, on: connection)
        let isEnd = command.content.event == .end
        if instance.latestDigest == nil {
            try await connection.query(BroadcastStatements.silenceEarlier, [number, .int64(activity)])
        }
        _ = try await connection.run([
            StatementCall(BroadcastStatements.takeReserved, [number, .int64(activity)]),
            StatementCall(
                BroadcastStatements.change,
                [
                    app, .text(instance.id), .bytes(update.digest), Parameter(update.state.dismissalDate), .bool(isEnd),
                    .bool(isEnd && update.event != .end),
                ]),
        ])
        return (.accepted(instanceID: instance.id), superseded)
    }
}

extension BroadcastInstance {
    /// Reads a row of `BroadcastStatements.columns`.
    fileprivate init(_ rows: QueryResult) {
        self.init(
            id: rows.text(row: 0, column: 0), startedAt: rows.int64(row: 0, column: 1),
            dismissalDate: rows.optionalInt64(column: 2), isEnded: rows.bool(row: 0, column: 3),
            wasDismissed: rows.bool(row: 0, column: 4),
            latestDigest: rows.isNull(row: 0, column: 5) ? nil : rows.bytes(row: 0, column: 5))
    }
}
