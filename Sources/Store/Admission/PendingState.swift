import Gateway
import PostgreSQL

/// States that were refused for want of a device, and that the first device to come within a minute is sent.
extension Store {
    /// Keeps a refused state, instead of the one that was kept before; an end is not replaced by an update.
    ///
    /// - Parameter activity: the activity that runs; nil when none of that name is known.
    func keep(
        _ update: UpdateCommand, activity: Int64?, application: ApplicationID, on connection: DatabaseConnection
    ) async throws {
        try await connection.query(
            PendingStateStatements.keep,
            [
                .application(application), .text(update.activityID), .int16(update.content.event.rawValue), .text(update.name),
                .bytes(update.content.stored), .bool(update.content.alerts.count > 1), Parameter(activity),
            ])
    }

    /// Makes a notification of the kept state, if there is one that a device with this start may get. The caller holds the lock of
    /// the activity's name.
    ///
    /// - Returns: the fan-outs it took the place of; nil when nothing is kept.
    func acceptPendingState(
        of activity: Int64, named activityID: String, startedAt: Int64, application: ApplicationID,
        on connection: DatabaseConnection
    ) async throws -> [NotificationID]? {
        let taken = try await connection.query(
            PendingStateStatements.take,
            [.application(application), .text(activityID), .int64(activity), .int64(startedAt)])
        guard taken.rowCount == 1 else { return nil }
        guard let event = ActivityEvent(rawValue: taken.int16(row: 0, column: 0)) else {
            throw StorageError.refused(sqlState: SQLStates.unreadableValue)
        }
        let superseded = try await supersede(before: event, of: activity, on: connection)
        try await connection.query(
            UpdateStatements.accept,
            [
                .application(application), .int64(activity), .int16(event.rawValue), .text(taken.text(row: 0, column: 1)),
                .bytes(taken.bytes(row: 0, column: 2)), .int64(PushLifetime.seconds(of: event)),
                .bool(taken.bool(row: 0, column: 3)), Parameter(taken.optionalInt64(column: 4)),
                .null,
            ])
        return superseded
    }
}

enum PendingStateStatements {
    static let all = [keep, take, drop]

    /// Still worth sending: of a row with this alias.
    static func isFresh(_ alias: String) -> String {
        "\(alias).refused_at > clock_timestamp() - \(AdmissionLimits.pendingStateSeconds) * interval '1 second'"
    }

    // Its timestamp is taken now: a start that comes after it stays the newer state on the devices it reaches.
    /// App, activity id, event, name, content, whether languages differ, activity or null.
    static let keep = Statement(
        name: "pending_state_keep",
        text: """
            with placed as (
                update activity
                set last_timestamp = greatest(last_timestamp + 1, unix_seconds(clock_timestamp()))
                where activity_number = $7
                returning last_timestamp)
            insert into pending_state as kept (app_id, activity_id, event, name, content, has_languages, push_timestamp)
            values ($1, $2, $3, $4, $5, $6, (select last_timestamp from placed))
            on conflict (app_id, activity_id) do update
                set event = excluded.event, name = excluded.name, content = excluded.content,
                    has_languages = excluded.has_languages, push_timestamp = excluded.push_timestamp,
                    refused_at = excluded.refused_at
                where excluded.event = \(ActivityEvent.end.rawValue) or kept.event <> \(ActivityEvent.end.rawValue)
                    or not (\(isFresh("kept")))
            """)

    /// App, activity id, activity, start of the device's activity.
    static let take = Statement(
        name: "pending_state_take",
        text: """
            delete from pending_state as kept
            where app_id = $1 and activity_id = $2 and \(isFresh("kept"))
                and exists (select from activity where activity_number = $3 and ended_at is null)
                and $4::bigint > unix_seconds(now()) - \(ActivityWindow.seconds(of: "kept.event"))
            returning event, name, content, has_languages, push_timestamp
            """)

    /// A newer state was accepted: app, activity id.
    static let drop = Statement(
        name: "pending_state_drop", text: "delete from pending_state where app_id = $1 and activity_id = $2")
}
