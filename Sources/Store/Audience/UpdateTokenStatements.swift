import Gateway
import PostgreSQL

enum UpdateTokenStatements {
    static let all =
        [lock, addActivity, lockRows, put, noteTold, setType, joinLate, rejoinLate] + find.both + lockDevice.both + end.both

    /// A token that belongs to one activity on one device; the condition of an index.
    private static let isOwn = "service in (0, 1, 3)"

    /// An activity that ended longer ago is on no screen any more: who uses its name means a new one.
    private static let isOver = """
        activity.ended_at <= now() - \(ActivityWindow.endSeconds) * interval '1 second'
        """

    /// A device, the newest activity of a name, the device's token of it, and whether a state waits for a device:
    /// app, what names the device, activity id, token. The told token comes back as it is stored, and whether it is to be written
    /// down that it was told.
    static let find = DeviceStatement { key in
        Statement(
            name: "update_token_find\(key.suffix)",
            text: """
                    select device.device_id, device.service, activity.activity_number, type.name, activity.latest_notification,
                        token.token, token.started_at, token.ended_at is not null, \(isOver),
                        exists (
                            select from pending_state as kept
                            where kept.app_id = $1 and kept.activity_id = $3 and \(PendingStateStatements.isFresh("kept"))),
                        stored_token(device.service, $4, device.push_token), \(TokenTelling.isStale("token"))
                    from device
                        left join lateral (
                            select * from activity
                            where activity.app_id = device.app_id and activity.activity_id = $3
                            order by activity.activity_number desc
                            limit 1) as activity on true
                        left join activity_type as type on type.type_id = activity.type_id
                        left join update_token as token on token.activity_number = activity.activity_number
                            and token.device_id = device.device_id
                    where device.app_id = $1 and device.\(key.column) = $2
                """)
    }

    /// Not while an update of this activity is accepted: app, activity id. Which notification is the latest stays true until
    /// the transaction ends.
    static let lock = Statement(
        name: "activity_lock_shared", text: "select pg_advisory_xact_lock_shared($1, hashtext($2))")

    static let lockDevice = DeviceStatement { key in
        Statement(
            name: "update_token_lock_device\(key.suffix)",
            text: "select 1 from device where app_id = $1 and \(key.column) = $2 for share")
    }

    /// Makes the activity an app started itself: app, activity id, type's name.
    static let addActivity = Statement(
        name: "update_token_add_activity",
        text: """
            insert into activity (activity_number, app_id, activity_id, type_id)
            select \(ActivityNumber.next(app: "$1", activityID: "$2")), $1, $2, (select type_id from activity_type where app_id = $1 and name = $3)
            where not exists (
                select from activity
                where app_id = $1 and activity_id = $2 and (ended_at is null or not (\(isOver))))
            on conflict (app_id, activity_id) where ended_at is null do nothing
            """)

    /// The device's row and that of whoever has the token now, locked in their order: app, activity, device, token.
    static let lockRows = Statement(
        name: "update_token_lock_rows",
        text: """
            select 1
            from update_token
            where (activity_number = $2 and device_id = $3) or (app_id = $1 and token = $4 and \(isOwn))
            order by activity_number, device_id
            for update
            """)

    // A known token stays as it is but for a start that is told anew, and the time it was told. Another token replaces the old one;
    // after the device's own end it belongs to a new activity on that device.
    /// Takes the token over and stores it: app, activity, device, token, service, start or null, tolerance.
    static let put = Statement(
        name: "update_token_put",
        text: """
            with taken as (
                delete from update_token
                where app_id = $1 and token = $4 and \(isOwn)
                    and (activity_number, device_id) <> ($2, $3)
                returning 1),
            told as (
                select case when $6::bigint is not null then least($6, unix_seconds(now()) + $7::bigint) end as started_at)
            insert into update_token as stored (activity_number, device_id, app_id, token, service, started_at, registered_at)
            select $2, $3, $1, $4, $5, coalesce(told.started_at, unix_seconds(now())), clock_timestamp()
            from told, (select count(*) from taken) as counted
            on conflict (activity_number, device_id) do update
                set token = excluded.token, service = excluded.service,
                    started_at = coalesce(
                        (select started_at from told),
                        case when stored.ended_at is null then stored.started_at else excluded.started_at end),
                    ended_at = case when stored.token = excluded.token then stored.ended_at end,
                    registered_at = case when stored.token = excluded.token then stored.registered_at
                        else excluded.registered_at end,
                    told_at = case when stored.token = excluded.token then excluded.registered_at end
                where stored.token <> excluded.token or \(TokenTelling.isStale("stored"))
                    or (select started_at from told) is distinct from stored.started_at
                        and (select started_at from told) is not null
            returning started_at
            """)

    /// A known token was told again: activity, device, token. None when it has gone meanwhile.
    static let noteTold = Statement(
        name: "update_token_note_told",
        text: """
            update update_token
            set told_at = clock_timestamp()
            where activity_number = $1 and device_id = $2 and token = $3 and ended_at is null
            """)

    /// App, activity, type's name.
    static let setType = Statement(
        name: "update_token_set_type",
        text: """
            update activity
            set type_id = (select type_id from activity_type where app_id = $1 and name = $3)
            where activity_number = $2 and type_id is null
            """)

    // What APNs wants left alone is this very token: another one of the device does not wait with it. A state that the device was
    // sent without success is sent again; its old outcome is taken back when the new push is claimed.
    private static func lateJoiner(unless final: String, condition: String, conflict: String) -> String {
        """
        with late as (
            insert into delivery_retry (notification_id, device_id, attempt, is_targeted, not_before, app_id)
            select fan_out.notification_id, $2, 0, false, coalesce((
                    select quiet.until
                    from quiet_token as quiet
                    where quiet.activity_number = fan_out.activity_number and quiet.device_id = $2 and quiet.token = $4
                        and quiet.until > clock_timestamp()), clock_timestamp()), fan_out.app_id
            from fan_out join notification using (notification_id)
            where fan_out.notification_id = $1 and notification.expires_at > unix_seconds(now())
                and $3 > unix_seconds(now()) - \(ActivityWindow.seconds(of: "fan_out.event"))
                and not exists (
                    select from delivery
                    where delivery.notification_id = fan_out.notification_id and delivery.device_id = $2
                        and (\(final)))\(condition)
            on conflict (notification_id, device_id) \(conflict)
            returning 1)
        select pg_notify('fan_out', '') from late
        """
    }

    // While the fan-out has not passed the device, it waits: a page that has its token takes it off the list again.
    /// Queues the latest state for a device that just told its token: notification, device, start, token, whether the token is
    /// another one than before.
    static let joinLate = Statement(
        name: "update_token_join_late",
        text: lateJoiner(
            unless: """
                delivery.status in \(DeliveryReason.acceptedList)
                        or not $5::boolean and delivery.status not in \(DeliveryReason.deadList)
                """, condition: "", conflict: "do update set not_before = excluded.not_before where $5"))

    /// The same for a token that was known before: notification, device, start, token. Only when no page or list of the fan-out can
    /// have it.
    static let rejoinLate = Statement(
        name: "update_token_rejoin_late",
        text: lateJoiner(
            unless: "delivery.status not in \(DeliveryReason.deadList)",
            condition: """

                    and (fan_out.is_carved or fan_out.watermark >= $2)
                    and not exists (
                        select from fan_out_chunk as chunk
                        where chunk.notification_id = fan_out.notification_id and chunk.state in (0, 1)
                            and ($2 = any(chunk.devices)
                                or chunk.devices is null and chunk.low < $2 and chunk.high >= $2))
                """, conflict: "do nothing"))

    /// Notes that a device's newest activity of a name is over: app, what names the device, activity id. A row when it has one.
    static let end = DeviceStatement { key in
        Statement(
            name: "update_token_end\(key.suffix)",
            text: """
                    with held as materialized (
                        select token.activity_number, token.device_id
                        from device join update_token as token on token.app_id = device.app_id and token.device_id = device.device_id
                            join activity using (activity_number)
                        where device.app_id = $1 and device.\(key.column) = $2 and activity.activity_id = $3
                        order by token.activity_number desc
                        limit 1),
                    ended as (
                        update update_token as token
                        set ended_at = clock_timestamp()
                        from held
                        where token.activity_number = held.activity_number and token.device_id = held.device_id
                            and token.ended_at is null)
                    select 1 from held
                """)
    }
}
