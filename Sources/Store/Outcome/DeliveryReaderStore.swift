package import Gateway
import PostgreSQL

extension Store: DeliveryReader {
    package func deliveries(of notification: UUID, behind device: Int64, limit: Int, application: ApplicationID)
        async throws(StorageError) -> DeliveryPage?
    {
        guard let number = try await number(of: notification, application: application) else { return nil }
        // One more tells whether there is a next page.
        let rows = try await query(
            DeliveryReaderStatements.deliveries,
            [.application(application), .notification(number), .int64(device), .int32(Int32(clamping: limit + 1))])
        let count = min(rows.rowCount, limit)
        let deliveries = (0..<count).map { DeviceDelivery(rows, row: $0, notification: number) }
        let isLast = rows.rowCount <= limit || count == 0
        return DeliveryPage(deliveries: deliveries, next: isLast ? nil : rows.int64(row: count - 1, column: 0))
    }

    package func minutes(of notification: UUID, limit: Int, application: ApplicationID)
        async throws(StorageError) -> [NotificationMinute]
    {
        guard let number = try await number(of: notification, application: application) else { return [] }
        let rows = try await query(
            DeliveryReaderStatements.minutes, [.notification(number), .int32(Int32(clamping: limit))])
        return (0..<rows.rowCount).map { row in
            NotificationMinute(
                startsAt: rows.milliseconds(row: row, column: 0), acceptedCount: rows.int64(row: row, column: 1),
                clickedDeviceCount: rows.int64(row: row, column: 2))
        }
    }

    package func activities(before number: Int64, limit: Int, application: ApplicationID)
        async throws(StorageError) -> [ListedActivity]
    {
        let rows = try await query(
            DeliveryReaderStatements.activities,
            [.application(application), .int64(number), .int32(Int32(clamping: limit))])
        return (0..<rows.rowCount).map { row in
            ListedActivity(
                number: rows.int64(row: row, column: 0), activityID: rows.text(row: row, column: 1),
                activityType: rows.optionalText(row: row, column: 2), createdAt: rows.milliseconds(row: row, column: 3),
                endedAt: rows.optionalMilliseconds(row: row, column: 4))
        }
    }

    private func number(of notification: UUID, application: ApplicationID) async throws(StorageError) -> NotificationID? {
        let found = try await query(ReaderStatements.number, [.application(application), .uuid(notification)])
        return found.rowCount == 1 ? NotificationID(rawValue: found.int64(row: 0, column: 0)) : nil
    }
}

extension DeviceDelivery {
    /// Reads a row of `DeliveryReaderStatements.deliveries`.
    fileprivate init(_ rows: QueryResult, row: Int, notification: NotificationID) {
        self.init(
            isChannel: rows.int64(row: row, column: 0) < 0, subscriptionID: rows.optionalUUID(row: row, column: 1),
            reason: DeliveryReason(rawValue: rows.int16(row: row, column: 2)),
            endedAt: UnixMilliseconds(
                rawValue: notification.storedAt.rawValue + Int64(rows.int32(row: row, column: 3))),
            apnsID: .ofPush(notification: notification, device: rows.int64(row: row, column: 0)),
            firstClickAt: rows.optionalMilliseconds(row: row, column: 4),
            tapCount: rows.optionalInt64(row: row, column: 5) ?? 0)
    }
}

extension NotificationID {
    /// 2020-01-01 UTC, from which the identifier counts, in milliseconds since 1970. Source: time_ordered_id in schema.sql.
    private static let epochMilliseconds: Int64 = 1_577_836_800_000
    /// The moment the identifier carries: what `delivery.at_ms` counts from.
    var storedAt: UnixMilliseconds { UnixMilliseconds(rawValue: (rawValue >> 22) + Self.epochMilliseconds) }
}

enum DeliveryReaderStatements {
    static let all = [deliveries, minutes, activities]

    // The page is cut first: each look-up of a device and a tap is then one of as many as the page has rows.
    /// App, notification, device behind which to begin, most rows.
    static let deliveries = Statement(
        name: "delivery_reader_page",
        text: """
            with page as materialized (
                select device_id, status, at_ms
                from delivery
                where notification_id = $2 and device_id > $3
                order by device_id
                limit $4)
            select page.device_id, known.public_id, page.status, page.at_ms, tapped.first_at, tapped.taps
            from page
                left join lateral (
                    select device.public_id from device
                    where device.app_id = $1 and device.device_id = page.device_id
                    limit 1) as known on true
                left join lateral (
                    select click.first_at, click.taps from click
                    where click.notification_id = $2 and click.device_id = page.device_id
                    limit 1) as tapped on true
            order by page.device_id
            """)

    // Closed chunks are the counters, and a chunk is closed when its pushes are recorded.
    /// Notification, most rows.
    static let minutes = Statement(
        name: "delivery_reader_minutes",
        text: """
            select minute, sum(accepted)::bigint, sum(clicked)::bigint
            from (
                select date_trunc('minute', closed_at) as minute, accepted, 0 as clicked
                from fan_out_chunk
                where notification_id = $1 and state = 2 and accepted > 0
                union all
                select date_trunc('minute', first_at), 0, 1
                from click
                where notification_id = $1) as happened
            group by minute
            order by minute
            limit $2
            """)

    /// App, number before which to begin, most rows.
    static let activities = Statement(
        name: "delivery_reader_activities",
        text: """
            select activity.activity_number, activity.activity_id, type.name, activity.created_at, activity.ended_at
            from activity left join activity_type as type on type.type_id = activity.type_id
            where activity.app_id = $1 and activity.activity_number < $2
            order by activity.activity_number desc
            limit $3
            """)
}
