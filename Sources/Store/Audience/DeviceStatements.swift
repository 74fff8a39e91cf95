import Gateway
import PostgreSQL

enum DeviceStatements {
    static let all =
        [
            find, findNamed, lock, lockNamed, add, update, removeTags, addTags, removeAliases, addAliases, removeUpdateTokens,
            moveStartTokens, moveUpdateTokens,
        ] + hasAlias.both + removals

    /// What `KnownDevice` reads, of the table `device`.
    static let columns = """
        device_id, public_id, environment, language, country, app_version, os_version, time_zone, session_count, first_session,
            last_session, tags,
            (select coalesce(jsonb_object_agg(label, identifier), '{}')
            from device_alias as alias
            where alias.app_id = device.app_id and alias.device_id = device.device_id),
            session_seconds, latitude, longitude, notifications_enabled, push_token, platform, is_relayed
        """

    static let find = Statement(
        name: "device_find", text: "select \(columns)\nfrom device\nwhere app_id = $1 and push_token = $2")

    /// The device of that identifier, and that of the token: app, push token or null, subscription.
    static let findNamed = Statement(
        name: "device_find_named",
        text: """
            select \(columns)
            from device
            where app_id = $1 and (push_token = $2 or public_id = $3)
            order by public_id = $3 desc
            """)

    static let lock = Statement(
        name: "device_lock", text: "select 1 from device where app_id = $1 and push_token = $2 for update")

    /// The same as `findNamed`.
    static let lockNamed = Statement(
        name: "device_lock_named",
        text: """
            select 1
            from device
            where app_id = $1 and (push_token = $2 or public_id = $3)
            order by device_id
            for update
            """)

    /// App, what names the device, label, identifier.
    static let hasAlias = DeviceStatement { key in
        Statement(
            name: "device_has_alias\(key.suffix)",
            text: """
                select 1
                from device join device_alias as alias on alias.app_id = device.app_id and alias.device_id = device.device_id
                where device.app_id = $1 and device.\(key.column) = $2 and alias.label = $3 and alias.identifier = $4
                """)
    }

    static let add = Statement(
        name: "device_add",
        text: """
            insert into device (app_id, push_token, environment)
            values ($1, $2, $3)
            on conflict (app_id, push_token) do nothing
            returning device_id, public_id
            """)

    static let update = Statement(
        name: "device_update",
        text: """
            update device
            set environment = $3, external_id = $4, language = $5, country = $6, app_version = $7, app_version_parts = $8,
                os_version = $9, time_zone = $10, session_count = $11, first_session = $12, last_session = $13, tags = $14,
                session_seconds = $15, latitude = $16, longitude = $17, notifications_enabled = $18,
                push_token = coalesce($19, push_token), platform = $20, is_relayed = $21,
                user_left_at = case when $22::bool then clock_timestamp() else user_left_at end,
                user_left_in = case when $22::bool then pg_current_xact_id() else user_left_in end
            where app_id = $1 and device_id = $2
            """)

    static let removeTags = Statement(
        name: "device_remove_tags",
        text: "delete from device_tag where app_id = $1 and device_id = $2 and key = any($3::text[])")

    static let addTags = Statement(
        name: "device_add_tags",
        text: """
            insert into device_tag (app_id, device_id, key, value)
            select $1, $2, key, value from unnest($3::text[], $4::text[]) as tag (key, value)
            on conflict (hash, device_id) do nothing
            """)

    static let removeAliases = Statement(
        name: "device_remove_aliases",
        text: "delete from device_alias where app_id = $1 and device_id = $2 and label = any($3::text[])")

    static let addAliases = Statement(
        name: "device_add_aliases",
        text: """
            insert into device_alias (app_id, device_id, label, identifier)
            select $1, $2, label, identifier from unnest($3::text[], $4::text[]) as alias (label, identifier)
            """)

    // Rows of several tokens are locked in the order of their keys, here and wherever else several are.
    /// The activities of a former user are no longer this device's: those that run, and those that are over while an end may still be
    /// on its way.
    static let removeUpdateTokens = Statement(
        name: "device_remove_update_tokens",
        text: """
            with held as (
                select token.activity_number
                from update_token as token join activity using (activity_number)
                where token.app_id = $1 and token.device_id = $2 and (
                    activity.ended_at is null
                    or token.ended_at is null and token.started_at > unix_seconds(now()) - \(ActivityWindow.endSeconds))
                order by token.activity_number
                for update of token)
            delete from update_token as token
            using held
            where token.activity_number = held.activity_number and token.device_id = $2
            """)

    // What stands in the device's row is what they become.
    static let moveStartTokens = Statement(
        name: "device_move_start_tokens",
        text: """
            with held as (
                select token.type_id
                from activity_type as type join start_token as token on token.app_id = type.app_id
                    and token.type_id = type.type_id and token.device_id = $2
                where type.app_id = $1
                order by token.type_id
                for update of token)
            update start_token as token
            set service = device.service,
                token = stored_token(device.service, bare_token(token.service, token.token), device.push_token)
            from held, device
            where token.app_id = $1 and token.type_id = held.type_id and token.device_id = $2
                and device.app_id = $1 and device.device_id = $2
            """)

    static let moveUpdateTokens = Statement(
        name: "device_move_update_tokens",
        text: """
            with held as (
                select activity_number
                from update_token
                where app_id = $1 and device_id = $2
                order by activity_number
                for update)
            update update_token as token
            set service = device.service,
                token = stored_token(device.service, bare_token(token.service, token.token), device.push_token)
            from held, device
            where token.activity_number = held.activity_number and token.device_id = $2
                and device.app_id = $1 and device.device_id = $2
            """)
}
