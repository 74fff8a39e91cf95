package import Gateway
import PostgreSQL

extension Store: StatisticsReader {
    package func statistics(
        in seconds: Range<Int64>, by grouping: StatisticsGrouping, limit: Int, application: ApplicationID
    ) async throws(StorageError) -> [StatisticsRow] {
        let rows = try await query(
            StatisticsStatements.statement(by: grouping),
            [
                .application(application), .int64(seconds.lowerBound), .int64(seconds.upperBound),
                .int32(Int32(clamping: limit)),
            ])
        return (0..<rows.rowCount).map { row in
            func count(_ column: Int) -> Int64 { rows.int64(row: row, column: column) }
            return StatisticsRow(
                key: rows.optionalText(row: row, column: 0), notificationCount: count(1), targetedCount: count(2),
                acceptedCount: count(3), failedCount: count(4), unknownCount: count(5), clickCount: count(6),
                clickedDeviceCount: count(7))
        }
    }
}

enum StatisticsStatements {
    static let all = StatisticsGrouping.allCases.map(statement)

    static func statement(by grouping: StatisticsGrouping) -> Statement {
        switch grouping {
        case .activityType: byType
        case .event: byEvent
        case .day: byDay
        }
    }

    private static let byType = grouped("statistics_type", key: "type.name")
    private static let byEvent = grouped(
        "statistics_event",
        key: """
            case notification.event when \(ActivityEvent.start.rawValue) then '\(ActivityEvent.start.name)'
                when \(ActivityEvent.update.rawValue) then '\(ActivityEvent.update.name)' else '\(ActivityEvent.end.name)' end
            """)
    private static let byDay = grouped(
        "statistics_day", key: "to_char(notification.created_at at time zone 'UTC', 'YYYY-MM-DD')")

    // An identifier carries its time, so that the index of an app's notifications serves a range of time. Sums of fan-outs that
    // have finished are in their rows; the others' are in their chunks.
    /// App, begin and end in seconds since 1970, most groups.
    private static func grouped(_ name: String, key: String) -> Statement {
        Statement(
            name: name,
            text: """
                select \(key) as key, count(*), sum(coalesce(chunks.targeted, fan_out.targeted))::bigint,
                    sum(coalesce(chunks.accepted, fan_out.accepted))::bigint,
                    sum(coalesce(chunks.failed, fan_out.failed))::bigint,
                    sum(coalesce(chunks.unknown, fan_out.unknown))::bigint,
                    sum(coalesce(fan_out.clicks, clicks.taps, 0))::bigint,
                    sum(coalesce(fan_out.clicked_devices, clicks.devices, 0))::bigint
                from notification
                    join activity using (activity_number)
                    join fan_out on fan_out.notification_id = notification.notification_id
                    left join activity_type as type on type.type_id = coalesce(notification.type_id, activity.type_id)
                    left join lateral (
                        select sum(chunk.targeted) as targeted, sum(chunk.accepted) as accepted, sum(chunk.failed) as failed,
                            sum(chunk.unknown) as unknown
                        from fan_out_chunk as chunk
                        where chunk.notification_id = notification.notification_id) as chunks on fan_out.finished_at is null
                    left join lateral (
                        select sum(click.taps) as taps, count(*) as devices
                        from click
                        where click.notification_id = notification.notification_id) as clicks on fan_out.clicks is null
                where notification.app_id = $1
                    and notification.notification_id >= time_ordered_id(to_timestamp($2::bigint), 0)
                    and notification.notification_id < time_ordered_id(to_timestamp($3::bigint), 0)
                group by 1
                order by 2 desc, 1
                limit $4
                """)
    }
}
