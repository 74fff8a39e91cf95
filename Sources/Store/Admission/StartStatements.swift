import Gateway
import PostgreSQL

enum StartStatements {
    static let all = [limitTime, replay, type, devicesByAlias, devicesBySubscription, noteUnknownEntries, accept]

    static let keyLifetime = "interval '\(AdmissionLimits.idempotencyDays) days'"

    /// For the rest of the transaction: milliseconds, as text.
    static let limitTime = Statement(
        name: "start_limit_time", text: "select set_config('statement_timeout', $1, true)")

    /// The first use of a key: app, key.
    static let replay = Statement(
        name: "start_replay",
        text: """
            select notification.public_id, idempotency.body_digest
            from idempotency join notification using (notification_id)
            where idempotency.app_id = $1 and idempotency.key = $2 and idempotency.created_at > now() - \(keyLifetime)
            """)

    /// The number of a type, the moment, and whether too many starts of the app are unfinished: app, name, how many may be. One row,
    /// whether the type is known or not.
    static let type = Statement(
        name: "start_type",
        text: """
            select (select type_id from activity_type where app_id = $1 and name = $2), now(),
                (select count(*) >= $3::int
                from (
                    select from fan_out
                    where app_id = $1 and event = 0 and finished_at is null
                    limit $3::int) as unfinished)
            """)

    /// As text, and made once for all rows.
    static let snapshot = "(select pg_current_snapshot()::text)"

    // Each entry of a list is looked up by itself: with joins, a long list makes the planner read the tables, all apps' rows included.
    /// Devices of a list that hold a token, each with the number of entries that name nobody, and what had been committed when this was
    /// read. `found` has a row an entry and device.
    private static func devices(name: String, found: String) -> Statement {
        Statement(
            name: name,
            text: """
                with found as materialized (\(found))
                select distinct token.device_id, (select count(*) from found where found.device_id is null), \(snapshot)
                from found
                    cross join lateral (
                        select device_id from start_token
                        where app_id = $1 and type_id = $2 and device_id = found.device_id
                        offset 0) as token
                order by token.device_id
                """)
    }

    /// App, type, labels, identifiers.
    static let devicesByAlias = devices(name: "start_devices_by_alias", found: ListedAliases.found)

    /// App, type, subscription ids.
    static let devicesBySubscription = devices(
        name: "start_devices_by_subscription",
        found: """
            select device.device_id
            from unnest($3::uuid[]) as wanted (public_id)
                left join lateral (
                    select device_id from device where app_id = $1 and public_id = wanted.public_id
                    offset 0) as device on true
            """)

    /// Notes that entries of a start's list name nobody: notification, how many.
    static let noteUnknownEntries = Statement(
        name: "start_note_unknown_entries",
        text: "update fan_out set unknown_entries = $2 where notification_id = $1")

    // A state that was refused before is older than what the start shows. One that joins a running activity leaves an update to the
    // devices that were started before; an end it does away with, for the activity goes on.
    /// Key, activity, notification and fan-out in one: app, key, digest, activity id, type, name, content, seconds to live,
    /// whether languages differ, conditions, devices, devices of a chunk, types of their tokens or null, end of its life or null, the snapshot
    /// in which users were found or null. No row when the key is taken.
    static let accept = Statement(
        name: "start_accept",
        text: """
            with fresh as materialized (select new_time_ordered_id() as notification_id),
            used as (
                insert into idempotency as kept (app_id, key, notification_id, body_digest)
                select $1, $2::uuid, notification_id, $3 from fresh where $2::uuid is not null
                on conflict (app_id, key) do update
                    set notification_id = excluded.notification_id, body_digest = excluded.body_digest, created_at = now()
                    where kept.created_at <= now() - \(keyLifetime)
                returning 1),
            begun as (
                insert into activity as known (activity_number, app_id, activity_id, type_id, last_timestamp)
                select \(ActivityNumber.next(app: "$1", activityID: "$4")), $1, $4, $5, unix_seconds(clock_timestamp())
                from fresh where $2::uuid is null or exists (select from used)
                on conflict (app_id, activity_id) where ended_at is null do update
                    set type_id = excluded.type_id,
                        last_timestamp = greatest(known.last_timestamp + 1, excluded.last_timestamp)
                returning activity_number, last_timestamp, xmax = 0 as is_new),
            overtaken as (
                delete from pending_state
                using begun
                where app_id = $1 and activity_id = $4 and (begun.is_new or event = \(ActivityEvent.end.rawValue))),
            stored as (
                insert into notification
                    (notification_id, app_id, activity_number, event, type_id, name, content, push_timestamp, expires_at)
                select fresh.notification_id, $1, begun.activity_number, 0, $5, $6, $7, begun.last_timestamp,
                    least(unix_seconds(clock_timestamp()) + $8, $14::bigint)
                from fresh, begun
                returning notification_id, public_id, activity_number),
            queued as (
                insert into fan_out
                    (notification_id, app_id, activity_number, event, type_id, audience, has_languages, chunk_count, is_carved,
                    type_ids, users_seen)
                select notification_id, $1, activity_number, 0, $5, $10::text::json, $9,
                    coalesce((cardinality($11::bigint[]) - 1) / $12::int + 1, 0), $11 is not null, $13::int[], $15::text::pg_snapshot
                from stored),
            listed as (
                insert into fan_out_chunk (notification_id, number, state, devices, targeted)
                select notification_id, number, 0, part, cardinality(part)
                from stored, generate_series(0, (cardinality($11) - 1) / $12) as number,
                    lateral (select ($11)[number * $12 + 1:(number + 1) * $12] as part) as slice)
            select notification_id, public_id, pg_notify('fan_out', '') from stored
            """)
}
