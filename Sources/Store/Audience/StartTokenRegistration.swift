import PostgreSQL

extension StartTokenStatements {
    // Whoever takes a token over holds its lock alone, and waits for those who are about to store it here; who comes later finds it
    // taken, by the unique index. The lock on the device keeps its environment as it is.
    /// Stores a token that no other device has, in one statement: app, what names the device, type's name, token. It writes nothing when the
    /// device has that token already.
    ///
    /// No row: there is no such device. True: done. False: the type is new, or the device changed meanwhile.
    static let register = DeviceStatement { key in
        Statement(
            name: "start_token_register\(key.suffix)",
            text: """
                with known as materialized (
                    select device.device_id, type.type_id, held.token
                    from device
                        left join activity_type as type on type.app_id = device.app_id and type.name = $3
                        left join start_token as held on held.app_id = device.app_id and held.type_id = type.type_id
                            and held.device_id = device.device_id
                    where device.app_id = $1 and device.\(key.column) = $2),
                changed as materialized (
                    select device_id, type_id, pg_advisory_xact_lock_shared(hashtextextended(encode($4::bytea, 'hex'), $1::int))
                    from known
                    where type_id is not null and token is distinct from $4),
                owner as materialized (
                    select device_id, environment
                    from device
                    where app_id = $1 and \(key.column) = $2 and device_id = any(array(select device_id from changed))
                    for share),
                stored as (
                    insert into start_token as stored (app_id, type_id, device_id, token, environment, registered_at)
                    select $1, changed.type_id, owner.device_id, $4, owner.environment, clock_timestamp()
                    from owner, changed
                    on conflict (app_id, type_id, device_id) do update
                        set token = excluded.token, environment = excluded.environment, registered_at = excluded.registered_at
                        where stored.token <> excluded.token),
                forgotten as (
                    delete from removed_start_token
                    where app_id = $1 and type_id = any(array(select type_id from changed))
                        and device_id = any(array(select device_id from owner)))
                select type_id is not null and (select count(*) from changed) = (select count(*) from owner)
                from known
                """)
    }
}
