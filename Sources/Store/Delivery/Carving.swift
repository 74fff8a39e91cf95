import Gateway
import PostgreSQL

extension Store {
    /// Start tokens one carving of a condition looks at, matching or not: bounds how long it holds the fan-out's row (some 5
    /// microseconds a device; facts measured up to 0.6 s without a bound on one million).
    static let windowTokenCount = 20_000

    /// Claims the next page of everybody: one statement moves the watermark, stores the chunk and reads the tokens.
    func carve(_ notification: NotificationID, event: ActivityEvent, worker: WorkerID, deviceCount: Int)
        async throws(StorageError) -> Chunk?
    {
        let parameters: [Parameter] = [.notification(notification), .worker(worker), .int32(Int32(deviceCount))]
        let carving =
            event == .start
            ? StatementCall(CarvingStatements.startPage, parameters)
            : StatementCall(CarvingStatements.updatePage, parameters + [.int64(event.windowSeconds)])
        let results = try await run([
            StatementCall(ChunkClaimStatements.durable), StatementCall(CarvingStatements.open, [.notification(notification)]),
            carving,
        ])
        let (open, page) = (results[1], results[2])
        // No row: another worker read the last page meanwhile, or the fan-out was superseded.
        guard open.rowCount > 0 else { return nil }
        // Nobody is left, or nobody of this page may be pushed now.
        guard page.rowCount > 0 else {
            try await finish([notification])
            return nil
        }
        var chunk = Chunk(
            id: ChunkID(notification: notification, number: open.int32(row: 0, column: 1), epoch: 1),
            application: ApplicationID(rawValue: open.int32(row: 0, column: 0)), isRetry: false)
        chunk.read(page, hasLanguages: open.bool(row: 0, column: 2), joinsChannels: open.bool(row: 0, column: 3))
        return chunk
    }

    /// Claims the next devices that match the frozen conditions, within one window of tokens; nil when none of them does.
    ///
    /// To measure a window is to read its tokens. Hence it is measured once, for all the chunks it yields, and only where few devices
    /// match: behind a full page, the next tokens are within as many identifiers.
    func carveMatching(_ notification: NotificationID, worker: WorkerID, deviceCount: Int) async throws(StorageError) -> Chunk? {
        let (chunk, isCarved): (Chunk?, Bool) = try await transaction { connection in
            let locked = try await connection.run([
                StatementCall(ChunkClaimStatements.durableByValues),
                StatementCall(
                    CarvingStatements.lock, [.notification(notification), .int32(Int32(Self.windowTokenCount))]),
            ])[1]
            guard locked.rowCount == 1 else { return (nil, false) }
            guard let audience = FrozenAudience(json: locked.bytes(row: 0, column: 5)) else {
                throw StorageError.refused(sqlState: SQLStates.unreadableValue)
            }
            let application = ApplicationID(rawValue: locked.int32(row: 0, column: 0))
            let low = locked.int64(row: 0, column: 2)
            // The last window ends with the last token there will be.
            let windowEnd = locked.optionalInt64(column: 7).flatMap { $0 == .max ? nil : $0 }
            let hasLanguages = locked.bool(row: 0, column: 4)
            let joinsChannels = locked.bool(row: 0, column: 8)
            let page = try await self.page(
                of: audience, type: locked.int32(row: 0, column: 1), low: low, high: windowEnd ?? .max,
                momentMicroseconds: locked.timestampMicroseconds(row: 0, column: 6), deviceCount: deviceCount,
                hasLanguages: hasLanguages, joinsChannels: joinsChannels, application: application, on: connection)
            var chunk = Chunk(
                id: ChunkID(notification: notification, number: locked.int32(row: 0, column: 3), epoch: 1),
                application: application, isRetry: false)
            chunk.read(page, hasLanguages: hasLanguages, joinsChannels: joinsChannels)
            let (watermark, nextEnd) = CarvingWindow(low: low, end: windowEnd).after(
                chunk.devices.last, isFull: chunk.devices.count == deviceCount)
            let isCarved = watermark == .max
            try await connection.query(
                CarvingStatements.advance,
                [
                    .notification(notification), .int64(watermark), .bool(isCarved), .worker(worker),
                    .int64Array(chunk.devices), .int64(low), .int64(nextEnd),
                ])
            return (chunk.devices.isEmpty ? nil : chunk, isCarved)
        }
        if isCarved, chunk == nil { try await finish([notification]) }
        return chunk
    }
}

/// What one reading of a condition looks through: devices behind `low` and up to `end`, or all that are left when it is nil.
struct CarvingWindow {
    let low: Int64
    let end: Int64?

    /// Behind which device the next reading begins, `.max` when nobody is left, and the end of its window: one that is not behind
    /// `watermark` is measured first.
    ///
    /// Behind a full page, as many identifiers as a window has tokens hold no more tokens than that: then nothing is measured.
    ///
    /// - Parameters:
    ///   - last: the last device that was found.
    ///   - isFull: whether as many were found as were asked for.
    func after(_ last: Int64?, isFull: Bool) -> (watermark: Int64, end: Int64) {
        guard let last, isFull else { return (end ?? .max, end ?? .max) }
        return (last, end.map { max($0, last + Int64(Store.windowTokenCount)) } ?? .max)
    }
}

extension Chunk {
    /// Appends rows of device, token and service, and behind them the language and whether the device joins a channel, where it has them.
    mutating func read(_ rows: QueryResult, hasLanguages: Bool, joinsChannels: Bool) {
        let count = rows.rowCount
        guard count > 0 else { return }
        devices.reserveCapacity(count)
        services.reserveCapacity(count)
        tokens.reserve(count: count, tokenByteCount: rows.withBytes(row: 0, column: 1) { $0.count })
        for row in 0..<count {
            devices.append(rows.int64(row: row, column: 0))
            tokens.append { rows.appendBytes(row: row, column: 1, to: &$0) }
            services.append(rows.int16(row: row, column: 2))
            if hasLanguages { languages.append(rows.optionalText(row: row, column: 3)) }
            // The second variant of such a start, `PushVariant.ofChannels`.
            if joinsChannels { variants.append(rows.bool(row: row, column: 4) ? 1 : 0) }
        }
    }
}

enum CarvingStatements {
    static let all = [application, open, startPage, updatePage, windowEnd, lock, advance]

    /// The app, and whether devices of a list differ in the types of their tokens: notification.
    static let application = Statement(
        name: "carving_application",
        text: "select app_id, type_ids is not null from fan_out where notification_id = $1")

    /// The row of a fan-out that has pages left, locked: app, the next chunk's number, whether texts differ by language, whether devices
    /// are put on channels. Notification.
    static let open = Statement(
        name: "carving_open",
        text: """
            select app_id, chunk_count, has_languages, joins_channels
            from fan_out
            where notification_id = $1 and not is_carved
            for no key update
            """)

    // A page's edge is found first and its tokens are read behind everything else: 1,000 rows that pass from one part of a statement to
    // another, with the values of the fan-out beside each, cost more than a second reading of their index.
    /// A page of tokens becomes a claimed chunk, behind `open`: the part both kinds share. Rows of device, token, service, language, and
    /// whether the device joins a channel.
    ///
    /// - Parameters:
    ///   - page: a table of tokens as `token`, and which of them are the fan-out's, of whom `\(field)` are the values.
    ///   - fields: those values, from the fan-out's row.
    ///   - quietUntil: until when a token is left alone; null for not at all.
    ///   - passed: what else is done with the devices of the page.
    ///   - isPushed: whether a token of the page may be pushed now.
    private static func carve(
        name: String, fields: String, page: (_ field: (String) -> String) -> String, quietUntil: String = "null::timestamptz",
        passed: String = "", isPushed: String = "true"
    ) -> Statement {
        Statement(
            name: name,
            text: """
                with open as materialized (
                    select notification_id, app_id, type_id, activity_number, watermark, chunk_count, has_languages, joins_channels\(fields)
                    from fan_out
                    where notification_id = $1 and not is_carved),
                page as (
                    select found.device_id, found.quiet_until
                    from open, lateral (
                        select token.device_id, \(quietUntil) as quiet_until
                        from \(page { "open.\($0)" }) and token.device_id > open.watermark
                        order by token.device_id
                        limit $3) as found),
                edge as materialized (
                    select max(device_id) as high, count(*)::int as total,
                        (count(*) filter (where quiet_until is null))::int as claimed
                    from page),
                moved as (
                    update fan_out
                    set watermark = coalesce(edge.high, open.watermark), is_carved = edge.total < $3,
                        chunk_count = open.chunk_count + case when edge.claimed > 0 then 1 else 0 end
                    from open, edge
                    where fan_out.notification_id = open.notification_id),
                \(passed)carved as (
                    insert into fan_out_chunk
                        (notification_id, number, state, owner, epoch, low, high, claimed_at, targeted)
                    select open.notification_id, open.chunk_count, 1, $2, 1, open.watermark, edge.high, now(), edge.claimed
                    from open, edge
                    where edge.claimed > 0)
                select token.device_id, token.token, token.service,
                    case when (select has_languages from open) then (
                        select device.language from device
                        where device.app_id = (select app_id from open) and device.device_id = token.device_id) end,
                    case when (select joins_channels from open) then coalesce((
                        select joins_channels(device.os_version) from device
                        where device.app_id = (select app_id from open) and device.device_id = token.device_id), false) end
                from \(page { "(select \($0) from open)" })
                    and token.device_id > (select watermark from open) and token.device_id <= (select high from edge) and \(isPushed)
                order by token.device_id
                """)
    }

    /// Notification, worker, most devices.
    static let startPage = carve(
        name: "carving_start_page", fields: "",
        page: { field in "start_token as token where token.app_id = \(field("app_id")) and token.type_id = \(field("type_id"))" })

    private static let quiet = """
        quiet_token as quiet
        where quiet.activity_number = token.activity_number and quiet.device_id = token.device_id and quiet.token = token.token
            and quiet.until > now()
        """

    // A device that registered while the fan-out ran is on the page with its token, and is no late joiner then: both were
    // committed at once, so that this statement sees both or neither. One that APNs wants to be left alone becomes a late joiner
    // whose time comes when it may be pushed again; whether there is any is looked up once a page.
    /// Notification, worker, most devices, window in seconds.
    static let updatePage = carve(
        name: "carving_update_page",
        fields: """
            , unix_seconds(now()) - $4::bigint as since,
                exists (
                    select from quiet_token as quiet
                    where quiet.activity_number = fan_out.activity_number and quiet.until > now()) as has_quiet
            """,
        page: { field in
            """
            update_token as token
                where token.activity_number = \(field("activity_number")) and token.ended_at is null
                    and token.started_at > \(field("since"))
            """
        },
        quietUntil: "case when open.has_quiet then (select quiet.until from \(quiet)) end",
        passed: """
            reached as (
                delete from delivery_retry as retry
                using page
                where retry.notification_id = $1 and retry.device_id = page.device_id and not retry.is_targeted
                    and page.quiet_until is null),
            postponed as (
                insert into delivery_retry (notification_id, device_id, attempt, is_targeted, not_before, app_id)
                select open.notification_id, page.device_id, 0, false, page.quiet_until, open.app_id
                from open, page
                where page.quiet_until is not null
                order by page.device_id
                on conflict (notification_id, device_id) do update set not_before = excluded.not_before),

            """,
        isPushed: "(not (select has_quiet from open) or not exists (select from \(quiet) offset 0))")

    private static func end(app: String, type: String, low: String, count: String) -> String {
        """
        select token.device_id
        from start_token as token
        where token.app_id = \(app) and token.type_id = \(type) and token.device_id > \(low)
        order by token.device_id
        offset \(count)::int - 1
        limit 1
        """
    }

    /// The last device of a window: app, type, device behind which it begins, tokens of a window. No row: it has no end.
    static let windowEnd = Statement(
        name: "carving_window_end", text: end(app: "$1", type: "$2", low: "$3", count: "$4"))

    /// The fan-out's row, locked, and the end of the window: notification, tokens of a window.
    static let lock = Statement(
        name: "carving_lock",
        text: """
            select app_id, type_id, watermark, chunk_count, has_languages, audience, created_at,
                case when window_end > watermark then window_end else (
                    \(end(app: "fan_out.app_id", type: "fan_out.type_id", low: "fan_out.watermark", count: "$2"))) end,
                joins_channels
            from fan_out
            where notification_id = $1 and not is_carved
            for no key update
            """)

    /// Moves the watermark over a window and stores what matched: notification, watermark, whether that was all, worker,
    /// devices, watermark before, the window's end.
    static let advance = Statement(
        name: "carving_advance",
        text: """
            with moved as (
                update fan_out
                set watermark = $2, window_end = $7, is_carved = $3,
                    chunk_count = chunk_count + least(cardinality($5::bigint[]), 1)
                where notification_id = $1
                returning notification_id, chunk_count)
            insert into fan_out_chunk
                (notification_id, number, state, owner, epoch, low, high, devices, claimed_at, targeted)
            select notification_id, chunk_count - 1, 1, $4, 1, $6, $2, $5, now(), cardinality($5)
            from moved
            where cardinality($5) > 0
            """)
}
