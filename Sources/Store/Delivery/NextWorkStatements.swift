import Gateway
import PostgreSQL

/// What a worker may claim next, and when.
enum NextWorkStatements {
    static let all = [next, nextRetry]

    /// Whether a retry may be claimed: a late joiner waits until the fan-out has passed it, for the fan-out may still reach it.
    static let isReachable = "(retry.is_targeted or fan_out.is_carved or fan_out.watermark >= retry.device_id)"

    // Apps that have retries are hopped through by the index: those that are passed over cost one step each, however many retries they
    // have. Of the others, retries are looked at from the one that is due first, each with a look-up of its fan-out; as a join that was
    // now and then planned, few retries being known, as a walk through all fan-outs.
    /// The first retry of each app that may be claimed once it is due: apps and fan-outs to pass over.
    private static let firstRetries = """
        with recursive waiting (app_id) as (
            (select app_id from delivery_retry where app_id is not null order by app_id limit 1)
            union all
            select following.app_id
            from waiting cross join lateral (
                select retry.app_id from delivery_retry as retry where retry.app_id > waiting.app_id order by retry.app_id limit 1)
                    as following)
        select first.*
        from waiting cross join lateral (
            select retry.notification_id, retry.is_targeted, retry.not_before, fan_out.event
            from delivery_retry as retry cross join lateral (
                select event, is_carved, watermark
                from fan_out
                where notification_id = retry.notification_id and notification_id <> all($2::bigint[]) and not is_superseded
                offset 0) as fan_out
            where retry.app_id = waiting.app_id and \(isReachable)
            order by retry.not_before
            limit 1) as first
        where waiting.app_id <> all($1::int[])
        """

    // Apps are hopped through by the index here as well: those that are passed over cost one step each.
    /// The first page of each app: apps and fan-outs to pass over.
    private static let firstPages = """
        with recursive uncarved (app_id) as (
            (select app_id from fan_out where finished_at is null and not is_carved order by app_id limit 1)
            union all
            select following.app_id
            from uncarved cross join lateral (
                select next.app_id from fan_out as next
                where next.finished_at is null and not next.is_carved and next.app_id > uncarved.app_id
                order by next.app_id
                limit 1) as following)
        select first.*
        from uncarved cross join lateral (
            select fan_out.notification_id, fan_out.event, fan_out.audience is not null as has_conditions, fan_out.chunk_count
            from fan_out
            where fan_out.finished_at is null and not fan_out.is_carved and fan_out.app_id = uncarved.app_id
                and fan_out.notification_id <> all($2)
            order by fan_out.chunk_count, fan_out.notification_id
            limit 1) as first
        where uncarved.app_id <> all($1)
        """

    // Found by the chunks, which are few: fan-outs that wait for retries alone may be many.
    /// Keeps to the partitions in which chunks may be open.
    private static let isOfOpen = """
        chunk.notification_id >= (select min(notification_id) from fan_out where finished_at is null)
        """

    /// What there is to do first, from the kinds of `Work` in their order: apps and fan-outs to pass over, worker. Reads only; the
    /// claim itself finds out whether somebody else was quicker.
    static let next = Statement(
        name: "chunk_next",
        text: """
            (select 0 as work, notification_id, event, is_targeted as detail
            from (\(firstRetries)) as retry
            where not_before <= clock_timestamp()
            order by not_before
            limit 1)
            union all
            (select 1, chunk.notification_id, fan_out.event, false
            from fan_out_chunk as chunk join fan_out on fan_out.notification_id = chunk.notification_id
            where chunk.state = 0 and \(isOfOpen) and fan_out.finished_at is null and fan_out.app_id <> all($1)
                and fan_out.notification_id <> all($2)
            order by chunk.notification_id
            limit 1)
            union all
            (select 2, fan_out.notification_id, fan_out.event,
                fan_out.event = 0 or fan_out.is_superseded or abandoned.epoch >= \(AbandonedChunkStatements.ownerLimit)
            from (
                select chunk.notification_id, max(chunk.epoch) as epoch
                from fan_out_chunk as chunk join worker on worker.worker_id = chunk.owner
                where chunk.state = 1 and \(isOfOpen) and \(WorkerStatements.isGone("worker", to: "$3"))
                group by chunk.notification_id) as abandoned
                join fan_out on fan_out.notification_id = abandoned.notification_id
            where fan_out.finished_at is null and fan_out.app_id <> all($1) and fan_out.notification_id <> all($2)
            order by fan_out.notification_id
            limit 1)
            union all
            (select 3, notification_id, event, has_conditions
            from (\(firstPages)) as page
            order by chunk_count, notification_id
            limit 1)
            limit 1
            """)

    /// How long until a retry is due that `next` would choose: apps and fan-outs to pass over.
    static let nextRetry = Statement(
        name: "chunk_next_retry",
        text: """
            select case when count(*) > 0 then
                greatest(ceil(extract(epoch from min(not_before) - clock_timestamp()) * 1000), 0)::bigint end
            from (\(firstRetries)) as retry
            """)
}
