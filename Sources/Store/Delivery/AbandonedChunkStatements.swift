import Gateway
import PostgreSQL

/// What becomes of chunks whose worker is gone.
enum AbandonedChunkStatements {
    static let all = [takeOver, recordUnknown, handOver]

    /// A chunk that so many workers had and none recorded is not handed out once more: something about it is wrong.
    static let ownerLimit: Int32 = 5

    private static let abandoned = """
        select chunk.notification_id, chunk.number, chunk.devices, chunk.claimed_at, chunk.low, chunk.high, fan_out.app_id,
            fan_out.type_id, fan_out.activity_number, fan_out.event
        from fan_out_chunk as chunk join worker on worker.worker_id = chunk.owner
            join fan_out on fan_out.notification_id = chunk.notification_id
        where chunk.notification_id = $1 and chunk.state = 1 and worker.lost_at is not null
        """

    /// Notification, worker.
    static let takeOver = Statement(
        name: "chunk_take_over",
        text: """
            with picked as (
                \(abandoned) and fan_out.event <> 0 and not fan_out.is_superseded and chunk.epoch < \(ownerLimit)
                order by chunk.number
                limit 1
                for update of chunk skip locked)
            update fan_out_chunk as chunk
            set owner = $2, epoch = chunk.epoch + 1, claimed_at = now()
            from picked
            where chunk.notification_id = picked.notification_id and chunk.number = picked.number
            returning \(ChunkClaimStatements.claimed(from: "picked"))
            """)

    // Devices of a list that have their outcome by now were counted with that, too: once is taken back.
    /// Closes one abandoned chunk whose pushes may have left and must not leave again: notification, worker.
    static let recordUnknown = Statement(
        name: "chunk_record_unknown",
        text: """
            with picked as materialized (
                \(abandoned) and (fan_out.event = 0 or fan_out.is_superseded or chunk.epoch >= \(ownerLimit))
                order by chunk.number
                limit 1
                for update of chunk skip locked),
            told as (
                insert into delivery (notification_id, device_id, at_ms, status)
                select picked.notification_id, held.device_id, milliseconds_after($1, clock_timestamp()),
                    \(DeliveryReason.unknown.rawValue)
                from picked, lateral (
                    select unnest(picked.devices) as device_id
                    union all
                    select token.device_id
                    from start_token as token
                    where picked.devices is null and picked.event = 0 and token.app_id = picked.app_id
                        and token.type_id = picked.type_id and token.device_id > picked.low
                        and token.device_id <= picked.high and token.registered_at <= picked.claimed_at
                    union all
                    select token.device_id
                    from update_token as token
                    where picked.devices is null and picked.event <> 0 and token.activity_number = picked.activity_number
                        and token.device_id > picked.low and token.device_id <= picked.high
                        and token.registered_at <= picked.claimed_at
                        and token.started_at > unix_seconds(picked.claimed_at) - \(ActivityWindow.seconds(of: "picked.event"))
                        and not \(ChunkClaimStatements.waitsByItself(of: "picked.notification_id"))) as held
                on conflict do nothing
                returning 1)
            update fan_out_chunk as chunk
            set state = 2, owner = $2, epoch = chunk.epoch + 1, closed_at = clock_timestamp(),
                targeted = chunk.targeted - case when chunk.devices is null then 0
                    else cardinality(chunk.devices) - (select count(*)::int from told) end,
                unknown = chunk.unknown + case when chunk.devices is null
                    then chunk.targeted - chunk.accepted - chunk.failed - chunk.unknown
                    else (select count(*)::int from told) end
            from picked
            where chunk.notification_id = picked.notification_id and chunk.number = picked.number
            returning 1
            """)

    /// Gives one chunk to a worker that is gone: worker, notification, number, epoch.
    static let handOver = Statement(
        name: "chunk_hand_over",
        text: """
            with gone as (
                insert into worker (node, lease_until, lost_at)
                select 'given up', clock_timestamp(), clock_timestamp()
                from fan_out_chunk
                where notification_id = $2 and number = $3 and state = 1 and owner = $1 and epoch = $4
                returning worker_id)
            update fan_out_chunk as chunk
            set owner = gone.worker_id, epoch = greatest(chunk.epoch, \(ownerLimit))
            from gone
            where chunk.notification_id = $2 and chunk.number = $3 and chunk.state = 1 and chunk.owner = $1
                and chunk.epoch = $4
            """)
}
