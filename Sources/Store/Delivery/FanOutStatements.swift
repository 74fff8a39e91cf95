import Gateway
import PostgreSQL

enum FanOutStatements {
    static let all = [job, superseded, progress, dropReadyChunks, dropRetries, finishable, finishableOpen, finish]

    static let job = Statement(
        name: "fan_out_job",
        text: """
            select \(Application.columns), activity.activity_id, notification.event, notification.content,
                notification.push_timestamp, notification.expires_at, (
                    select jsonb_agg(type.name order by wanted.place)
                    from fan_out cross join unnest(fan_out.type_ids) with ordinality as wanted (type_id, place)
                        join activity_type as type on type.type_id = wanted.type_id
                    where fan_out.notification_id = $1), (
                    select jsonb_agg(jsonb_build_array(channel.environment, channel.channel_id, channel.policy))
                    from channel
                    where channel.activity_number = notification.activity_number and channel.state = 2), (
                    select fan_out.joins_channels from fan_out where fan_out.notification_id = $1)
            from notification join activity using (activity_number) join app on app.app_id = notification.app_id
            where notification.notification_id = $1
            """)

    static let superseded = Statement(
        name: "fan_out_superseded",
        text: "select notification_id from fan_out where notification_id = any($1::bigint[]) and is_superseded")

    static let progress = Statement(
        name: "fan_out_progress",
        text: """
            select
                (select coalesce(sum(accepted), 0)::bigint from fan_out_chunk where notification_id = $1),
                finished_at is not null,
                is_superseded and exists (
                    select from activity
                    where activity.activity_number = fan_out.activity_number and activity.ended_at is null)
            from fan_out
            where notification_id = $1
            """)

    // A device that told another token meanwhile may have been sent the state under that: what has its outcome was counted as targeted with
    // it, and once more here, which is taken back.
    /// Closes the chunks nobody claimed of superseded fan-outs.
    static let dropReadyChunks = Statement(
        name: "fan_out_drop_ready_chunks",
        text: """
            with ready as (
                select notification_id, number, devices,
                    coalesce(cardinality(devices), targeted - accepted - failed - unknown) as total
                from fan_out_chunk
                where notification_id = any($1::bigint[]) and state = 0
                order by notification_id, number
                for update),
            told as (
                insert into delivery (notification_id, device_id, at_ms, status)
                select notification_id, device_id, milliseconds_after(notification_id, clock_timestamp()),
                    \(DeliveryReason.superseded.rawValue)
                from ready, unnest(devices) as device_id
                on conflict do nothing
                returning notification_id, device_id),
            counted as (
                select ready.notification_id, ready.number, ready.total, case when ready.devices is null then ready.total else (
                    select count(*)::int from told
                    where told.notification_id = ready.notification_id and told.device_id = any(ready.devices)) end as failed
                from ready)
            update fan_out_chunk as chunk
            set state = 2, closed_at = clock_timestamp(), targeted = chunk.targeted - (counted.total - counted.failed),
                failed = chunk.failed + counted.failed,
                reasons = add_counts(
                    chunk.reasons, jsonb_build_object('\(DeliveryReason.superseded.rawValue)', counted.failed))
            from counted
            where chunk.notification_id = counted.notification_id and chunk.number = counted.number
            """)

    /// Ends what waits for another try in superseded fan-outs; late joiners simply go, they were never counted.
    static let dropRetries = Statement(
        name: "fan_out_drop_retries",
        text: """
            with dropped as (
                delete from delivery_retry
                where notification_id = any($1::bigint[])
                returning notification_id, device_id, is_targeted),
            told as (
                insert into delivery (notification_id, device_id, at_ms, status)
                select notification_id, device_id, milliseconds_after(notification_id, clock_timestamp()),
                    \(DeliveryReason.superseded.rawValue)
                from dropped
                where is_targeted
                on conflict do nothing
                returning notification_id, device_id),
            counted as (
                select dropped.notification_id, count(told.device_id)::int as failed,
                    count(*)::int - count(told.device_id)::int as known
                from dropped left join told using (notification_id, device_id)
                where dropped.is_targeted
                group by dropped.notification_id),
            numbered as (
                update fan_out
                set chunk_count = chunk_count + 1
                from counted
                where fan_out.notification_id = counted.notification_id
                returning fan_out.notification_id, fan_out.chunk_count - 1 as number, counted.failed, counted.known)
            insert into fan_out_chunk (notification_id, number, state, is_retry, closed_at, targeted, failed, reasons)
            select notification_id, number, 2, true, clock_timestamp(), -known, failed,
                add_counts('{}', jsonb_build_object('\(DeliveryReason.superseded.rawValue)', failed))
            from numbered
            """)

    private static let hasNothingLeft = """
        is_carved
            and not exists (
                select from fan_out_chunk as chunk
                where chunk.notification_id = fan_out.notification_id and chunk.state in (0, 1))
            and not exists (
                select from delivery_retry as retry where retry.notification_id = fan_out.notification_id)
        """

    /// Which of these fan-outs have nothing left to do: fan-outs, and those to pass over.
    static let finishable = Statement(
        name: "fan_out_finishable",
        text: """
            select notification_id
            from fan_out
            where notification_id = any($1::bigint[]) and notification_id <> all($2::bigint[]) and finished_at is null
                and \(hasNothingLeft)
            """)

    /// The same of the open ones behind a place, and the place behind which to go on, null at the end: place, how many to look at, and
    /// those to pass over.
    static let finishableOpen = Statement(
        name: "fan_out_finishable_open",
        text: """
            with looked as materialized (
                select notification_id, is_carved
                from fan_out
                where finished_at is null and notification_id > $1
                order by notification_id
                limit $2)
            select case when edge.total = $2 then edge.last end, fan_out.notification_id
            from (select max(notification_id) as last, count(*) as total from looked) as edge
                left join looked as fan_out on fan_out.notification_id <> all($3::bigint[]) and \(hasNothingLeft)
            """)

    // Every chunk that comes into being raises chunk_count. When that changed while this statement waited for the row, what
    // it saw is out of date, and whoever changed it looks again.
    static let finish = Statement(
        name: "fan_out_finish",
        text: """
            with done as materialized (
                select notification_id, chunk_count
                from fan_out
                where notification_id = $1 and finished_at is null and \(hasNothingLeft)),
            summed as materialized (
                select sum(targeted)::bigint as targeted, sum(accepted)::bigint as accepted, sum(failed)::bigint as failed,
                    sum(unknown)::bigint as unknown, sum_counts(reasons) as reasons
                from fan_out_chunk
                where notification_id = (select notification_id from done))
            update fan_out
            set finished_at = clock_timestamp(), targeted = coalesce(summed.targeted, 0),
                accepted = coalesce(summed.accepted, 0), failed = coalesce(summed.failed, 0),
                unknown = coalesce(summed.unknown, 0), reasons = coalesce(summed.reasons, '{}')
            from done, summed
            where fan_out.notification_id = done.notification_id and fan_out.chunk_count = done.chunk_count
                and fan_out.finished_at is null
            """)
}

extension Store {
    /// Open fan-outs that one look for finished ones goes through.
    static let openCount = 1_000

    /// Marks those of the fan-outs as finished that have nothing left to do.
    ///
    /// Runs after the commit of whatever may have been the last piece: two workers that close the last two chunks at once do
    /// not see each other's, but whoever commits last sees both.
    func finish(_ notifications: [NotificationID]) async throws(StorageError) {
        let ready = try await query(
            FanOutStatements.finishable, [.notifications(notifications), .notifications(setAside.passedOver())])
        for row in 0..<ready.rowCount { try await finish(ready.int64(row: row, column: 0)) }
    }

    /// The same of some open fan-outs behind `place`; returns where to go on, nil at the end.
    func finishOpen(behind place: Int64) async throws(StorageError) -> Int64? {
        let ready = try await query(
            FanOutStatements.finishableOpen,
            [.int64(place), .int32(Int32(Self.openCount)), .notifications(setAside.passedOver())])
        for row in 0..<ready.rowCount where !ready.isNull(row: row, column: 1) {
            try await finish(ready.int64(row: row, column: 1))
        }
        return ready.optionalInt64(column: 0)
    }

    private func finish(_ number: Int64) async throws(StorageError) {
        let notification = NotificationID(rawValue: number)
        _ = try await settingAside(notification) { () async throws(StorageError) -> QueryResult? in
            try await self.query(FanOutStatements.finish, [.notification(notification)])
        }
    }
}
