import Gateway
import JSON
import PostgreSQL

/// The outcomes of one chunk, counted.
struct ChunkTally {
    let chunk: ChunkID
    let event: ActivityEvent
    let deliveries: [DeliveryRecord]
    let retries: [RetryRecord]
    let deadTokens: [DeadToken]
    let quietTokens: [QuietToken]
    private(set) var accepted: Int32 = 0
    private(set) var failed: Int32 = 0
    private(set) var unknown: Int32 = 0
    private var reasons: [Int16: Int] = [:]

    /// - Parameter isSuperseded: whether a newer state took the place of what would have been tried again.
    init(_ record: ChunkRecord, isSuperseded: Bool) {
        chunk = record.chunk
        event = record.event
        deadTokens = record.deadTokens
        quietTokens = record.quietTokens
        retries = isSuperseded ? [] : record.retries
        deliveries =
            isSuperseded
            ? record.deliveries
                + record.retries.map {
                    DeliveryRecord(device: $0.device, reason: .superseded, at: record.deliveries.last?.at ?? $0.notBefore)
                }
            : record.deliveries
        for delivery in deliveries {
            switch delivery.reason.tally {
            case .accepted: accepted += 1
            case .unknown: unknown += 1
            case .failed:
                failed += 1
                reasons[delivery.reason.rawValue, default: 0] += 1
            }
        }
    }

    /// `delivery.at_ms`: milliseconds after the moment the notification's number carries.
    func offset(of delivery: DeliveryRecord) -> Int32 {
        let stored = chunk.notification.rawValue >> 22 + Self.firstMillisecond
        return Int32(clamping: max(delivery.at.rawValue - stored, 0))
    }
    /// 2020-01-01 in milliseconds since 1970, as in `time_ordered_id`.
    static let firstMillisecond: Int64 = 1_577_836_800_000

    private var reasonsJSON: String {
        var writer = JSONWriter()
        writer.beginObject()
        for (reason, count) in reasons.sorted(by: { $0.key < $1.key }) { writer.member("\(reason)", count) }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// What `ChunkRecordStatements.close` takes.
    static func parameters(_ tallies: [ChunkTally], worker: WorkerID) -> [Parameter] {
        [
            .worker(worker), .int64Array(tallies.map(\.chunk.notification.rawValue)), .int32Array(tallies.map(\.chunk.number)),
            .int32Array(tallies.map(\.chunk.epoch)), .int32Array(tallies.map(\.accepted)), .int32Array(tallies.map(\.failed)),
            .int32Array(tallies.map(\.unknown)), .textArray(tallies.map(\.reasonsJSON)),
        ]
    }
}

enum ChunkRecordStatements {
    static let all = [
        lockRetried, close, insert, countOnce, insertRetries, keepQuiet, removeStartTokens, removeUpdateTokens,
    ]

    static let copy = "copy delivery (notification_id, device_id, at_ms, status) from stdin (format binary)"

    static let lockRetried = Statement(
        name: "record_lock_retried",
        text: """
            select notification_id, is_superseded
            from fan_out
            where notification_id = any($1::bigint[])
            order by notification_id
            for key share
            """)

    /// Closes the chunks that still have this owner and epoch, and tells which may repeat a device.
    static let close = Statement(
        name: "record_close",
        text: """
            update fan_out_chunk as chunk
            set state = 2, closed_at = clock_timestamp(), accepted = chunk.accepted + done.accepted,
                failed = chunk.failed + done.failed, unknown = chunk.unknown + done.unknown,
                reasons = case when done.reasons = '{}' then chunk.reasons
                    else add_counts(chunk.reasons, done.reasons::jsonb) end
            from unnest($2::bigint[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::text[])
                as done (notification_id, number, epoch, accepted, failed, unknown, reasons)
            where chunk.notification_id = done.notification_id and chunk.number = done.number and chunk.owner = $1
                and chunk.epoch = done.epoch and chunk.state = 1
            returning chunk.notification_id, chunk.number, chunk.is_retry or chunk.epoch > 1 or chunk.attempts is not null
            """)

    static let insert = Statement(
        name: "record_insert",
        text: """
            insert into delivery (notification_id, device_id, at_ms, status)
            select * from unnest($1::bigint[], $2::bigint[], $3::int[], $4::smallint[])
            on conflict do nothing
            returning notification_id, device_id
            """)

    // A device that told another token while its push was on the way was sent the state under both, and counted with both. That APNs took
    // one of them is what counts; else the first one told.
    /// Leaves devices that had an outcome already with one: notifications, devices, times, statuses, numbers of the chunks that counted
    /// the second one.
    static let countOnce = Statement(
        name: "record_count_once",
        text: """
            with known as materialized (
                select told.*, delivery.status as before,
                    told.status in \(DeliveryReason.acceptedList) and delivery.status not in \(DeliveryReason.acceptedList) as counts
                from unnest($1::bigint[], $2::bigint[], $3::int[], $4::smallint[], $5::int[])
                        as told (notification_id, device_id, at_ms, status, number)
                    join delivery using (notification_id, device_id)
                order by notification_id, device_id
                for update of delivery),
            corrected as (
                update delivery
                set status = known.status, at_ms = known.at_ms
                from known
                where known.counts and delivery.notification_id = known.notification_id and delivery.device_id = known.device_id),
            dropped as (
                select notification_id, number, case when counts then before else status end as status, count(*)::int as total
                from known
                group by 1, 2, 3),
            summed as (
                select notification_id, number, sum(total)::int as total,
                    coalesce(sum(total) filter (where status in \(DeliveryReason.acceptedList)), 0)::int as accepted,
                    coalesce(sum(total) filter (where status = \(DeliveryReason.unknown.rawValue)), 0)::int as unknown,
                    coalesce(jsonb_object_agg(status::text, -total) filter (where \(isReason)), '{}') as reasons
                from dropped
                group by 1, 2)
            update fan_out_chunk as chunk
            set targeted = chunk.targeted - summed.total, accepted = chunk.accepted - summed.accepted,
                unknown = chunk.unknown - summed.unknown,
                failed = chunk.failed - (summed.total - summed.accepted - summed.unknown),
                reasons = add_counts(chunk.reasons, summed.reasons)
            from summed
            where chunk.notification_id = summed.notification_id and chunk.number = summed.number
            """)

    private static let isReason =
        "status not in \(DeliveryReason.acceptedList) and status <> \(DeliveryReason.unknown.rawValue)"

    // One that joined late while its push was on the way waits already, for its new token: it does not wait longer for what the old one
    // was answered, unless it is the one that APNs wants left alone.
    static let insertRetries = Statement(
        name: "record_insert_retries",
        text: """
            insert into delivery_retry as waiting (notification_id, device_id, attempt, is_targeted, not_before, app_id)
            select notification_id, retry.device_id, retry.attempt, true, retry.not_before, fan_out.app_id
            from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::timestamptz[])
                as retry (notification_id, device_id, attempt, not_before) join fan_out using (notification_id)
            order by notification_id, retry.device_id
            on conflict (notification_id, device_id) do update
                set attempt = excluded.attempt, is_targeted = true, not_before = coalesce((
                        select quiet.until
                        from fan_out join update_token as held using (activity_number)
                            join quiet_token as quiet using (activity_number, device_id, token)
                        where fan_out.notification_id = excluded.notification_id and held.device_id = excluded.device_id
                            and quiet.until > clock_timestamp()),
                    least(waiting.not_before, excluded.not_before))
            """)

    /// Notifications, devices, tokens, until when each is left alone.
    static let keepQuiet = Statement(
        name: "record_keep_quiet",
        text: """
            insert into quiet_token (activity_number, device_id, token, until)
            select distinct on (fan_out.activity_number, told.device_id)
                fan_out.activity_number, told.device_id, told.token, told.until
            from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::timestamptz[])
                as told (notification_id, device_id, token, until) join fan_out using (notification_id)
            order by fan_out.activity_number, told.device_id, told.until desc
            on conflict (activity_number, device_id) do update set token = excluded.token, until = excluded.until
            """)

    // Each token is looked up by itself, in the order of the rows: no statistics make the planner read the whole table for some of
    // them.
    private static func removeTokens(
        table: String, scope: String, by column: String, matches condition: String, statuses: String
    ) -> (dead: String, removal: String) {
        (
            """
            with dead as materialized (
                select fan_out.app_id, \(scope) as scope, told.device_id, told.token, told.since, told.status
                from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::timestamptz[], \(statuses)::smallint[])
                        as told (notification_id, device_id, token, since, status)
                    join fan_out on fan_out.notification_id = told.notification_id
                order by fan_out.\(column), told.device_id)
            """,
            """
            delete from \(table)
            where ctid = any(array(
                select doomed.ctid
                from dead cross join lateral (
                    select token.ctid
                    from \(table) as token
                    where token.app_id = dead.app_id and token.\(condition)
                        and token.device_id = dead.device_id and token.token = dead.token
                        and (dead.since is null or \(TokenTelling.isOlder("token", than: "dead.since")))
                    limit 1
                    for update) as doomed))
            """
        )
    }

    /// Notifications, devices, tokens, since when or null, reasons. Why a device has no token any more is kept for previews; a
    /// device may be told twice.
    static let removeStartTokens: Statement = {
        let parts = removeTokens(
            table: "start_token", scope: "coalesce(fan_out.type_ids, array[fan_out.type_id])", by: "type_id",
            matches: "type_id = any(dead.scope)", statuses: "$5")
        return Statement(
            name: "record_remove_start_tokens",
            text: """
                \(parts.dead),
                removed as (
                    \(parts.removal)
                    returning app_id, type_id, device_id)
                insert into removed_start_token as known (app_id, type_id, device_id, status)
                select distinct on (type_id, device_id) app_id, type_id, device_id, dead.status
                from removed join dead using (app_id, device_id)
                where removed.type_id = any(dead.scope)
                order by type_id, device_id
                on conflict (app_id, type_id, device_id) do update
                    set status = excluded.status, removed_at = excluded.removed_at
                """)
    }()
    /// Notifications, devices, tokens, since when or null.
    static let removeUpdateTokens: Statement = {
        let parts = removeTokens(
            table: "update_token", scope: "fan_out.activity_number", by: "activity_number",
            matches: "activity_number = dead.scope", statuses: "null")
        return Statement(name: "record_remove_update_tokens", text: "\(parts.dead)\n\(parts.removal)")
    }()
}
