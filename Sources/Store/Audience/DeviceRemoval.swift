import Gateway
import PostgreSQL

extension DeviceStatements {
    /// Removes devices and everything they told, those that are locked already: their tokens, so that nothing is pushed to them from
    /// then on, then what names them, then their rows. What was pushed to them stays, and so do their taps.
    static func removal(of devices: [Int64], _ application: ApplicationID) -> [StatementCall] {
        removals.map { StatementCall($0, [.application(application), .int64Array(devices)]) }
    }

    /// App, devices; in this order.
    static let removals = [
        removeAllUpdateTokens, removeMemberships, removeAllStartTokens, forgetRemovals, removeAllTags, removeAllAliases,
        removeRows,
    ]

    /// Removes what opens activities on a device, and leaves the rest.
    static func tokenRemoval(of device: Int64, _ application: ApplicationID) -> [StatementCall] {
        [removeAllUpdateTokens, removeAllStartTokens]
            .map { StatementCall($0, [.application(application), .int64Array([device])]) }
    }

    // Rows of several tokens are locked in the order of their keys, here and wherever else several are.
    private static let removeAllUpdateTokens = Statement(
        name: "device_removal_update_tokens",
        text: """
            with held as (
                select activity_number, device_id
                from update_token
                where app_id = $1 and device_id = any($2::bigint[])
                order by activity_number, device_id
                for update)
            delete from update_token as token
            using held
            where token.activity_number = held.activity_number and token.device_id = held.device_id
            """)

    /// App, devices.
    static let removeMemberships = Statement(
        name: "device_removal_channels",
        text: """
            with held as (
                select activity_number, device_id
                from channel_member
                where app_id = $1 and device_id = any($2::bigint[])
                order by activity_number, device_id
                for update)
            delete from channel_member as member
            using held
            where member.activity_number = held.activity_number and member.device_id = held.device_id
            """)

    private static let removeAllStartTokens = Statement(
        name: "device_removal_start_tokens",
        text: """
            with held as (
                select token.type_id, token.device_id
                from activity_type as type join start_token as token on token.app_id = type.app_id
                    and token.type_id = type.type_id and token.device_id = any($2::bigint[])
                where type.app_id = $1
                order by token.type_id, token.device_id
                for update of token)
            delete from start_token as token
            using held
            where token.app_id = $1 and token.type_id = held.type_id and token.device_id = held.device_id
            """)

    private static let forgetRemovals = Statement(
        name: "device_removal_removed_tokens",
        text: """
            delete from removed_start_token as removed
            using activity_type as type
            where type.app_id = $1 and removed.app_id = $1 and removed.type_id = type.type_id
                and removed.device_id = any($2::bigint[])
            """)

    private static let removeAllTags = Statement(
        name: "device_removal_tags", text: "delete from device_tag where app_id = $1 and device_id = any($2::bigint[])")

    private static let removeAllAliases = Statement(
        name: "device_removal_aliases", text: "delete from device_alias where app_id = $1 and device_id = any($2::bigint[])")

    private static let removeRows = Statement(
        name: "device_removal_rows", text: "delete from device where app_id = $1 and device_id = any($2::bigint[])")
}
