import Gateway
import PostgreSQL

/// What is written of chunks that a worker holds.
extension ChunkClaimStatements {
    // A device of a retry that has its outcome by now (it told another token meanwhile and got the state under that) was
    // counted as targeted when it was first tried, and again with that outcome: once is taken back.
    /// Notes what a claimed chunk really holds: notification, number, devices with a token, their attempts, those without.
    static let settle = Statement(
        name: "chunk_settle",
        text: """
            with told as (
                insert into delivery (notification_id, device_id, at_ms, status)
                select $1, device_id, milliseconds_after($1, clock_timestamp()), \(DeliveryReason.tokenGone.rawValue)
                from unnest($5::bigint[]) as device_id
                on conflict do nothing)
            update fan_out_chunk
            set devices = $3::bigint[], attempts = $4::smallint[],
                state = case when cardinality($3) = 0 then 2 else state end,
                closed_at = case when cardinality($3) = 0 then clock_timestamp() end,
                targeted = case
                    when is_retry then targeted - (cardinality(devices) - cardinality($3) - cardinality($5))
                    else failed + unknown + cardinality($5) + cardinality($3) end,
                failed = failed + cardinality($5),
                reasons = case when cardinality($5) = 0 then reasons else add_counts(
                    reasons, jsonb_build_object('\(DeliveryReason.tokenGone.rawValue)', cardinality($5))) end
            where notification_id = $1 and number = $2
            """)

    // The closed chunk that counted the outcome stays as it is: this one counts it with a number below zero, so that the sum over all
    // chunks is the truth, whatever becomes of it. The devices were counted as targeted with that outcome already.
    /// Forgets the old outcomes of devices that a claimed chunk sends the state again: notification, number, devices.
    static let takeBack = Statement(
        name: "chunk_take_back",
        text: """
            with forgotten as materialized (
                delete from delivery
                where notification_id = $1 and device_id = any($3::bigint[])
                    and status not in \(DeliveryReason.acceptedList)
                returning status)
            update fan_out_chunk as chunk
            set targeted = chunk.targeted - told.total, failed = chunk.failed - told.failed,
                unknown = chunk.unknown - (told.total - told.failed), reasons = add_counts(chunk.reasons, told.reasons)
            from (
                select coalesce(sum(total), 0)::int as total,
                    coalesce(sum(total) filter (where status <> \(DeliveryReason.unknown.rawValue)), 0)::int as failed,
                    coalesce(
                        jsonb_object_agg(status::text, -total) filter (where status <> \(DeliveryReason.unknown.rawValue)), '{}')
                        as reasons
                from (select status, count(*) as total from forgotten group by status) as counted) as told
            where chunk.notification_id = $1 and chunk.number = $2
            """)

    /// Keeps a worker's fan-outs from being superseded until the transaction ends: worker, numbers of notifications to look at.
    static let lockOwned = Statement(
        name: "chunk_lock_owned",
        text: """
            select notification_id, is_superseded
            from fan_out
            where finished_at is null and notification_id = any(array(
                select open.notification_id
                from fan_out as open
                where open.finished_at is null and exists (
                    select from fan_out_chunk as chunk
                    where chunk.notification_id = open.notification_id and chunk.state = 1 and chunk.owner = $1)))
            order by notification_id
            for key share
            """)

    /// Makes a worker's chunks ready again, but for those it holds: worker, the held ones' notifications and numbers, and the epoch
    /// from which on a chunk stays; null for none.
    static let giveBack = Statement(
        name: "chunk_give_back",
        text: """
            update fan_out_chunk as chunk
            set state = 0, owner = null
            from fan_out
            where fan_out.finished_at is null and chunk.notification_id = fan_out.notification_id and chunk.state = 1
                and chunk.owner = $1 and ($4::int is null or chunk.epoch < $4) and not exists (
                    select from unnest($2::bigint[], $3::int[]) as held (notification_id, number)
                    where held.notification_id = chunk.notification_id and held.number = chunk.number)
            """)
}
