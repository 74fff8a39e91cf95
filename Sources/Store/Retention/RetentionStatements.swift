import Gateway
import PostgreSQL

enum RetentionStatements {
    static let all = [
        bounds, removeKeys, removeRetries, removeNotifications, removePendingStates, removeUpdateTokens, lockActivities,
        removeActivities, removeInstances, removeBroadcasts, removeReports, removeNames, removeQuietTokens, markWorkersLost,
        removeWorkers,
    ]

    /// What is past its time: the moment or null for the server's clock, days to keep, seconds an activity can be ended.
    static let bounds = Statement(
        name: "retention_bounds",
        text: """
            with clock as (select coalesce($1::timestamptz, clock_timestamp()) as moment),
            aged as (
                select moment, moment - $2::int * interval '24 hours' as cutoff from clock),
            days as (
                select *, date_trunc('day', cutoff at time zone 'UTC') as day from aged)
            select moment, cutoff, time_ordered_id(day at time zone 'UTC', 0),
                time_ordered_id(cutoff - $3::bigint * interval '1 second', 0), to_char(day, 'YYYYMMDD')
            from days
            """)

    /// Removes rows that are past their time, the oldest first and none that somebody is busy with; its first parameter is the most
    /// rows.
    private static func removal(
        _ name: String, from table: String, key: [String], where isOld: String, by age: String
    ) -> Statement {
        Statement(
            name: "retention_remove_\(name)",
            text: """
                with old as (
                    select \(key.joined(separator: ", ")) from \(table)
                    where \(isOld)
                    order by \(age)
                    limit $1
                    for update skip locked)
                delete from \(table) as kept
                using old
                where \(key.map { "kept.\($0) = old.\($0)" }.joined(separator: " and "))
                """)
    }

    /// A key is good for 30 days, whatever else is kept how long: most rows, moment.
    static let removeKeys = removal(
        "keys", from: "idempotency", key: ["app_id", "key"],
        where: "created_at <= $2::timestamptz - \(StartStatements.keyLifetime)", by: "created_at")
    /// Messages of SDKs, which no SDK keeps as long: most rows, the last moment that is not kept.
    static let removeReports = removal(
        "reports", from: "live_report", key: ["app_id", "message_id"], where: "counted_at <= $2::timestamptz", by: "counted_at")
    /// What users were called by; their devices have it too: most rows, the last moment that is not kept.
    static let removeNames = removal(
        "names", from: "profile_names", key: ["app_id", "external_id"], where: "told_at <= $2::timestamptz", by: "told_at")
    /// States that no device came for: most rows, moment.
    static let removePendingStates = removal(
        "pending_states", from: "pending_state", key: ["app_id", "activity_id"],
        where: "refused_at < $2::timestamptz - \(AdmissionLimits.pendingStateSeconds) * interval '1 second'",
        by: "app_id, activity_id")
    /// Tokens that may be pushed again: most rows, moment.
    static let removeQuietTokens = removal(
        "quiet_tokens", from: "quiet_token", key: ["activity_number", "device_id"], where: "until <= $2::timestamptz", by: "until"
    )
    /// Most rows, moment, seconds since the start.
    static let removeUpdateTokens = removal(
        "update_tokens", from: "update_token", key: ["activity_number", "device_id"],
        where: "started_at < unix_seconds($2::timestamptz) - $3::bigint", by: "started_at")

    /// Live notifications with their deliveries, over for long: most rows, the last moment that is not kept.
    static let removeInstances = Statement(
        name: "retention_remove_instances",
        text: """
            with old as materialized (
                select app_id, instance_id from live_instance
                where started_at <= unix_seconds($2::timestamptz)
                order by started_at
                limit $1
                for update skip locked),
            told as (
                delete from live_delivery as delivery
                using old
                where delivery.app_id = old.app_id and delivery.instance_id = old.instance_id)
            delete from live_instance as instance
            using old
            where instance.app_id = old.app_id and instance.instance_id = old.instance_id
            """)

    /// Instances of campaigns, over for long: most rows, the last moment that is not kept.
    static let removeBroadcasts = Statement(
        name: "retention_remove_broadcasts",
        text: """
            with old as (
                select app_id, instance_id from broadcast_instance
                where started_at <= unix_seconds($2::timestamptz)
                order by started_at
                limit $1
                for update skip locked)
            delete from broadcast_instance as instance
            using old
            where instance.app_id = old.app_id and instance.instance_id = old.instance_id
            """)

    /// What waits for a notification that is gone: most rows, first number that is kept.
    static let removeRetries = Statement(
        name: "retention_remove_retries",
        text: """
            with old as (
                select notification_id, device_id from delivery_retry as retry
                where notification_id < $2 and not exists (
                    select from fan_out where fan_out.notification_id = retry.notification_id)
                order by notification_id, device_id
                limit $1
                for update skip locked)
            delete from delivery_retry as retry
            using old
            where retry.notification_id = old.notification_id and retry.device_id = old.device_id
            """)

    // A fan-out that is opened again meanwhile fails the second look at finished_at, which the lock makes.
    /// Removes notifications that finished long ago, unless an idempotency key leads to them: number to begin behind, first that
    /// is kept, when it must have finished, how many to look at. Tells how many are gone, and where to go on; 0 at the end.
    static let removeNotifications = Statement(
        name: "retention_remove_notifications",
        text: """
            with seen as materialized (
                select notification_id
                from fan_out
                where notification_id > $1 and notification_id < $2
                order by notification_id
                limit $4),
            old as materialized (
                select fan_out.notification_id
                from seen join fan_out using (notification_id)
                where fan_out.finished_at <= $3
                    and not exists (
                        select from delivery_retry as retry where retry.notification_id = fan_out.notification_id)
                    and not exists (
                        select from idempotency as kept where kept.notification_id = fan_out.notification_id)
                order by fan_out.notification_id
                for update of fan_out skip locked),
            unqueued as (
                delete from fan_out using old where fan_out.notification_id = old.notification_id),
            removed as (
                delete from notification using old where notification.notification_id = old.notification_id returning 1)
            select (select count(*) from removed), case when count(*) = $4 then max(notification_id) else 0 end from seen
            """)

    private static func isForgotten(endedBefore: String) -> String {
        """
        (activity.ended_at is null or activity.ended_at <= \(endedBefore))
            and not exists (
                select from notification where notification.activity_number = activity.activity_number)
            and not exists (
                select from update_token as token where token.activity_number = activity.activity_number)
        """
    }

    // Whoever starts, updates or registers a token for the activity holds the lock of its name: with it, what the next statement
    // sees stays true. Activities somebody is busy with are passed over.
    /// Locks activities nothing speaks of any more: number to begin behind, first that is kept, when it must have ended, how many
    /// to look at. A row for each that was looked at, and whether it is locked.
    static let lockActivities = Statement(
        name: "retention_lock_activities",
        text: """
            with seen as materialized (
                select activity_number, app_id, activity_id, \(isForgotten(endedBefore: "$3")) as is_forgotten
                from activity
                where activity_number > $1 and activity_number < $2
                order by activity_number
                limit $4)
            select activity_number,
                case when is_forgotten then pg_try_advisory_xact_lock(app_id, hashtext(activity_id)) else false end
            from seen
            order by activity_number
            """)

    /// Locked activities, when they must have ended.
    static let removeActivities = Statement(
        name: "retention_remove_activities",
        text: """
            with left_channels as (
                delete from channel_member as member
                using activity
                where activity.activity_number = any($1::bigint[]) and \(isForgotten(endedBefore: "$2"))
                    and member.activity_number = activity.activity_number)
            delete from activity
            where activity_number = any($1::bigint[]) and \(isForgotten(endedBefore: "$2"))
            """)

    /// A worker that has not extended its lease for a day is gone, whether others took its chunks or not.
    static let markWorkersLost = Statement(
        name: "retention_mark_workers_lost",
        text: """
            update worker
            set lost_at = $1
            where lost_at is null and lease_until < $1::timestamptz - interval '1 day'
            """)

    /// Most rows, moment.
    static let removeWorkers = Statement(
        name: "retention_remove_workers",
        text: """
            with old as (
                select worker_id from worker
                where lost_at < $2::timestamptz - interval '1 day' and not exists (
                    select from fan_out join fan_out_chunk as chunk using (notification_id)
                    where fan_out.finished_at is null and chunk.state = 1 and chunk.owner = worker.worker_id)
                order by worker_id
                limit $1
                for update skip locked)
            delete from worker
            using old
            where worker.worker_id = old.worker_id
            """)
}
