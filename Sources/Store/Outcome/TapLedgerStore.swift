package import Gateway
import PostgreSQL

extension Store: TapLedger {
    package func count(_ taps: [Tap]) async throws(StorageError) -> [ClickResult] {
        let counted = try await query(
            ClickStatements.count,
            [
                .int32Array(taps.map(\.application.rawValue)), .bytesArray(taps.map(\.device.pushToken)),
                .uuidArray(taps.map { ($0.device.subscription ?? ClickStatements.receiptID).bytes }),
                .textArray(taps.map(\.activityID)),
                .uuidArray(taps.map { ($0.notification ?? ClickStatements.receiptID).bytes }),
                .int16Array(taps.map { $0.notification == nil ? 0 : 1 }), .uuidArray(taps.map { $0.kind.reportID.bytes }),
                .int16Array(taps.map { $0.kind.isCountedOnce ? 1 : 0 }),
            ])
        return (0..<counted.rowCount).map { row in
            guard counted.bool(row: row, column: 0) else { return .unknownDevice }
            if let notification = counted.optionalUUID(row: row, column: 1) { return .counted(notification: notification) }
            return .nothingDelivered(fanOutIsOpen: counted.bool(row: row, column: 2))
        }
    }
}

extension Tap.Kind {
    /// What `device_report` knows it by; zeros where it is not looked at.
    fileprivate var reportID: UUID {
        if case .tap(let id?) = self { return id }
        return ClickStatements.receiptID
    }
    /// A tap named by zeros is one without an identifier: under zeros receipts are kept.
    fileprivate var isCountedOnce: Bool { self == .receipt || reportID != ClickStatements.receiptID }
}

enum ClickStatements {
    static let all = [count]

    /// Under this identifier a device reports that a push arrived. It also stands where there is no identifier.
    static let receiptID = UUID(high: 0, low: 0)
    static let receiptLiteral = "'\(receiptID)'"

    /// How pushes end that reached their device, or may have.
    private static let reached = DeliveryReason.list(.accepted, .unknown)
    /// How starts end that put their device on a channel, or may have.
    private static let joined = "(\(DeliveryReason.acceptedForChannel.rawValue), \(DeliveryReason.unknown.rawValue))"

    /// Counts taps and receipts, each for the latest push of an activity that reached the device, or may have: apps, push tokens or
    /// null, subscriptions or zeros, activity ids, notifications, whether that notification is meant (1) or any (0), report
    /// identifiers, whether it counts only once under that (1). A row a tap, in their order: whether the device is known, the
    /// notification, whether a push may still be recorded.
    ///
    /// What an activity's channel got reached every device on it: those that asked for it, and those that a start put there, or may have.
    /// That is looked at only where the device has no push of its own, for an append is read in its order and no further than the limit,
    /// and where the channel has one: what is asked of a start speaks of that row, or it would be asked before it is looked for.
    ///
    /// Rows of `device_report`, and then of `click`, are taken in the order of their key, so that batches that meet wait for each
    /// other and never in a circle.
    static let count = Statement(
        name: "click_count",
        text: """
            with tap as materialized (
                select *
                from unnest(
                    $1::int[], $2::bytea[], $3::uuid[], $4::text[], $5::uuid[], $6::smallint[], $7::uuid[], $8::smallint[])
                    with ordinality as tap (
                        app_id, push_token, subscription, activity_id, notification, is_named, report_id, is_once, number)),
            tapping as materialized (
                select tap.*, device.device_id, -1 - device.environment as channel
                from tap join device on device.app_id = tap.app_id and device.push_token = tap.push_token
                union all
                select tap.*, device.device_id, -1 - device.environment
                from tap join device on device.app_id = tap.app_id and device.public_id = tap.subscription
                where tap.push_token is null),
            pushed as materialized (
                select tapping.number, tapping.device_id, tapping.report_id, tapping.is_once, latest.notification_id,
                    latest.public_id
                from tapping cross join lateral (
                    select notification.notification_id, notification.public_id
                    from activity
                        join notification using (activity_number)
                        join lateral (
                            select 1 from delivery
                            where delivery.notification_id = notification.notification_id
                                and delivery.device_id = tapping.device_id and delivery.status in \(reached)
                            union all
                            select 1 from delivery
                            where delivery.notification_id = notification.notification_id
                                and delivery.device_id = tapping.channel and delivery.status in \(reached)
                                and (exists (
                                        select from channel_member as member
                                        where member.activity_number = activity.activity_number
                                            and member.device_id = tapping.device_id)
                                    or exists (
                                        select from notification as start join delivery as joined using (notification_id)
                                        where start.activity_number = activity.activity_number
                                            and start.event = \(ActivityEvent.start.rawValue)
                                            and start.notification_id < delivery.notification_id
                                            and joined.device_id = tapping.device_id and joined.status in \(joined)))
                            limit 1) as delivery on true
                    where activity.app_id = tapping.app_id and activity.activity_id = tapping.activity_id
                        and (tapping.is_named = 0 or notification.public_id = tapping.notification)
                    order by notification.notification_id desc
                    limit 1) as latest),
            reported as (
                insert into device_report (notification_id, device_id, report_id)
                select notification_id, device_id, report_id
                from pushed
                where is_once = 1
                group by notification_id, device_id, report_id
                order by notification_id, device_id, report_id
                on conflict do nothing
                returning notification_id, device_id, report_id),
            counted as (
                insert into click as stored (notification_id, device_id, taps)
                select notification_id, device_id, count(*)::int
                from (
                    select notification_id, device_id from pushed where is_once = 0
                    union all
                    select notification_id, device_id from reported where report_id <> \(receiptLiteral)) as fresh
                group by notification_id, device_id
                order by notification_id, device_id
                on conflict (notification_id, device_id) do update set taps = stored.taps + excluded.taps)
            select tapping.device_id is not null, pushed.public_id,
                case when pushed.public_id is null then exists (
                    select from activity join fan_out using (activity_number)
                    where activity.app_id = tap.app_id and activity.activity_id = tap.activity_id
                        and fan_out.finished_at is null
                    offset 0)
                else false end
            from tap left join tapping using (number) left join pushed using (number)
            order by tap.number
            """)
}
