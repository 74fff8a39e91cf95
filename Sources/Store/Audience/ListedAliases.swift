import Gateway

/// The devices that a list of aliases names.
enum ListedAliases {
    private static let userID = DeviceProfile.userIDLabel.text
    private static let externalID = DeviceProfile.externalIDLabel.text

    // Each entry of a list is looked up by itself: with joins, a long list makes the planner read the tables, all apps' rows included.
    /// A row of `device_id` for each entry and device, null where an entry names nobody: app ($1), labels ($3), identifiers ($4).
    ///
    /// A `onesignal_id` was given to one device, and names its user: it stands for all devices that have that device's `external_id`.
    static let found = """
        select alias.device_id
        from unnest($3::text[], $4::text[]) as wanted (label, identifier)
            left join lateral (
                select device_id from device_alias
                where app_id = $1 and label = wanted.label and identifier = wanted.identifier
                union all
                select fellow.device_id
                from device_alias as named
                    join device as holder on holder.app_id = $1 and holder.device_id = named.device_id
                    join device_alias as fellow on fellow.app_id = $1 and fellow.label = '\(externalID)'
                        and fellow.identifier = holder.external_id and fellow.device_id <> named.device_id
                where wanted.label = '\(userID)' and named.app_id = $1 and named.label = '\(userID)'
                    and named.identifier = wanted.identifier
                offset 0) as alias on true
        """
}
