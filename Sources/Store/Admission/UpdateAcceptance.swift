import Gateway
import PostgreSQL

extension Store {
    func acceptUpdate(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance {
        var superseded: [NotificationID] = []
        let acceptance: UpdateAcceptance = try await transaction { connection in
            superseded = []
            let event = update.content.event
            let found = try await connection.run([
                StatementCall(UpdateStatements.lock, [.application(application.id), .text(update.activityID)]),
                StatementCall(
                    UpdateStatements.find,
                    [.application(application.id), .text(update.activityID), .int64(event.windowSeconds)]),
            ])[1]
            guard found.rowCount == 1 else {
                try await self.keep(update, activity: nil, application: application.id, on: connection)
                return .unknownActivity
            }
            let activity = found.int64(row: 0, column: 0)
            guard !found.bool(row: 0, column: 1) else { return .ended }
            guard found.bool(row: 0, column: 2) else {
                try await self.keep(update, activity: activity, application: application.id, on: connection)
                return .nobody
            }
            superseded = try await self.supersede(before: event, of: activity, on: connection)
            return .accepted(try await self.store(update, of: activity, application: application.id, on: connection))
        }
        if !superseded.isEmpty { try await finish(superseded) }
        return acceptance
    }

    /// Stores an update or end of an activity with its fan-out, in the place of a state that was kept before.
    func store(
        _ update: UpdateCommand, of activity: Int64, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> AcceptedNotification {
        let event = update.content.event
        let stored = try await connection.run([
            StatementCall(
                UpdateStatements.accept,
                [
                    .application(application), .int64(activity), .int16(event.rawValue), .text(update.name),
                    .bytes(update.content.stored), .int64(PushLifetime.seconds(of: event)),
                    .bool(update.content.alerts.count > 1), .null, Parameter(update.expiresAt),
                ]),
            StatementCall(PendingStateStatements.drop, [.application(application), .text(update.activityID)]),
        ])[0]
        return AcceptedNotification(
            id: NotificationID(rawValue: stored.int64(row: 0, column: 0)), publicID: stored.uuid(column: 1))
    }

    /// Stops the older fan-outs of the activity where they are: an update those of updates, an end all of them.
    ///
    /// Their rows are locked first, as by everyone who claims: no chunk or retry of them can come into being afterwards.
    func supersede(
        before event: ActivityEvent, of activity: Int64, on connection: DatabaseConnection
    ) async throws -> [NotificationID] {
        let events = event == .end ? [ActivityEvent.start, .update] : [.update]
        let open = try await connection.query(
            UpdateStatements.lockOlder, [.int64(activity), .int16Array(events.map(\.rawValue))])
        let older = (0..<open.rowCount).map { NotificationID(rawValue: open.int64(row: $0, column: 0)) }
        guard !older.isEmpty else { return [] }
        _ = try await connection.run([
            StatementCall(UpdateStatements.supersede, [.notifications(older)]),
            StatementCall(FanOutStatements.dropReadyChunks, [.notifications(older)]),
            StatementCall(FanOutStatements.dropRetries, [.notifications(older)]),
        ])
        return older
    }
}

enum UpdateStatements {
    static let all = [lock, find, lockOlder, supersede, accept]

    /// Alone with the activity of this name until the transaction ends: app, activity id. Devices that register tokens of it
    /// hold the same lock shared.
    static let lock = Statement(name: "activity_lock", text: "select pg_advisory_xact_lock($1, hashtext($2))")

    /// The newest activity of a name, whether it has ended, whether a device can be pushed: app, activity id, window.
    static let find = Statement(
        name: "update_find",
        text: """
            select activity_number, ended_at is not null,
                exists (
                    select from update_token as token
                    where token.activity_number = activity.activity_number and token.ended_at is null
                        and token.started_at > unix_seconds(now()) - $3)
            from activity
            where app_id = $1 and activity_id = $2
            order by activity_number desc
            limit 1
            """)

    // The latest one may have late joiners waiting although it has finished. They are named by an array: of a row it had to wait
    // for, PostgreSQL looks at IN again, and may then compare the row with the first of the others only.
    /// What a newer state takes the place of: activity, events.
    static let lockOlder = Statement(
        name: "update_lock_older",
        text: """
            select notification_id
            from fan_out
            where notification_id = any(array(
                    select notification_id from fan_out where activity_number = $1 and finished_at is null
                    union all
                    select latest_notification from activity where activity_number = $1))
                and not is_superseded and event = any($2::smallint[])
            order by notification_id
            for update
            """)

    static let supersede = Statement(
        name: "update_supersede",
        text: "update fan_out set is_superseded = true, is_carved = true where notification_id = any($1::bigint[])")

    // What is over stays over, whatever was looked at before the activity's row was had.
    /// App, activity number, event, name, content, seconds to live, whether languages differ, timestamp or null for the next one,
    /// end of its life or null.
    static let accept = Statement(
        name: "update_accept",
        text: """
            with moved as (
                update activity
                set last_timestamp = greatest(
                        last_timestamp + case when $8::bigint is null then 1 else 0 end,
                        coalesce($8, unix_seconds(clock_timestamp()))),
                    latest_notification = new_time_ordered_id(),
                    ended_at = case when $3::smallint = \(ActivityEvent.end.rawValue) then clock_timestamp() else ended_at end
                where activity_number = $2
                returning activity_number, type_id, last_timestamp, latest_notification),
            stored as (
                insert into notification
                    (notification_id, app_id, activity_number, event, type_id, name, content, push_timestamp, expires_at)
                select latest_notification, $1, activity_number, $3, type_id, $4, $5, coalesce($8, last_timestamp),
                    least(unix_seconds(clock_timestamp()) + $6, $9::bigint)
                from moved
                returning notification_id, public_id),
            queued as (
                insert into fan_out (notification_id, app_id, activity_number, event, type_id, has_languages, watermark)
                select latest_notification, $1, activity_number, $3, type_id, $7, \(ChannelRecipient.behindAll) from moved)
            select notification_id, public_id, pg_notify('fan_out', '') from stored
            """)
}
