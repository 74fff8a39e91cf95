import Gateway
import PostgreSQL

extension QueryResult {
    func optionalText(row: Int = 0, column: Int) -> String? {
        isNull(row: row, column: column) ? nil : text(row: row, column: column)
    }

    func optionalInt64(row: Int = 0, column: Int) -> Int64? {
        isNull(row: row, column: column) ? nil : int64(row: row, column: column)
    }

    func optionalInt32(row: Int = 0, column: Int) -> Int32? {
        isNull(row: row, column: column) ? nil : int32(row: row, column: column)
    }

    /// Latitude and longitude; nil where either is null.
    func location(row: Int, firstColumn: Int) -> DeviceLocation? {
        guard !isNull(row: row, column: firstColumn), !isNull(row: row, column: firstColumn + 1) else { return nil }
        return DeviceLocation(
            latitude: double(row: row, column: firstColumn), longitude: double(row: row, column: firstColumn + 1))
    }

    func uuid(row: Int = 0, column: Int) -> UUID {
        guard let uuid = UUID(bytes: uuidBytes(row: row, column: column)) else { preconditionFailure("a uuid has 16 bytes") }
        return uuid
    }

    func optionalUUID(row: Int = 0, column: Int) -> UUID? {
        isNull(row: row, column: column) ? nil : uuid(row: row, column: column)
    }

    /// A `timestamptz`, rounded down to milliseconds.
    func milliseconds(row: Int = 0, column: Int) -> UnixMilliseconds {
        let microseconds = timestampMicroseconds(row: row, column: column)
        return UnixMilliseconds(rawValue: microseconds >= 0 ? microseconds / 1_000 : (microseconds - 999) / 1_000)
    }

    func optionalMilliseconds(row: Int = 0, column: Int) -> UnixMilliseconds? {
        isNull(row: row, column: column) ? nil : milliseconds(row: row, column: column)
    }

    /// Two texts side by side; nil where either is null.
    private func pair(row: Int, firstColumn: Int) -> (String, String)? {
        guard let first = optionalText(row: row, column: firstColumn),
            let second = optionalText(row: row, column: firstColumn + 1)
        else { return nil }
        return (first, second)
    }

    /// An app, from the columns `Application.columns` names.
    func application(row: Int, firstColumn: Int) -> Application {
        guard let environment = PushEnvironment(rawValue: int16(row: row, column: firstColumn + 6)) else {
            preconditionFailure("a constraint keeps other environments out")
        }
        return Application(
            id: ApplicationID(rawValue: int32(row: row, column: firstColumn)),
            publicID: uuid(row: row, column: firstColumn + 1),
            name: text(row: row, column: firstColumn + 2),
            bundleID: optionalText(row: row, column: firstColumn + 3),
            providerKey: pair(row: row, firstColumn: firstColumn + 4).map { ProviderKey(teamID: $0, keyID: $1) },
            androidPackageName: optionalText(row: row, column: firstColumn + 11),
            fcmAccount: pair(row: row, firstColumn: firstColumn + 12).map { FCMAccount(projectID: $0, keyID: $1) },
            defaultEnvironment: environment,
            deviceAccess: DeviceAccess(
                isOpen: bool(row: row, column: firstColumn + 7),
                identityKeyPEM: isNull(row: row, column: firstColumn + 8) ? nil : bytes(row: row, column: firstColumn + 8),
                requiresIdentity: bool(row: row, column: firstColumn + 9)),
            hasLiveNotifications: bool(row: row, column: firstColumn + 10),
            hasBroadcastChannels: bool(row: row, column: firstColumn + 14))
    }
}

extension Application {
    /// What `QueryResult.application` reads, of a table with the alias `app`.
    static let columns = """
        app.app_id, app.public_id, app.name, app.bundle_id, app.team_id, app.key_id, app.default_environment,
        app.device_routes_open, app.identity_key, app.identity_required, app.live_notifications,
        app.android_package_name, app.fcm_project_id, app.fcm_key_id, app.broadcast_channels
        """
    static let columnCount = 15
}

extension UnixMilliseconds {
    /// The year 1 and the year 9999: what a broken clock or a broken answer says beyond that means "long ago" or "never".
    private static let storable: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    /// For a `timestamptz`.
    var storedMicroseconds: Int64 { min(max(rawValue, Self.storable.lowerBound), Self.storable.upperBound) * 1_000 }
}

extension Parameter {
    init(_ text: String?) { self = text.map(Parameter.text) ?? .null }
    init(_ number: Int64?) { self = number.map(Parameter.int64) ?? .null }
    init(_ number: Double?) { self = number.map(Parameter.double) ?? .null }
    init(_ number: Int32?) { self = number.map(Parameter.int32) ?? .null }
    static func application(_ application: ApplicationID) -> Parameter { .int32(application.rawValue) }
    static func notification(_ notification: NotificationID) -> Parameter { .int64(notification.rawValue) }
    static func worker(_ worker: WorkerID) -> Parameter { .int32(worker.rawValue) }
    static func uuid(_ uuid: UUID) -> Parameter { .uuid(uuid.bytes) }
    static func notifications(_ notifications: [NotificationID]) -> Parameter { .int64Array(notifications.map(\.rawValue)) }
}
