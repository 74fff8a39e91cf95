package import Gateway
import PostgreSQL

extension Store: DeviceReader {
    package func device(_ subscription: UUID, application: ApplicationID) async throws(StorageError) -> DeviceDetails? {
        let key: [Parameter] = [.application(application), .uuid(subscription)]
        let count = Parameter.int32(Int32(DeviceDetails.entryCount))
        let results = try await run([
            StatementCall(DeviceReaderStatements.device, key), StatementCall(DeviceReaderStatements.aliases, key),
            StatementCall(DeviceReaderStatements.tags, key), StatementCall(DeviceReaderStatements.startTokens, key + [count]),
            StatementCall(DeviceReaderStatements.activities, key + [count]),
        ])
        guard results[0].rowCount == 1 else { return nil }
        var details = DeviceDetails(results[0], subscriptionID: subscription)
        details.aliases = Self.pairs(results[1])
        details.tags = Self.pairs(results[2])
        let (tokens, activities) = (results[3], results[4])
        details.startTokens = (0..<tokens.rowCount).map { row in
            DeviceDetails.StartToken(
                activityType: tokens.text(row: row, column: 0), service: tokens.service(row: row, column: 1),
                registeredAt: tokens.milliseconds(row: row, column: 2))
        }
        details.activities = (0..<activities.rowCount).map { row in
            DeviceDetails.HeldActivity(
                activityID: activities.text(row: row, column: 0), activityType: activities.optionalText(row: row, column: 1),
                window: ActivityWindow(startedAt: activities.int64(row: row, column: 2)),
                endedAt: activities.optionalMilliseconds(row: row, column: 3))
        }
        return details
    }

    private static func pairs(_ rows: QueryResult) -> [(name: String, value: String)] {
        (0..<rows.rowCount).map { (rows.text(row: $0, column: 0), rows.text(row: $0, column: 1)) }
    }

    package func timeline(of subscription: UUID, before notification: NotificationID, limit: Int, application: ApplicationID)
        async throws(StorageError) -> TimelinePage?
    {
        let key: [Parameter] = [.application(application), .uuid(subscription)]
        let looked = try await run([
            StatementCall(DeviceReaderStatements.device, key),
            StatementCall(
                DeviceReaderStatements.window,
                [.application(application), .notification(notification), .int32(Int32(TimelinePage.lookCount))]),
        ])
        guard looked[0].rowCount == 1 else { return nil }
        let device = looked[0].int64(row: 0, column: 0)
        guard let oldest = looked[1].optionalInt64(column: 0) else { return TimelinePage(entries: [], next: nil) }
        let rows = try await query(
            DeviceReaderStatements.timeline,
            [
                .application(application), .int64(device), .int64(oldest), .notification(notification),
                .int32(Int32(clamping: limit + 1)),
            ])
        let entries = (0..<min(rows.rowCount, limit)).compactMap { TimelineEntry(rows, row: $0, subscription, device: device) }
        guard entries.count == min(rows.rowCount, limit) else { throw .refused(sqlState: SQLStates.unreadableValue) }
        var next: NotificationID?
        if rows.rowCount > limit {
            next = NotificationID(rawValue: rows.int64(row: limit - 1, column: 0))
        } else if looked[1].int64(row: 0, column: 1) == TimelinePage.lookCount {
            next = NotificationID(rawValue: oldest)
        }
        return TimelinePage(entries: entries, next: next)
    }
}

extension QueryResult {
    // The schema allows no other numbers.
    fileprivate func environment(row: Int, column: Int) -> PushEnvironment {
        PushEnvironment(rawValue: int16(row: row, column: column)) ?? .production
    }

    fileprivate func service(row: Int, column: Int) -> PushService {
        PushService(rawValue: int16(row: row, column: column)) ?? .apnsProduction
    }
}

extension DeviceDetails {
    /// Reads the row of `DeviceReaderStatements.device`.
    fileprivate init(_ row: QueryResult, subscriptionID: UUID) {
        self.init(subscriptionID: subscriptionID)
        device = row.int64(row: 0, column: 0)
        environment = row.environment(row: 0, column: 1)
        externalID = row.optionalText(column: 2)
        language = row.optionalText(column: 3)
        country = row.optionalText(column: 4)
        appVersion = row.optionalText(column: 5)
        osVersion = row.optionalText(column: 6)
        timeZone = row.optionalText(column: 7)
        sessionCount = row.int64(row: 0, column: 8)
        firstSession = row.optionalInt64(column: 9)
        lastSession = row.optionalInt64(column: 10)
        registeredAt = row.milliseconds(column: 11)
        sessionSeconds = row.int64(row: 0, column: 12)
        location = row.location(row: 0, firstColumn: 13)
        platform = row.int16(row: 0, column: 15) == DevicePlatform.android.rawValue ? .android : .ios
    }
}

extension TimelineEntry {
    /// Reads a row of `DeviceReaderStatements.timeline`; nil for an event this version does not know.
    fileprivate init?(_ rows: QueryResult, row: Int, _ subscription: UUID, device: Int64) {
        let notification = NotificationID(rawValue: rows.int64(row: row, column: 0))
        guard let event = ActivityEvent(rawValue: rows.int16(row: row, column: 2)) else { return nil }
        let delivery = DeviceDelivery(
            subscriptionID: subscription, reason: DeliveryReason(rawValue: rows.int16(row: row, column: 5)),
            endedAt: UnixMilliseconds(rawValue: notification.storedAt.rawValue + Int64(rows.int32(row: row, column: 6))),
            apnsID: .ofPush(notification: notification, device: device),
            firstClickAt: rows.optionalMilliseconds(row: row, column: 7),
            tapCount: rows.optionalInt64(row: row, column: 8) ?? 0)
        self.init(
            notification: rows.uuid(row: row, column: 1), event: event, activityID: rows.text(row: row, column: 3),
            name: rows.text(row: row, column: 4), delivery: delivery)
    }
}

enum DeviceReaderStatements {
    static let all = [device, aliases, tags, startTokens, activities, window, timeline]

    /// App, subscription.
    static let device = Statement(
        name: "device_reader_device",
        text: """
            select device_id, environment, external_id, language, country, app_version, os_version, time_zone, session_count,
                first_session, last_session, registered_at, session_seconds, latitude, longitude, platform
            from device
            where app_id = $1 and public_id = $2
            """)

    private static let known = "(select device_id from device where app_id = $1 and public_id = $2)"

    /// App, subscription. What a device may have of these is bounded when it is stored.
    static let aliases = Statement(
        name: "device_reader_aliases",
        text: "select label, identifier from device_alias where app_id = $1 and device_id = \(known) order by label")

    /// The same.
    static let tags = Statement(
        name: "device_reader_tags",
        text: "select key, value from device_tag where app_id = $1 and device_id = \(known) order by key")

    /// App, subscription, most rows.
    static let startTokens = Statement(
        name: "device_reader_start_tokens",
        text: """
            select type.name, held.service, held.registered_at
            from activity_type as type
                join start_token as held on held.app_id = type.app_id and held.type_id = type.type_id
                    and held.device_id = \(known)
            where type.app_id = $1
            order by held.registered_at desc, type.name
            limit $3
            """)

    /// The same.
    static let activities = Statement(
        name: "device_reader_activities",
        text: """
            select activity.activity_id, type.name, held.started_at, coalesce(held.ended_at, activity.ended_at)
            from update_token as held
                join activity using (activity_number)
                left join activity_type as type on type.type_id = activity.type_id
            where held.app_id = $1 and held.device_id = \(known)
            order by held.activity_number desc
            limit $3
            """)

    /// The oldest notification a page looks at, and how many they are: app, notification before which to begin, most of them.
    static let window = Statement(
        name: "device_reader_window",
        text: """
            select min(notification_id), count(*)
            from (
                select notification_id from notification
                where app_id = $1 and notification_id < $2
                order by notification_id desc
                limit $3) as looked
            """)

    /// App, device, oldest notification, notification before which to begin, most rows.
    static let timeline = Statement(
        name: "device_reader_timeline",
        text: """
            select notification.notification_id, notification.public_id, notification.event, activity.activity_id,
                notification.name, pushed.status, pushed.at_ms, tapped.first_at, tapped.taps
            from notification
                join activity using (activity_number)
                join lateral (
                    select delivery.status, delivery.at_ms from delivery
                    where delivery.notification_id = notification.notification_id and delivery.device_id = $2
                    limit 1) as pushed on true
                left join lateral (
                    select click.first_at, click.taps from click
                    where click.notification_id = notification.notification_id and click.device_id = $2
                    limit 1) as tapped on true
            where notification.app_id = $1 and notification.notification_id >= $3 and notification.notification_id < $4
            order by notification.notification_id desc
            limit $5
            """)
}
