package import Gateway
import PostgreSQL

extension Store: AudienceCounter {
    /// Longest that counting an audience may take; then the caller hears 503. On a busy machine with two cores a million devices
    /// took 1.4 to 1.7 s (everybody) and 0.7 s (a tag and a country).
    static let countTimeoutMilliseconds = 8_000

    package func preview(_ audience: Audience, activityType: String?, application: ApplicationID)
        async throws(StorageError) -> PreviewResult
    {
        try await transaction { connection in
            var type: Int32?
            if let activityType {
                let found = try await connection.query(
                    CountingStatements.type, [.application(application), .text(activityType)])
                type = found.rowCount == 1 ? found.int32(row: 0, column: 0) : nil
            }
            return try await self.preview(audience, type: type, application: application, on: connection)
        }
    }

    private func preview(
        _ audience: Audience, type: Int32?, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> PreviewResult {
        let ofType: [Parameter] = [.application(application), .int32(type ?? Self.noType)]
        switch audience {
        case .aliases(let aliases):
            let lists: [Parameter] = [.textArray(aliases.map(\.label)), .textArray(aliases.map(\.identifier))]
            let counted = try await connection.query(CountingStatements.aliases, ofType + lists)
            return .counted(AudiencePreview(counted))
        case .subscriptions(let subscriptions):
            let counted = try await connection.query(
                CountingStatements.subscriptions, ofType + [.uuidArray(subscriptions.map(\.bytes))])
            return .counted(AudiencePreview(counted))
        case .everybody, .segments, .filters:
            switch try await resolve(audience, type: type, application: application, on: connection) {
            case .unknownSegments(let names): return .unknownSegments(names)
            case .conditions(let conditions):
                return .counted(try await count(conditions, type: type, application: application, on: connection))
            case .devices: preconditionFailure("segments and filters are conditions")
            }
        }
    }

    /// No type has this number.
    private static let noType: Int32 = 0

    func count(
        _ audience: FrozenAudience, type: Int32?, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> AudiencePreview {
        let moment = try await connection.run([
            StatementCall(StartStatements.limitTime, [.text("\(Self.countTimeoutMilliseconds)")]),
            StatementCall(CountingStatements.moment),
        ])[1].timestampMicroseconds(row: 0, column: 0)
        let sql = AudienceSQL(audience)
        let counted = try await connection.queryUnprepared(
            "select \(CountingStatements.counts) \(sql.deviceSource)",
            sql.parameters(
                application: application, type: type ?? Self.noType, low: 0, high: .max, momentMicroseconds: moment))
        return AudiencePreview(counted)
    }
}

extension AudiencePreview {
    /// Reads `CountingStatements.counts`, and behind them the entries that name nobody, where a list was given.
    fileprivate init(_ row: QueryResult) {
        self.init(
            matchedCount: row.int64(row: 0, column: 0), productionCount: row.int64(row: 0, column: 1),
            sandboxCount: row.int64(row: 0, column: 2), androidCount: row.int64(row: 0, column: 3),
            relayedCount: row.int64(row: 0, column: 4), wrongEnvironmentCount: row.int64(row: 0, column: 5),
            removedCount: row.int64(row: 0, column: 6), disabledCount: row.int64(row: 0, column: 7),
            unknownEntryCount: row.columnCount > 8 ? row.int64(row: 0, column: 8) : 0)
    }
}

enum CountingStatements {
    static let all = [type, moment, aliases, subscriptions]

    static let type = Statement(
        name: "counting_type", text: "select type_id from activity_type where app_id = $1 and name = $2")

    static let moment = Statement(name: "counting_moment", text: "select now()")

    private static let badToken = DeliveryReason.badDeviceToken.rawValue

    /// Devices, those with a start token of each service that takes starts, and why others have none; each device is one row.
    static let counts = """
        count(*), count(*) filter (where held.service = \(PushService.apnsProduction.rawValue)), \
        count(*) filter (where held.service = \(PushService.apnsSandbox.rawValue)), \
        count(*) filter (where held.service = \(PushService.fcm.rawValue)), \
        count(*) filter (where held.service = \(PushService.fcmToAPNs.rawValue)), \
        count(*) filter (where held.service is null and removed.status = \(badToken)), \
        count(*) filter (where held.service is null and removed.status <> \(badToken)), \
        count(*) filter (where held.service is null and removed.status is null and not device.notifications_enabled)
        """

    /// The same of a list, and its entries that name no device. `found` has a row an entry and device. Each of them is looked up by
    /// itself: how many they are says nothing of how many devices there are.
    private static func ofList(name: String, found: String) -> Statement {
        Statement(
            name: name,
            text: """
                with found as materialized (\(found)),
                matched as (
                    select distinct found.device_id from found where found.device_id is not null),
                counted as (
                    select \(counts)
                    from matched
                        cross join lateral (
                            select notifications_enabled from device
                            where app_id = $1 and device_id = matched.device_id
                            offset 0) as device
                        left join lateral (
                            select service from start_token
                            where app_id = $1 and type_id = $2 and device_id = matched.device_id
                            offset 0) as held on true
                        left join lateral (
                            select status from removed_start_token
                            where app_id = $1 and type_id = $2 and device_id = matched.device_id
                            offset 0) as removed on true)
                select counted.*, (select count(*) from found where found.device_id is null)
                from counted
                """)
    }

    /// App, type, labels, identifiers.
    static let aliases = ofList(name: "counting_aliases", found: ListedAliases.found)

    /// App, type, subscription ids.
    static let subscriptions = ofList(
        name: "counting_subscriptions",
        found: """
            select device.device_id
            from unnest($3::uuid[]) as wanted (public_id)
                left join lateral (
                    select device_id from device where app_id = $1 and public_id = wanted.public_id
                    offset 0) as device on true
            """)
}
