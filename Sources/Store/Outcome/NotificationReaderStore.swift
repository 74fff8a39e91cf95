package import Gateway
import JSON
import PostgreSQL

extension Store: NotificationReader {
    package func notification(_ publicID: UUID, application: ApplicationID)
        async throws(StorageError) -> NotificationSummary?
    {
        let found = try await query(ReaderStatements.one, [.application(application), .uuid(publicID)])
        return found.rowCount == 1 ? try NotificationSummary(found, row: 0) : nil
    }

    package func notifications(
        activityID: String?, from start: NotificationListStart, limit: Int, application: ApplicationID
    ) async throws(StorageError) -> [NotificationSummary]? {
        let end: NotificationID
        switch start {
        case .newest: end = NotificationID(rawValue: .max)
        case .behindPlace(let place): end = place
        case .behind(let before):
            let found = try await query(ReaderStatements.number, [.application(application), .uuid(before)])
            guard found.rowCount == 1 else { return nil }
            end = NotificationID(rawValue: found.int64(row: 0, column: 0))
        }
        let page: [Parameter] = [.application(application), .notification(end), .int32(Int32(clamping: limit))]
        let found: QueryResult
        if let activityID {
            found = try await query(ReaderStatements.ofActivity, page + [.text(activityID)])
        } else {
            found = try await query(ReaderStatements.ofApplication, page)
        }
        var summaries: [NotificationSummary] = []
        for row in 0..<found.rowCount { summaries.append(try NotificationSummary(found, row: row)) }
        return summaries
    }

    package func activity(_ activityID: String, application: ApplicationID) async throws(StorageError) -> ActivitySummary? {
        let found = try await query(
            ReaderStatements.activity,
            [.application(application), .text(activityID), .int64(ActivityWindow.updateSeconds)])
        guard found.rowCount == 1 else { return nil }
        guard let channels = ActivityChannel.list(found, column: 5) else {
            throw .refused(sqlState: SQLStates.unreadableValue)
        }
        return ActivitySummary(
            activityID: activityID, activityType: found.optionalText(column: 0), isEnded: found.bool(row: 0, column: 1),
            deviceCount: found.int64(row: 0, column: 2), startedAt: found.int64(row: 0, column: 3),
            lastNotification: found.optionalUUID(column: 4), channels: channels)
    }
}

extension NotificationSummary {
    /// Reads a row of `ReaderStatements.summary`.
    fileprivate init(_ result: QueryResult, row: Int) throws(StorageError) {
        guard let event = ActivityEvent(rawValue: result.int16(row: row, column: 1)),
            let reasons = try? JSONDocument(parsing: result.jsonb(row: row, column: 12)).root
        else { throw .refused(sqlState: SQLStates.unreadableValue) }
        let finishedAt = result.optionalMilliseconds(row: row, column: 6)
        let isBegun = result.bool(row: row, column: 7)
        let counts = reasons.members.compactMap { status, count -> (reason: DeliveryReason, count: Int64)? in
            guard let status = Int16(status), let count = count.integer, count > 0 else { return nil }
            return (DeliveryReason(rawValue: status), count)
        }
        self.init(
            number: NotificationID(rawValue: result.int64(row: row, column: 15)), publicID: result.uuid(row: row, column: 0),
            event: event, activityID: result.text(row: row, column: 2),
            activityType: result.optionalText(row: row, column: 3), name: result.text(row: row, column: 4),
            state: finishedAt != nil ? .finished : isBegun ? .sending : .pending,
            targetedCount: result.int64(row: row, column: 8), acceptedCount: result.int64(row: row, column: 9),
            failedCount: result.int64(row: row, column: 10), unknownCount: result.int64(row: row, column: 11),
            reasons: counts.sorted { ($1.count, $0.reason.rawValue) < ($0.count, $1.reason.rawValue) },
            clickCount: result.int64(row: row, column: 13), clickedDeviceCount: result.int64(row: row, column: 14),
            receiptCount: result.int64(row: row, column: 16),
            unknownEntryCount: result.int64(row: row, column: 17), createdAt: result.milliseconds(row: row, column: 5),
            finishedAt: finishedAt)
    }
}

enum ReaderStatements {
    static let all = [one, number, ofApplication, ofActivity, activity]

    // The chunks are the counters; once a fan-out has finished, their sums are in its row. The taps' sums
    // join them before their rows go.
    private static let summary = """
        select notification.public_id, notification.event, activity.activity_id, type.name, notification.name,
            notification.created_at, fan_out.finished_at, coalesce(chunks.is_begun, true),
            coalesce(chunks.targeted, fan_out.targeted), coalesce(chunks.accepted, fan_out.accepted),
            coalesce(chunks.failed, fan_out.failed), coalesce(chunks.unknown, fan_out.unknown),
            coalesce(chunks.reasons, fan_out.reasons), coalesce(fan_out.clicks, clicks.taps),
            coalesce(fan_out.clicked_devices, clicks.devices), notification.notification_id,
            coalesce(fan_out.receipts, received.devices), fan_out.unknown_entries
        from notification
            join activity on activity.activity_number = notification.activity_number
            join fan_out on fan_out.notification_id = notification.notification_id
            left join activity_type as type on type.type_id = coalesce(notification.type_id, activity.type_id)
            left join lateral (
                select coalesce(bool_or(chunk.state <> 0), false) as is_begun, coalesce(sum(chunk.targeted), 0)::bigint as targeted,
                    coalesce(sum(chunk.accepted), 0)::bigint as accepted, coalesce(sum(chunk.failed), 0)::bigint as failed,
                    coalesce(sum(chunk.unknown), 0)::bigint as unknown, sum_counts(chunk.reasons) as reasons
                from fan_out_chunk as chunk
                where chunk.notification_id = notification.notification_id) as chunks on fan_out.finished_at is null
            cross join lateral (
                select coalesce(sum(click.taps), 0)::bigint as taps, count(*) as devices
                from click
                where click.notification_id = notification.notification_id) as clicks
            cross join lateral (
                select count(*) as devices
                from device_report as report
                where report.notification_id = notification.notification_id
                    and report.report_id = \(ClickStatements.receiptLiteral)) as received
        """

    static let one = Statement(
        name: "reader_one", text: "\(summary)\nwhere notification.app_id = $1 and notification.public_id = $2")

    static let number = Statement(
        name: "reader_number", text: "select notification_id from notification where app_id = $1 and public_id = $2")

    /// App, number before which to begin, most rows.
    static let ofApplication = Statement(
        name: "reader_of_application",
        text: """
            \(summary)
            where notification.app_id = $1 and notification.notification_id < $2
            order by notification.notification_id desc
            limit $3
            """)

    /// The same, and the activity's id.
    static let ofActivity = Statement(
        name: "reader_of_activity",
        text: """
            \(summary)
            where notification.app_id = $1 and notification.notification_id < $2
                and activity.app_id = $1 and activity.activity_id = $4
            order by notification.notification_id desc
            limit $3
            """)

    /// The newest activity of a name: app, activity id, the window of updates in seconds.
    static let activity = Statement(
        name: "reader_activity",
        text: """
            select type.name, activity.ended_at is not null,
                case when activity.ended_at is null then (
                    select count(*) from update_token as token
                    where token.activity_number = activity.activity_number and token.device_id > 0 and token.ended_at is null
                        and token.started_at > unix_seconds(now()) - $3) else 0 end,
                unix_seconds(activity.created_at),
                (select notification.public_id from notification
                where notification.activity_number = activity.activity_number
                order by notification.notification_id desc
                limit 1), (
                    select jsonb_agg(
                        jsonb_build_array(channel.environment, channel.channel_id, channel.policy) order by channel.environment)
                    from channel
                    where channel.activity_number = activity.activity_number and channel.state = 2)
            from activity left join activity_type as type on type.type_id = activity.type_id
            where activity.app_id = $1 and activity.activity_id = $2
            order by activity.activity_number desc
            limit 1
            """)
}
