import Gateway
import PostgreSQL

enum ChunkClaimStatements {
    static let all = [
        durable, durableByValues, claimRetry, claimReady, startTokens, typedTokens, startPage, updateTokens, updatePage, settle,
        takeBack,
        lockOwned, giveBack,
    ]

    private static let surviving = """
        set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true)
        """

    /// The first statement of a claim. It must survive a crash of the server, or its devices would silently be started again. Its statements
    /// are planned once: PostgreSQL takes the plan for any page to be dearer than one for this page, and would make one each time, which
    /// costs as much as half the page.
    static let durable = Statement(
        name: "chunk_durable", text: "select \(surviving), set_config('plan_cache_mode', 'force_generic_plan', true)")

    /// The same for claims whose best plan depends on the values of a condition.
    static let durableByValues = Statement(name: "chunk_durable_by_values", text: "select \(surviving)")

    /// What a claim returns of the chunk; `from` names where the row's values of before the claim are.
    static func claimed(from before: String) -> String {
        """
        chunk.number, chunk.epoch, chunk.is_retry, cardinality(\(before).devices), coalesce(\(before).claimed_at, now())
        """
    }

    /// Makes a chunk of due retries: notification, whether they count as targeted, worker, most devices.
    static let claimRetry = Statement(
        name: "chunk_claim_retry",
        text: """
            with open as materialized (
                select notification_id, is_carved, watermark, chunk_count
                from fan_out
                where notification_id = $1 and not is_superseded
                for no key update),
            due as materialized (
                select retry.device_id, retry.attempt
                from open as fan_out, delivery_retry as retry
                where retry.notification_id = fan_out.notification_id and retry.is_targeted = $2
                    and retry.not_before <= statement_timestamp() and \(NextWorkStatements.isReachable)
                order by retry.not_before
                limit $4
                for update of retry skip locked),
            taken as (
                delete from delivery_retry as retry
                using due
                where retry.notification_id = $1 and retry.device_id = due.device_id
                returning due.device_id, due.attempt),
            list as materialized (
                select array_agg(device_id order by device_id) as devices, array_agg(attempt order by device_id) as attempts,
                    count(*)::int as total, now() as claimed_at
                from taken),
            reopened as (
                update fan_out
                set chunk_count = fan_out.chunk_count + 1, finished_at = null
                from list
                where fan_out.notification_id = $1 and list.total > 0)
            insert into fan_out_chunk as chunk
                (notification_id, number, state, owner, epoch, devices, attempts, is_retry, claimed_at, targeted)
            select open.notification_id, open.chunk_count, 1, $3, 1, list.devices, list.attempts, $2, list.claimed_at,
                case when $2 then 0 else list.total end
            from open, list
            where list.total > 0
            returning chunk.number, chunk.epoch, chunk.is_retry, cardinality(chunk.devices), chunk.claimed_at
            """)

    /// Notification, worker.
    static let claimReady = Statement(
        name: "chunk_claim_ready",
        text: """
            with picked as (
                select notification_id, number, devices, claimed_at
                from fan_out_chunk
                where notification_id = $1 and state = 0
                order by number
                limit 1
                for update skip locked)
            update fan_out_chunk as chunk
            set state = 1, owner = $2, epoch = chunk.epoch + 1, claimed_at = now()
            from picked
            where chunk.notification_id = picked.notification_id and chunk.number = picked.number
            returning \(claimed(from: "picked"))
            """)

    // A look-up for each device of the list: how long the list is no statistics tell, and as a join it was planned as a walk through all
    // tokens.
    /// - Parameters:
    ///   - held: a query of the listed device's token.
    ///   - again: with which outcomes a device is listed; the last column says whether it has one.
    private static func tokens(
        name: String, held: String, page: String?, variant: String = "null::smallint", again: String = "false"
    ) -> Statement {
        let listed =
            page.map {
                """
                lateral (
                    select token.device_id, null::smallint as attempt
                    \($0) and token.device_id > chunk.low and token.device_id <= chunk.high
                    offset 0) as listed
                """
            } ?? "unnest(chunk.devices, chunk.attempts) as listed (device_id, attempt)"
        return Statement(
            name: name,
            text: """
                select listed.device_id, listed.attempt, token.token, token.service,
                    case when fan_out.has_languages then (
                        select device.language from device
                        where device.app_id = fan_out.app_id and device.device_id = listed.device_id) end,
                    \(variant), outcome.status is not null
                from fan_out_chunk as chunk join fan_out using (notification_id)
                    cross join \(listed)
                    left join lateral (\(held)) as token on true
                    left join lateral (
                        select delivery.status from delivery
                        where delivery.notification_id = chunk.notification_id and delivery.device_id = listed.device_id
                        offset 0) as outcome on true
                where chunk.notification_id = $1 and chunk.number = $2 and (outcome.status is null or \(again))
                order by listed.device_id
                """)
    }

    private static func startToken(if condition: String = "true") -> String {
        """
        select held.token, held.service
        from start_token as held
        where held.app_id = fan_out.app_id and held.type_id = fan_out.type_id and held.device_id = listed.device_id
            and \(condition)
        offset 0
        """
    }

    // Who left in a transaction that the start did not see was named by it as the device's user. A transaction's number means nothing in
    // a database that was restored from a dump; what is long ago in time was seen.
    /// Whether the device of a list still has the user that the start named, if it named one.
    private static let isNamedUsers = """
        (fan_out.users_seen is null or not exists (
            select from device
            where device.app_id = fan_out.app_id and device.device_id = listed.device_id
                and device.user_left_at > fan_out.created_at - interval '\(Store.userLeaveSeconds) s'
                and not pg_visible_in_snapshot(device.user_left_in, fan_out.users_seen)
            offset 0))
        """
    private static let updateToken = """
        select held.token, held.service
        from update_token as held
        where held.activity_number = fan_out.activity_number and held.device_id = listed.device_id and held.ended_at is null
            and held.started_at > unix_seconds(now()) - \(ActivityWindow.seconds(of: "fan_out.event"))
        offset 0
        """

    /// A device whose push failed and that has a token now told another one meanwhile.
    private static let hasFailed = "token.token is not null and outcome.status not in \(DeliveryReason.acceptedList)"

    /// Which variant of a start that puts devices on channels: null in all other starts.
    private static let channelVariant = """
        case when fan_out.joins_channels then coalesce((
            select joins_channels(device.os_version) from device
            where device.app_id = fan_out.app_id and device.device_id = listed.device_id), false)::int::smallint end
        """

    /// The devices of a list that have no outcome yet, with their tokens, null where there is none: notification, number.
    static let startTokens = tokens(
        name: "chunk_start_tokens", held: startToken(if: isNamedUsers), page: nil, variant: channelVariant)
    static let updateTokens = tokens(name: "chunk_update_tokens", held: updateToken, page: nil, again: hasFailed)
    /// The same of a start whose types are several: the newest token of each device, and the place of its type among them, from 0.
    static let typedTokens = tokens(
        name: "chunk_typed_tokens",
        held: """
            select held.token, held.service, held.type_id
            from start_token as held
            where held.app_id = fan_out.app_id and held.type_id = any(fan_out.type_ids) and held.device_id = listed.device_id
                and \(isNamedUsers)
            order by held.registered_at desc, held.type_id
            limit 1
            """, page: nil, variant: "(array_position(fan_out.type_ids, token.type_id) - 1)::smallint")
    /// The devices of a page of which nothing was sent, under the tokens they have now: notification, number.
    static let startPage = tokens(
        name: "chunk_start_page", held: startToken(),
        page: "from start_token as token where token.app_id = fan_out.app_id and token.type_id = fan_out.type_id",
        variant: channelVariant)
    /// The devices of a page as it was when it was carved: notification, number, when.
    static let updatePage = tokens(
        name: "chunk_update_page", held: updateToken,
        page: """
            from update_token as token
            where token.activity_number = fan_out.activity_number and token.ended_at is null
                and token.registered_at <= $3 and token.started_at > unix_seconds($3) - \(ActivityWindow.seconds(of: "fan_out.event"))
                and not \(waitsByItself(of: "fan_out.notification_id"))
            """)

    /// Whether the device of `token` was left out of its page, or came behind it, and gets the state by a retry of its own.
    static func waitsByItself(of notification: String) -> String {
        """
        exists (
            select from delivery_retry as waiting
            where waiting.notification_id = \(notification) and waiting.device_id = token.device_id and not waiting.is_targeted)
        """
    }
}
