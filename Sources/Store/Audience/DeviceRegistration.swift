import Gateway
import PostgreSQL

extension Store {
    /// A registration that changes nothing, as at most launches of an app, is one look-up and writes nothing.
    func store(_ registration: DeviceRegistration, application: Application) async throws(StorageError) -> RegistrationResult {
        let token: [Parameter] = [.application(application.id), .bytes(registration.pushToken)]
        let found = try await query(DeviceStatements.find, token)
        if found.rowCount == 1, let device = StoredDevice(found), device.applying(registration) == device {
            return .registered(RegisteredDevice(subscriptionID: found.uuid(column: 1), isNew: false))
        }
        let environment = registration.environment ?? application.defaultEnvironment
        if found.rowCount == 0, let refusal = StoredDevice(environment: environment).applying(registration).refusal {
            return refusal
        }
        return try await transaction { connection in
            let added = try await connection.query(DeviceStatements.add, token + [.int16(environment.rawValue)])
            let row: QueryResult
            let before: StoredDevice
            if added.rowCount == 1 {
                row = added
                before = StoredDevice(environment: environment)
            } else {
                // The row is locked first; what belongs to it is read afterwards, as its last owner left it.
                row = try await connection.run([
                    StatementCall(DeviceStatements.lock, token), StatementCall(DeviceStatements.find, token),
                ])[1]
                guard row.rowCount == 1, let stored = StoredDevice(row) else {
                    throw StorageError.refused(sqlState: SQLStates.unreadableValue)
                }
                before = stored
            }
            let after = before.applying(registration)
            if let refusal = after.refusal { return refusal }
            let change = DeviceChange(
                application: application.id, device: row.int64(row: 0, column: 0), before: before, after: after)
            let calls = change.calls
            if !calls.isEmpty { _ = try await connection.run(calls) }
            return .registered(RegisteredDevice(subscriptionID: row.uuid(column: 1), isNew: added.rowCount == 1))
        }
    }
}

/// The statements that turn one state of a device into another.
private struct DeviceChange {
    let application: ApplicationID
    let device: Int64
    let before: StoredDevice
    let after: StoredDevice

    private var key: [Parameter] { [.application(application), .int64(device)] }

    var calls: [StatementCall] {
        guard before != after else { return [] }
        var calls = [StatementCall(DeviceStatements.update, key + fields)]
        calls += pairCalls(
            before.tags, after.tags, remove: DeviceStatements.removeTags, add: DeviceStatements.addTags)
        calls += pairCalls(
            before.aliases, after.aliases, remove: DeviceStatements.removeAliases, add: DeviceStatements.addAliases)
        if let former = before.externalID, after.externalID != former {
            calls.append(StatementCall(DeviceStatements.removeUpdateTokens, key))
        }
        if before.environment != after.environment {
            let environment = Parameter.int16(after.environment.rawValue)
            calls.append(StatementCall(DeviceStatements.moveStartTokens, key + [environment]))
            calls.append(StatementCall(DeviceStatements.moveUpdateTokens, key + [environment]))
        }
        return calls
    }

    private var fields: [Parameter] {
        [
            .int16(after.environment.rawValue), Parameter(after.externalID?.text), Parameter(after.language),
            Parameter(after.country), Parameter(after.appVersion?.text),
            after.appVersion.flatMap { AppVersion.parts($0.text) }.map(Parameter.int64Array) ?? .null,
            Parameter(after.osVersion?.text),
            Parameter(after.timeZone?.text), .int64(after.sessionCount), Parameter(after.firstSession),
            Parameter(after.lastSession), .jsonb(after.tagsJSON), .int64(after.sessionSeconds),
            Parameter(after.location?.latitude), Parameter(after.location?.longitude),
        ]
    }

    private func pairCalls(
        _ before: [ExactText: ExactText], _ after: [ExactText: ExactText], remove: Statement, add: Statement
    ) -> [StatementCall] {
        let removed = before.filter { after[$0.key] != $0.value }.keys.sorted()
        let added = after.filter { before[$0.key] != $0.value }.sorted { $0.key < $1.key }
        var calls: [StatementCall] = []
        if !removed.isEmpty { calls.append(StatementCall(remove, key + [.textArray(removed.map(\.text))])) }
        if !added.isEmpty {
            calls.append(StatementCall(add, key + [.textArray(added.map(\.key.text)), .textArray(added.map(\.value.text))]))
        }
        return calls
    }
}

enum DeviceStatements {
    static let all = [
        find, lock, add, update, removeTags, addTags, removeAliases, addAliases, removeUpdateTokens, moveStartTokens,
        moveUpdateTokens,
    ]

    static let find = Statement(
        name: "device_find",
        text: """
            select device_id, public_id, environment, language, country, app_version, os_version, time_zone, session_count,
                first_session, last_session, tags,
                (select coalesce(jsonb_object_agg(label, identifier), '{}')
                from device_alias as alias
                where alias.app_id = device.app_id and alias.device_id = device.device_id),
                session_seconds, latitude, longitude
            from device
            where app_id = $1 and push_token = $2
            """)

    static let lock = Statement(
        name: "device_lock", text: "select 1 from device where app_id = $1 and push_token = $2 for no key update")

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
                session_seconds = $15, latitude = $16, longitude = $17
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
    /// The activities of a former user are no longer this device's.
    static let removeUpdateTokens = Statement(
        name: "device_remove_update_tokens",
        text: """
            with held as (
                select token.activity_number
                from update_token as token join activity using (activity_number)
                where token.app_id = $1 and token.device_id = $2 and activity.ended_at is null
                order by token.activity_number
                for update of token)
            delete from update_token as token
            using held
            where token.activity_number = held.activity_number and token.device_id = $2
            """)

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
            set environment = $3
            from held
            where token.app_id = $1 and token.type_id = held.type_id and token.device_id = $2
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
            set environment = $3
            from held
            where token.activity_number = held.activity_number and token.device_id = $2
            """)
}
