package import Gateway
package import Observability
import PostgreSQL
import Security

/// An API key that was just made: the only time its text is known.
package struct NewKey: Sendable {
    /// Names the key when it is revoked.
    package let id: UUID
    /// What the caller sends; not stored anywhere.
    package let key: Secret<String>
}

/// An API key as it is stored.
package struct StoredKey: Hashable, Sendable {
    package let id: UUID
    /// The `app_id` in routes.
    package let applicationID: UUID
    package let kind: KeyKind
    package let createdAt: UnixMilliseconds
    package let isRevoked: Bool
}

/// What became of a new app.
package enum ApplicationCreation: Sendable {
    case created(Application)
    /// The text is no private key in PEM on P-256, as Apple's .p8 files are; nothing is stored.
    case unusableKey
}

/// What became of a change to how devices of an app come in.
package enum DeviceAccessChange: Sendable {
    case changed(Application)
    /// The text is no public key in PEM on P-256; nothing is changed.
    case unusableKey
    /// Proof of identity cannot be required without a key that verifies it; nothing is changed.
    case noKey
    /// There is no such app.
    case unknown
}

/// What an operator does from a shell.
extension Store {
    /// Longest the schema may take, in a database where others work and large tables may get an index.
    static let schemaDeadline: Duration = .seconds(600)

    /// Brings the database to this version's schema; does nothing when it is there.
    package func applySchema() async throws(StorageError) {
        let sql = String(decoding: PackageResources.schema_sql, as: UTF8.self)
        do {
            try await pool.withConnection { connection in
                _ = try await connection.execute(sql, deadline: Self.schemaDeadline)
            }
        } catch let error as DatabaseError {
            throw StorageError(error)
        } catch {
            throw .unavailable
        }
    }

    /// All apps, oldest first.
    package func applications() async throws(StorageError) -> [Application] {
        let found = try await query(AdministrationStatements.applications)
        return (0..<found.rowCount).map { found.application(row: $0, firstColumn: 0) }
    }

    /// The app of an `app_id`; nil when there is none.
    package func application(_ publicID: UUID) async throws(StorageError) -> Application? {
        let found = try await query(AdministrationStatements.application, [.uuid(publicID)])
        return found.rowCount == 1 ? found.application(row: 0, firstColumn: 0) : nil
    }

    /// Switches Customer.io's routes on or off; nil when there is no such app.
    package func setLiveNotifications(_ isOn: Bool, of publicID: UUID) async throws(StorageError) -> Application? {
        let changed = try await query(AdministrationStatements.setLiveNotifications, [.uuid(publicID), .bool(isOn)])
        return changed.rowCount == 1 ? changed.application(row: 0, firstColumn: 0) : nil
    }

    /// Switches broadcast channels on or off for the starts that are accepted from now on; nil when there is no such app.
    package func setBroadcastChannels(_ isOn: Bool, of publicID: UUID) async throws(StorageError) -> Application? {
        let changed = try await query(AdministrationStatements.setBroadcastChannels, [.uuid(publicID), .bool(isOn)])
        return changed.rowCount == 1 ? changed.application(row: 0, firstColumn: 0) : nil
    }

    /// Changes how devices of an app come in; nil leaves what is stored.
    package func setDeviceAccess(of publicID: UUID, isOpen: Bool?, identityKeyPEM: [UInt8]?, requiresIdentity: Bool?)
        async throws(StorageError) -> DeviceAccessChange
    {
        if let identityKeyPEM, (try? ES256PublicKey(pem: identityKeyPEM)) == nil { return .unusableKey }
        let changed = try await query(
            AdministrationStatements.setDeviceAccess,
            [
                .uuid(publicID), isOpen.map(Parameter.bool) ?? .null, identityKeyPEM.map(Parameter.bytes) ?? .null,
                requiresIdentity.map(Parameter.bool) ?? .null,
            ])
        if changed.rowCount == 1 { return .changed(changed.application(row: 0, firstColumn: 0)) }
        return try await application(publicID) == nil ? .unknown : .noKey
    }

    /// Makes an API key, `op_<kind>_` and 32 random bytes; only its SHA-256 is stored.
    package func createKey(kind: KeyKind, application: ApplicationID) async throws(StorageError) -> NewKey {
        let text = "op_\(kind.name)_\(Base64.encodeURL(RandomBytes.generate(count: 32)))"
        let digest = SHA256.digest(Array(text.utf8))
        let created = try await query(
            AdministrationStatements.createKey, [.application(application), .int16(kind.rawValue), .bytes(digest)])
        return NewKey(id: created.uuid(column: 0), key: Secret(text))
    }

    /// All keys, revoked ones included, oldest first.
    package func keys() async throws(StorageError) -> [StoredKey] {
        let found = try await query(AdministrationStatements.keys)
        return (0..<found.rowCount).compactMap { row in
            guard let kind = KeyKind(rawValue: found.int16(row: row, column: 2)) else { return nil }
            return StoredKey(
                id: found.uuid(row: row, column: 0), applicationID: found.uuid(row: row, column: 1), kind: kind,
                createdAt: found.milliseconds(row: row, column: 3), isRevoked: found.bool(row: row, column: 4))
        }
    }

    /// Puts a key out of force, at once for all daemons; false when there is none of that identifier.
    package func revokeKey(_ id: UUID) async throws(StorageError) -> Bool {
        try await query(AdministrationStatements.revokeKey, [.uuid(id)]).affectedRowCount == 1
    }
}

enum AdministrationStatements {
    static let all = [
        putSigningKey, forgetToken, putServiceAccount, createApplication, setCredentials, applications, application,
        setDeviceAccess, setLiveNotifications, setBroadcastChannels, createKey, keys, revokeKey,
    ]

    static let putSigningKey = Statement(
        name: "signing_key_put",
        text: """
            insert into signing_key (team_id, key_id, sealed_pem)
            values ($1, $2, $3)
            on conflict (team_id, key_id) do update set sealed_pem = excluded.sealed_pem, stored_at = now()
            """)

    /// APNs would go on refusing what the former key signed, for as long as it lives.
    static let forgetToken = Statement(
        name: "signing_key_forget_token", text: "delete from provider_token where team_id = $1 and key_id = $2")

    static let putServiceAccount = Statement(
        name: "service_account_put",
        text: """
            insert into service_account (project_id, key_id, sealed_json) values ($1, $2, $3)
            on conflict (project_id, key_id) do update
                set sealed_json = excluded.sealed_json, stored_at = now(), sealed_token = null, expires_at = null
            """)

    /// Name, environment, bundle identifier, team, key, Android package, FCM project, its key; each of the latter or null.
    static let createApplication = Statement(
        name: "app_create",
        text: """
            insert into app
                (name, default_environment, bundle_id, team_id, key_id, android_package_name, fcm_project_id, fcm_key_id)
            values ($1, $2, $3, $4, $5, $6, $7, $8)
            returning \(Application.columns)
            """)

    /// App, environment or null, and the same; null leaves each.
    static let setCredentials = Statement(
        name: "app_set_credentials",
        text: """
            update app
            set default_environment = coalesce($2::smallint, default_environment), bundle_id = coalesce($3, bundle_id),
                team_id = coalesce($4, team_id), key_id = coalesce($5, key_id),
                android_package_name = coalesce($6, android_package_name), fcm_project_id = coalesce($7, fcm_project_id),
                fcm_key_id = coalesce($8, fcm_key_id)
            where public_id = $1
            returning \(Application.columns)
            """)

    static let applications = Statement(name: "app_list", text: "select \(Application.columns) from app order by app_id")

    static let application = Statement(
        name: "app_find", text: "select \(Application.columns) from app where public_id = $1")

    /// App, whether open, key, whether identity is required; null leaves each. No row without an app, or where a key is missing.
    static let setDeviceAccess = Statement(
        name: "app_set_device_access",
        text: """
            update app
            set device_routes_open = coalesce($2::bool, device_routes_open), identity_key = coalesce($3, identity_key),
                identity_required = coalesce($4::bool, identity_required)
            where public_id = $1
                and (coalesce($3, identity_key) is not null or not coalesce($4::bool, identity_required))
            returning \(Application.columns)
            """)

    static let setLiveNotifications = Statement(
        name: "app_set_live_notifications",
        text: "update app set live_notifications = $2 where public_id = $1 returning \(Application.columns)")

    static let setBroadcastChannels = Statement(
        name: "app_set_broadcast_channels",
        text: "update app set broadcast_channels = $2 where public_id = $1 returning \(Application.columns)")

    static let createKey = Statement(
        name: "api_key_create",
        text: "insert into api_key (app_id, kind, digest) values ($1, $2, $3) returning public_id")

    static let keys = Statement(
        name: "api_key_list",
        text: """
            select api_key.public_id, app.public_id, api_key.kind, api_key.created_at, api_key.revoked_at is not null
            from api_key join app using (app_id)
            order by api_key.created_at, api_key.public_id
            """)

    static let revokeKey = Statement(
        name: "api_key_revoke",
        text: "update api_key set revoked_at = coalesce(revoked_at, now()) where public_id = $1")
}
