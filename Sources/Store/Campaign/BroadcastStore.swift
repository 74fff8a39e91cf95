package import Gateway
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
        ])
        guard results[0].rowCount == 1 else { return (.refused(.unknownCampaign), []) }
        if results[3].bool(row: 0, column: 0) { return (.refused(.duplicate), []) }
        guard results[4].int64(row: 0, column: 0) < Int64(CampaignLimits.runningInstanceCount) else {
            return (.refused(.tooManyInstances), [])
        }
        let found = try await find(start.command, application: application, on: connection)
        if found.isOverloaded { return (.overloaded, []) }
        guard let type = found.type else { throw StorageError.unavailable }
        // Nobody need hold a start token: devices also come by the campaign's channel, and through their own app.
        guard
            case .conditions(let audience) = try await resolve(
                start.command.audience, type: type, application: application, on: connection)
        else { return (.refused(.unknownAudience), []) }
        let superseded = try await overtakeAll(of: start.campaign.number, application, on: connection)
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
    /// can end. Cards whose dismissal date has come are removed.
    private func overtakeAll(
        of campaign: Int64, _ application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> [NotificationID] {
        var superseded: [NotificationID] = []
        let due = try await connection.query(BroadcastStatements.due, [.int64(campaign)])
        for row in 0..<due.rowCount {
            superseded += try await dismiss(
                BroadcastInstance(due, row: row), of: campaign, application, on: connection)
        }
        let unended = try await connection.query(BroadcastStatements.unended, [.int64(campaign)])
        for row in 0..<unended.rowCount {
            superseded += try await supersede(before: .end, of: unended.int64(row: row, column: 0), on: connection)
        }
        try await connection.query(BroadcastStatements.overtake, [.int64(campaign)])
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
        guard let superseded = try await push(command, of: instance, campaign.number, application, on: connection) else {
            return (.refused(.notRunning), [])
        }
        let isEnd = command.content.event == .end
        try await connection.query(
            BroadcastStatements.change,
            [
                app, .text(instance.id), .bytes(update.digest), Parameter(update.state.dismissalDate), .bool(isEnd),
                .bool(isEnd && update.event != .end),
            ])
        return (.accepted(instanceID: instance.id), superseded)
    }

    /// Stores a push of an instance, for its channels as well; the fan-outs that stop for it. Nil when its activity is over.
    private func push(
        _ command: UpdateCommand, of instance: BroadcastInstance, _ campaign: Int64, _ application: ApplicationID,
        on connection: DatabaseConnection
    ) async throws -> [NotificationID]? {
        let app = Parameter.application(application)
        let event = command.content.event
        let found = try await connection.run([
            StatementCall(UpdateStatements.lock, [app, .text(instance.id)]),
            StatementCall(UpdateStatements.find, [app, .text(instance.id), .int64(event.windowSeconds)]),
        ])[1]
        guard found.rowCount == 1, !found.bool(row: 0, column: 1) else { return nil }
        let activity = found.int64(row: 0, column: 0)
        let superseded = try await supersede(before: event, of: activity, on: connection)
        _ = try await store(command, of: activity, application: application, on: connection)
        if instance.latestDigest == nil {
            try await connection.query(BroadcastStatements.silenceEarlier, [.int64(campaign), .int64(activity)])
        }
        try await connection.query(BroadcastStatements.takeReserved, [.int64(campaign), .int64(activity)])
        return superseded
    }
}

extension Store: BroadcastDismissals {
    package func secondsToNextDismissal() async throws(StorageError) -> Int64? {
        try await query(BroadcastStatements.nextDismissal).optionalInt64(column: 0)
    }

    package func dismissDue(limit: Int) async throws(StorageError) -> Int {
        let due = try await query(BroadcastStatements.dueCampaigns, [.int32(Int32(limit))])
        var (count, failure): (Int, StorageError?) = (0, nil)
        for row in 0..<due.rowCount {
            let application = ApplicationID(rawValue: due.int32(row: row, column: 0))
            let campaign = due.int64(row: row, column: 1)
            do throws(StorageError) {
                let (dismissed, superseded): (Int, [NotificationID]) = try await transaction { connection in
                    try await self.dismissDue(of: campaign, application, on: connection)
                }
                if !superseded.isEmpty { try await finish(superseded) }
                count += dismissed
            } catch {
                // What PostgreSQL refuses of one campaign is not to keep the others.
                if case .unavailable = error { throw error }
                failure = error
            }
        }
        if let failure, count == 0 { throw failure }
        return count
    }

    private func dismissDue(
        of campaign: Int64, _ application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> (Int, [NotificationID]) {
        let due = try await connection.run([
            StatementCall(CampaignStatements.lock, [.application(application), .int64(campaign)]),
            StatementCall(BroadcastStatements.due, [.int64(campaign)]),
        ])[1]
        var superseded: [NotificationID] = []
        for row in 0..<due.rowCount {
            superseded += try await dismiss(BroadcastInstance(due, row: row), of: campaign, application, on: connection)
        }
        return (due.rowCount, superseded)
    }

    /// Ends an instance whose date has come, with its last state; the fan-outs that stop for it. The campaign is locked.
    private func dismiss(
        _ instance: BroadcastInstance, of campaign: Int64, _ application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> [NotificationID] {
        let key: [Parameter] = [.application(application), .text(instance.id)]
        let last = try await connection.query(BroadcastStatements.lastState, key)
        var superseded: [NotificationID] = []
        if last.rowCount == 1, let event = ActivityEvent(rawValue: last.int16(row: 0, column: 1)),
            let state = PushContent(stored: last.bytes(row: 0, column: 2), event: event)
        {
            let content = PushContent(
                event: .end, attributesType: nil, attributes: nil, contentState: state.contentState, alerts: [], sound: nil,
                staleDate: nil, dismissalDate: instance.dismissalDate, relevanceScore: nil, priority: state.priority,
                campaign: CampaignMark(instanceID: instance.id, start: nil))
            let command = UpdateCommand(activityID: instance.id, name: last.text(row: 0, column: 0), content: content)
            superseded = try await push(command, of: instance, campaign, application, on: connection) ?? []
        }
        try await connection.query(BroadcastStatements.dismissed, key)
        return superseded
    }
}

extension BroadcastInstance {
    /// Reads a row of `BroadcastStatements.columns`.
    fileprivate init(_ rows: QueryResult, row: Int = 0) {
        self.init(
            id: rows.text(row: row, column: 0), startedAt: rows.int64(row: row, column: 1),
            dismissalDate: rows.optionalInt64(row: row, column: 2), isEnded: rows.bool(row: row, column: 3),
            wasDismissed: rows.bool(row: row, column: 4),
            latestDigest: rows.isNull(row: row, column: 5) ? nil : rows.bytes(row: row, column: 5))
    }
}
