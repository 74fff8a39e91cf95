package import Gateway
import PostgreSQL

extension Store: TapLedger {
    package func count(_ taps: [Tap]) async throws(StorageError) -> [ClickResult] {
        let counted = try await query(
            ClickStatements.count,
            [
                .int32Array(taps.map(\.application.rawValue)), .bytesArray(taps.map(\.pushToken)),
                .textArray(taps.map(\.activityID)), .uuidArray(taps.map { ($0.notification ?? Self.noNotification).bytes }),
                .int16Array(taps.map { $0.notification == nil ? 0 : 1 }),
            ])
        return (0..<counted.rowCount).map { row in
            guard counted.bool(row: row, column: 0) else { return .unknownDevice }
            if let notification = counted.optionalUUID(row: row, column: 1) { return .counted(notification: notification) }
            return .nothingDelivered(fanOutIsOpen: counted.bool(row: row, column: 2))
        }
    }

    /// Stands where no notification is named; it is never looked at.
    private static let noNotification = UUID(high: 0, low: 0)
}

enum ClickStatements {
    static let all = [count]

    /// Counts taps, each for the latest push of an activity that reached the device, or may have: apps, push tokens, activity ids,
    /// notifications, whether that notification is meant (1) or any (0). A row a tap, in their order: whether the device is known,
    /// the notification, whether a push may still be recorded.
    ///
    /// Rows of `click` are taken in the order of their key, so that batches that meet wait for each other and never in a circle.
    static let count = Statement(
        name: "click_count",
        text: """
            with tap as materialized (
                select *
                from unnest($1::int[], $2::bytea[], $3::text[], $4::uuid[], $5::smallint[]) with ordinality
                    as tap (app_id, push_token, activity_id, notification, is_named, number)),
            tapping as materialized (
                select tap.number, tap.app_id, tap.activity_id, tap.notification, tap.is_named, device.device_id
                from tap join device on device.app_id = tap.app_id and device.push_token = tap.push_token),
            pushed as materialized (
                select tapping.number, tapping.device_id, latest.notification_id, latest.public_id
                from tapping cross join lateral (
                    select notification.notification_id, notification.public_id
                    from activity
                        join notification using (activity_number)
                        join lateral (
                            select from delivery
                            where delivery.notification_id = notification.notification_id
                                and delivery.device_id = tapping.device_id
                                and delivery.status in (\(DeliveryReason.accepted.rawValue), \(DeliveryReason.unknown.rawValue))
                            ) as delivery on true
                    where activity.app_id = tapping.app_id and activity.activity_id = tapping.activity_id
                        and (tapping.is_named = 0 or notification.public_id = tapping.notification)
                    order by notification.notification_id desc
                    limit 1) as latest),
            counted as (
                insert into click as stored (notification_id, device_id, taps)
                select notification_id, device_id, count(*)::int
                from pushed
                group by notification_id, device_id
                order by notification_id, device_id
                on conflict (notification_id, device_id) do update set taps = stored.taps + excluded.taps)
            select tapping.device_id is not null, pushed.public_id,
                case when pushed.public_id is null then exists (
                    select from activity join fan_out using (activity_number)
                    where activity.app_id = tap.app_id and activity.activity_id = tap.activity_id
                        and fan_out.finished_at is null)
                else false end
            from tap left join tapping using (number) left join pushed using (number)
            order by tap.number
            """)
}
