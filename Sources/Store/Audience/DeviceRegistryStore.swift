package import Gateway
import PostgreSQL

extension Store: DeviceRegistry {
    package func register(_ device: DeviceRegistration, application: Application)
        async throws(StorageError) -> RegistrationResult
    {
        try await store(device, application: application)
    }

    package func setStartToken(_ token: [UInt8], activityType: String, pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await store(startToken: token, activityType: activityType, pushToken: pushToken, application: application)
    }

    package func removeStartToken(activityType: String, pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await remove(startTokenOf: activityType, pushToken: pushToken, application: application)
    }

    package func setUpdateToken(_ registration: UpdateTokenRegistration, application: ApplicationID)
        async throws(StorageError) -> UpdateTokenResult
    {
        try await store(registration, application: application)
    }

    package func endActivity(_ activityID: String, pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        let held = try await query(
            UpdateTokenStatements.end, [.application(application), .bytes(pushToken), .text(activityID)])
        return held.rowCount == 1
    }

    package func recordClick(activityID: String, notification: UUID?, pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> ClickResult
    {
        let parameters: [Parameter] = [.application(application), .bytes(pushToken), .text(activityID)]
        let tapped = try await query(
            ClickStatements.count, parameters + [notification.map(Parameter.uuid) ?? .null])
        guard tapped.rowCount == 1 else { return .unknownDevice }
        if let notification = tapped.optionalUUID(column: 0) { return .counted(notification: notification) }
        return .nothingDelivered(fanOutIsOpen: tapped.bool(row: 0, column: 1))
    }
}

enum ClickStatements {
    static let all = [count]

    /// Counts a tap for the latest push of an activity that reached a device, or may have: app, push token, activity id,
    /// notification or null. No row for an unknown device.
    static let count = Statement(
        name: "click_count",
        text: """
            with tapping as materialized (select app_id, device_id from device where app_id = $1 and push_token = $2),
            pushed as materialized (
                select notification.notification_id, notification.public_id, tapping.device_id
                from tapping
                    join activity on activity.app_id = tapping.app_id and activity.activity_id = $3
                    join notification using (activity_number)
                    join lateral (
                        select from delivery
                        where delivery.notification_id = notification.notification_id
                            and delivery.device_id = tapping.device_id
                            and delivery.status in (\(DeliveryReason.accepted.rawValue), \(DeliveryReason.unknown.rawValue))
                        ) as delivery on true
                where $4::uuid is null or notification.public_id = $4
                order by notification.notification_id desc
                limit 1),
            counted as (
                insert into click as stored (notification_id, device_id)
                select notification_id, device_id from pushed
                on conflict (notification_id, device_id) do update set taps = stored.taps + 1)
            select pushed.public_id,
                pushed.public_id is null and exists (
                    select from activity join fan_out using (activity_number)
                    where activity.app_id = $1 and activity.activity_id = $3 and fan_out.finished_at is null)
            from tapping left join pushed on true
            """)
}
