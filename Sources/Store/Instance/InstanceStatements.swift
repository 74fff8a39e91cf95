import Gateway
import PostgreSQL

enum InstanceStatements {
    static let all = [
        types, devices, lockDevices, hold, lock, isHeldElsewhere, forget, add, addDelivery, change, noteReport, count,
    ]

    /// Those of the types that are known, in their order: app, types' names.
    static let types = Statement(
        name: "instance_types",
        text: """
            select type.type_id
            from unnest($2::text[]) with ordinality as wanted (name, place)
                join activity_type as type on type.app_id = $1 and type.name = wanted.name
            order by wanted.place
            """)

    /// Devices of a profile that hold a start token of any of the types, their platforms, and what had been committed then: app, types' names, labels, identifiers,
    /// the push token of the only one meant, or null, platforms.
    static let devices = Statement(
        name: "instance_devices",
        text: """
            select distinct device.device_id, device.platform, \(StartStatements.snapshot)
            from unnest($3::text[], $4::text[]) as wanted (label, identifier)
                cross join lateral (
                    select device_id from device_alias
                    where app_id = $1 and label = wanted.label and identifier = wanted.identifier
                    offset 0) as alias
                cross join lateral (
                    select device_id, platform, push_token from device
                    where app_id = $1 and device_id = alias.device_id
                    offset 0) as device
            where device.platform = any($6::smallint[]) and ($5::bytea is null or device.push_token = $5) and exists (
                select from activity_type as type join start_token as token on token.app_id = $1
                    and token.type_id = type.type_id and token.device_id = device.device_id
                where type.app_id = $1 and type.name = any($2::text[]))
            order by device.device_id
            """)

    /// Until the transaction ends they keep their users: app, devices.
    static let lockDevices = Statement(
        name: "instance_lock_devices",
        text: "select 1 from device where app_id = $1 and device_id = any($2::bigint[]) order by device_id for share")

    /// Gives Android devices, as far as they still are the profile's, the activity of a start: notification, devices, labels,
    /// identifiers.
    static let hold = Statement(
        name: "instance_hold",
        text: """
            insert into update_token (activity_number, device_id, app_id, token, service, started_at)
            select begun.activity_number, device.device_id, begun.app_id, device.push_token, device.service,
                unix_seconds(clock_timestamp())
            from notification as begun
                join device on device.app_id = begun.app_id and device.device_id = any($2::bigint[])
            where begun.notification_id = $1 and device.push_token is not null and exists (
                select from unnest($3::text[], $4::text[]) as wanted (label, identifier)
                    join device_alias as alias on alias.app_id = begun.app_id and alias.device_id = device.device_id
                        and alias.label = wanted.label and alias.identifier = wanted.identifier)
            order by device.device_id
            on conflict (activity_number, device_id) do nothing
            """)

    /// Whether it has ended, whether it has expired, its newest delivery, how many it has, what names its profile, its attributes, content
    /// state and deep link: app, instance. Its row is locked.
    static let lock = Statement(
        name: "instance_lock",
        text: """
            select ended_at is not null, expires_at <= unix_seconds(clock_timestamp()), last_delivery, delivery_count,
                profile_label, profile_identifier, attributes, content_state, deep_link
            from live_instance
            where app_id = $1 and instance_id = $2
            for update
            """)

    /// Whether another device may still show the activity: app, activity id, push token.
    static let isHeldElsewhere = Statement(
        name: "instance_is_held_elsewhere",
        text: """
            select exists (
                select from activity join update_token as token using (activity_number)
                where activity.app_id = $1 and activity.activity_id = $2 and token.ended_at is null
                    and token.device_id is distinct from (
                        select device_id from device where app_id = $1 and push_token = $3))
            """)

    /// Ends the activity that no device shows any more; nobody who comes late is told of it: app, activity id.
    static let forget = Statement(
        name: "instance_forget",
        text: """
            update activity
            set ended_at = clock_timestamp(), latest_notification = null
            where app_id = $1 and activity_id = $2 and ended_at is null
            """)

    // A device's clock may be wrong: what it says counts unless it is long ago, and never lies ahead.
    private static func moment(_ parameter: String) -> String {
        """
        case when \(parameter)::bigint >= unix_seconds(clock_timestamp()) - \(Store.reportAgeSeconds)
            then least(\(parameter)::bigint, unix_seconds(clock_timestamp()))
            else unix_seconds(clock_timestamp()) end
        """
    }

    /// App, instance, profile's label and identifier, type, platform, source, attributes, content state, deep link, failure,
    /// notification, delivery, when it began or null for now, when it expires or null for the latest moment.
    static let add = Statement(
        name: "instance_add",
        text: """
            insert into live_instance
                (app_id, instance_id, profile_label, profile_identifier, notification_type, platform, source, attributes,
                content_state, deep_link, failure, start_notification, last_delivery, started_at, expires_at)
            select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, began.at,
                coalesce($15::bigint, began.at + \(AdmissionLimits.instanceSeconds))
            from (select \(moment("$14")) as at) as began
            """)

    /// App, instance, number, delivery, operation, source, notification, failure, when or null for now.
    static let addDelivery = Statement(
        name: "instance_add_delivery",
        text: """
            insert into live_delivery
                (app_id, instance_id, number, delivery_id, operation, source, notification_id, failure, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, \(moment("$9")))
            """)

    /// What an update or end changes: app, instance, delivery, attributes and content state or null to leave them, deep link or null
    /// to leave it, whether it ends the instance, when or null for now.
    static let change = Statement(
        name: "instance_change",
        text: """
            update live_instance
            set last_delivery = $3, delivery_count = delivery_count + 1, attributes = coalesce($4, attributes),
                content_state = coalesce($5, content_state), deep_link = coalesce($6, deep_link),
                ended_at = case when $7::bool then greatest(\(moment("$8")), started_at) else ended_at end
            where app_id = $1 and instance_id = $2
            """)

    /// App, message. Nothing when it was noted before.
    static let noteReport = Statement(
        name: "instance_note_report",
        text: "insert into live_report (app_id, message_id) values ($1, $2) on conflict do nothing")

    /// Counts that a delivery arrived or was opened, once for a message: app, delivery, message, whether it was opened. A row when
    /// there is such a delivery.
    static let count = Statement(
        name: "instance_count",
        text: """
            with known as materialized (
                select app_id, instance_id, number from live_delivery where app_id = $1 and delivery_id = $2),
            fresh as (
                insert into live_report (app_id, message_id)
                select $1, $3 from known
                on conflict do nothing
                returning 1),
            counted as (
                update live_delivery as delivery
                set opened = opened + case when $4::bool then 1 else 0 end,
                    delivered = delivered + case when $4::bool then 0 else 1 end
                from known, fresh
                where delivery.app_id = known.app_id and delivery.instance_id = known.instance_id
                    and delivery.number = known.number)
            select 1 from known
            """)
}

enum NotificationTypeStatements {
    static let all = [record, attributesType, attributesTypes, list, name]

    /// Notes a type, and the attributes type an SDK registered for it: app, identifier, attributes type or null.
    static let record = Statement(
        name: "notification_type_record",
        text: """
            with told as (
                insert into notification_type_attributes (app_id, identifier, attributes_type)
                select $1, $2, $3 where $3::text is not null
                on conflict do nothing)
            insert into notification_type as known (app_id, identifier, attributes_type)
            values ($1, $2, $3)
            on conflict (app_id, identifier) do update
                set attributes_type = excluded.attributes_type
                where excluded.attributes_type is distinct from known.attributes_type and excluded.attributes_type is not null
            """)

    static let attributesType = Statement(
        name: "notification_type_attributes",
        text: """
            select attributes_type from notification_type
            where app_id = $1 and identifier = $2 and attributes_type is not null
            """)

    /// All that SDKs registered: app, identifier.
    static let attributesTypes = Statement(
        name: "notification_type_all_attributes",
        text: """
            select attributes_type from notification_type_attributes
            where app_id = $1 and identifier = $2
            order by attributes_type
            limit \(Store.attributesTypeLimit)
            """)

    static let list = Statement(
        name: "notification_type_list",
        text: """
            select identifier, attributes_type, friendly_name from notification_type where app_id = $1 order by identifier
            """)

    static let name = Statement(
        name: "notification_type_name",
        text: "update notification_type set friendly_name = $3 where app_id = $1 and identifier = $2")
}
