import PostgreSQL

extension StartTokenStatements {
    // Whoever takes a token over holds its lock alone, and waits for those who are about to store it here; who comes later finds it
    // taken, by the unique index. The lock on the devices keeps their environments and aliases as they are; one that changed since
    // this statement began has another place in the table (ctid). Devices are locked, and rows written, in their order.
    /// Stores tokens that no other devices have, in one statement: app, what names the devices, type's names, tokens, labels and
    /// identifiers of owners (empty where none is asked for). No token, and no device with one type, is there twice. It writes nothing
    /// for a device that has its token already, but once an hour that it told it.
    ///
    /// A row for each device that exists and is the owner's: its place, from 1, and whether it is done. It is not when the type is
    /// new, another device has the token, or the device changed meanwhile.
    static let register = DeviceStatement { key in
        Statement(
            name: "start_token_register\(key.suffix)",
            text: """
                with asked as materialized (
                    select *
                    from unnest($2::\(key.type)[], $3::text[], $4::bytea[], $5::text[], $6::text[])
                        with ordinality as asked (name, type, token, owner_label, owner_identifier, place)),
                known as materialized (
                    select asked.place, asked.token as told, stored_token(device.service, asked.token, device.push_token) as token,
                        device.device_id, device.ctid as version, type.type_id, held.token as held,
                        \(TokenTelling.isStale("held")) as is_stale
                    from asked
                        join device on device.app_id = $1 and device.\(key.column) = asked.name
                        left join activity_type as type on type.app_id = $1 and type.name = asked.type
                        left join start_token as held on held.app_id = $1 and held.type_id = type.type_id
                            and held.device_id = device.device_id
                    where asked.owner_label = '' or exists (
                        select from device_alias as alias
                        where alias.app_id = $1 and alias.device_id = device.device_id and alias.label = asked.owner_label
                            and alias.identifier = asked.owner_identifier)),
                changed as materialized (
                    select place, token, device_id, version, type_id,
                        pg_advisory_xact_lock_shared(hashtextextended(encode(told, 'hex'), $1::int))
                    from known
                    where type_id is not null and (token is distinct from held or is_stale) and not exists (
                        select from start_token as other
                        where other.app_id = $1 and other.type_id = known.type_id and other.token = known.token
                            and other.device_id <> known.device_id)),
                owner as materialized (
                    select device_id, service, ctid as version
                    from device
                    where app_id = $1 and device_id = any(array(select device_id from changed))
                    order by device_id
                    for share),
                ready as materialized (
                    select changed.place, changed.token, changed.type_id, changed.device_id, owner.service
                    from changed join owner on owner.device_id = changed.device_id and owner.version = changed.version),
                stored as (
                    insert into start_token as stored (app_id, type_id, device_id, token, service, registered_at)
                    select $1, type_id, device_id, token, service, clock_timestamp()
                    from ready
                    order by type_id, device_id
                    on conflict (app_id, type_id, device_id) do update
                        set \(StartTokenStatements.toldAgain)),
                forgotten as (
                    delete from removed_start_token as removed
                    using ready
                    where removed.app_id = $1 and removed.type_id = ready.type_id and removed.device_id = ready.device_id)
                select known.place,
                    known.token is not distinct from known.held and not known.is_stale or ready.place is not null
                from known left join ready on ready.place = known.place
                """)
    }
}
