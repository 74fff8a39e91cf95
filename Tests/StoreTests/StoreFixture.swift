import Gateway
import Networking
import PostgreSQL
import Security
import TestSupport
import Testing

@testable import Store

/// A store over a database of its own, with one app.
struct StoreFixture {
    let database: TestDatabase
    let pool: DatabasePool
    let store: Store
    var application: Application
    /// A session beside the store, for looking and for arranging.
    let session: DatabaseConnection

    static let sealingKey = SealingKey(bytes: Array(0..<32))!

    static func with(connections: Int = 4, _ body: (StoreFixture) async throws -> Void) async throws {
        try await TestDatabase.withNew { database in
            let pool = DatabasePool(loop: TestDatabase.loop, options: database.options, size: connections)
            let store = Store(pool: pool, sealingKey: sealingKey)
            try await store.maintainPartitions()
            let application = try await makeApplication(store)
            let session = try await database.connect()
            let fixture = StoreFixture(
                database: database, pool: pool, store: store, application: application, session: session)
            do { try await body(fixture) } catch {
                await session.close()
                await pool.close()
                throw error
            }
            await session.close()
            await pool.close()
        }
    }

    static func makeApplication(_ store: Store, name: String = "App") async throws -> Application {
        let created = try await store.createApplication(
            name: name,
            credentials: ApplicationCredentials(bundleID: "com.example.\(name.lowercased())", signingKey: makeSigningKey()),
            environment: .production)
        guard case .created(let application) = created else { throw FixtureError.noApplication }
        return application
    }

    static func makeSigningKey(teamID: String = "TEAM123456") -> ApplicationCredentials.SigningKey {
        ApplicationCredentials.SigningKey(
            key: ProviderKey(teamID: teamID, keyID: "KEY1234567"), pem: ES256PrivateKey.generate().pem)
    }

    /// Runs SQL with parameters and returns the first column of the first row as an integer; nil for no row or null.
    @discardableResult
    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64? {
        let result = try await session.queryUnprepared(sql, parameters)
        guard result.rowCount > 0, result.columnCount > 0, !result.isNull(row: 0, column: 0) else { return nil }
        return result.int64(row: 0, column: 0)
    }

    func text(_ sql: String, _ parameters: [Parameter] = []) async throws -> String? {
        let result = try await session.queryUnprepared(sql, parameters)
        guard result.rowCount > 0, !result.isNull(row: 0, column: 0) else { return nil }
        return result.text(row: 0, column: 0)
    }
}

enum FixtureError: Error {
    case noApplication
    case unexpected(String)
}

// MARK: Devices

extension StoreFixture {
    static let type = "MatchAttributes"

    /// The push token of the device of that number, which is also how tests name devices.
    static func pushToken(_ number: Int) -> [UInt8] { Array("push-\(number)".utf8) }
    static func startToken(_ number: Int) -> [UInt8] { Array("start-\(number)".utf8) }
    static func updateToken(_ number: Int) -> [UInt8] { Array("update-\(number)".utf8) }

    /// Registers a device; nil as type leaves it without a start token.
    @discardableResult
    func addDevice(
        _ number: Int, type: String? = StoreFixture.type, _ change: (inout DeviceRegistration) -> Void = { _ in }
    ) async throws -> UUID {
        var registration = DeviceRegistration(pushToken: Self.pushToken(number))
        change(&registration)
        let result = try await store.register(registration, application: application)
        guard case .registered(let device) = result else { throw FixtureError.unexpected("\(result)") }
        if let type {
            let isStored = try await store.setStartToken(
                Self.startToken(number), activityType: type, device: .pushToken(Self.pushToken(number)),
                application: application.id)
            #expect(isStored)
        }
        return device.subscriptionID
    }

    /// Adds many devices with start tokens by SQL, numbered from 1.
    func addDevices(_ count: Int) async throws {
        try await session.execute(
            """
            insert into activity_type (app_id, name) values (\(application.id), '\(Self.type)') on conflict do nothing;
            insert into device (app_id, push_token, environment)
            select \(application.id), convert_to('push-' || n, 'UTF8'), 0 from generate_series(1, \(count)) as n;
            insert into start_token (app_id, type_id, device_id, token, service)
            select device.app_id, type.type_id, device.device_id,
                convert_to(replace(convert_from(push_token, 'UTF8'), 'push', 'start'), 'UTF8'), 0
            from device join activity_type as type using (app_id);
            analyze device, start_token;
            """)
    }

    /// Returns once so many sessions of this database wait for a lock.
    func waitUntilBlocked(_ count: Int = 1) async throws {
        let observer = try await database.connect()
        var isWaiting = false
        while !isWaiting {
            let found = try await observer.queryUnprepared(
                """
                select count(*) >= \(count)
                from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock'
                """)
            isWaiting = found.bool(row: 0, column: 0)
        }
        await observer.close()
    }

    func deviceNumber(_ number: Int) async throws -> Int64 {
        let found = try await self.number(
            "select device_id from device where app_id = $1 and push_token = $2",
            [.int32(application.id.rawValue), .bytes(Self.pushToken(number))])
        return try #require(found)
    }

    /// Registers an update token for a device; the token is named after the device unless given.
    @discardableResult
    func hold(
        _ activityID: String, device number: Int, token: [UInt8]? = nil, startedAt: Int64? = nil, type: String? = nil
    ) async throws -> (window: ActivityWindow, catchUp: Bool) {
        let result = try await store.setUpdateToken(
            UpdateTokenRegistration(
                device: .pushToken(Self.pushToken(number)), activityID: activityID,
                token: token ?? Self.updateToken(number) + Array("-\(activityID)".utf8), activityType: type,
                startedAt: startedAt),
            application: application.id)
        guard case .stored(let window, let catchUp) = result else { throw FixtureError.unexpected("\(result)") }
        return (window, catchUp)
    }
}

// MARK: Notifications

extension StoreFixture {
    static func content(_ event: ActivityEvent, alerts: [LocalizedAlert]? = nil) -> PushContent {
        let english = LocalizedAlert(language: "en", title: "Title", body: "Body")
        return PushContent(
            event: event, attributesType: event == .start ? type : nil,
            attributes: event == .start ? Array(#"{"home":1.50}"#.utf8) : nil, contentState: Array(#"{"score":1E2}"#.utf8),
            alerts: alerts ?? (event == .start ? [english] : []), sound: nil, staleDate: nil, dismissalDate: nil,
            relevanceScore: nil, priority: 10)
    }

    static func start(
        _ activityID: String, _ audience: Audience = .segments(included: ["All"], excluded: []),
        key: IdempotencyKey? = nil, type: String = StoreFixture.type, alerts: [LocalizedAlert]? = nil
    ) -> StartCommand {
        StartCommand(
            activityID: activityID, activityType: type, name: "start \(activityID)", audience: audience,
            content: content(.start, alerts: alerts), idempotency: key)
    }

    func accept(_ start: StartCommand) async throws -> AcceptedNotification {
        let acceptance = try await store.accept(start, application: application)
        guard case .accepted(let notification) = acceptance else { throw FixtureError.unexpected("\(acceptance)") }
        return notification
    }

    func accept(_ event: ActivityEvent, of activityID: String) async throws -> AcceptedNotification {
        let command = UpdateCommand(activityID: activityID, name: event.name, content: Self.content(event))
        let acceptance = try await store.accept(command, application: application)
        guard case .accepted(let notification) = acceptance else { throw FixtureError.unexpected("\(acceptance)") }
        return notification
    }

    /// Taps on the device of that number.
    func tap(_ number: Int, _ activityID: String, _ notification: UUID? = nil) async throws -> ClickResult {
        let tap = Tap(
            application: application.id, device: .pushToken(Self.pushToken(number)), activityID: activityID,
            notification: notification)
        return try await store.count([tap])[0]
    }

    func summary(_ notification: AcceptedNotification) async throws -> NotificationSummary {
        try #require(try await store.notification(notification.publicID, application: application.id))
    }
}

// MARK: Workers

extension StoreFixture {
    /// A moment for outcomes; what it is does not matter.
    static let moment = UnixMilliseconds(rawValue: 1_900_000_000_000)

    func claim(_ worker: WorkerID, _ deviceCount: Int = 100, excluding: [ApplicationID] = []) async throws -> Chunk? {
        try await store.claimChunk(for: worker, deviceCount: deviceCount, excluding: excluding)
    }

    static func record(_ chunk: Chunk, _ event: ActivityEvent, reason: (Int64) -> DeliveryReason = { _ in .accepted })
        -> ChunkRecord
    {
        var record = ChunkRecord(chunk: chunk.id, event: event)
        record.deliveries = chunk.devices.map { DeliveryRecord(device: $0, reason: reason($0), at: moment) }
        return record
    }

    /// Claims and records everything there is; returns the devices pushed, by notification, in the order of their claims.
    @discardableResult
    func deliverEverything(_ worker: WorkerID, deviceCount: Int = 100) async throws -> [NotificationID: [Int64]] {
        var pushed: [NotificationID: [Int64]] = [:]
        while let chunk = try await claim(worker, deviceCount) {
            pushed[chunk.id.notification, default: []] += chunk.devices
            let job = try #require(try await store.job(for: chunk.id.notification))
            let lost = try await store.record([Self.record(chunk, job.content.event)], worker: worker)
            #expect(lost.isEmpty)
        }
        return pushed
    }

    /// Lets a worker's lease run out.
    func expire(_ worker: WorkerID) async throws {
        try await session.execute("update worker set lease_until = clock_timestamp() where worker_id = \(worker)")
    }
}

extension Store {
    /// One start token, told by nobody in particular.
    func setStartToken(_ token: [UInt8], activityType: String, device: DeviceName, application: ApplicationID)
        async throws(StorageError) -> Bool
    {
        try await setStartToken(
            StartTokenRegistration(application: application, device: device, activityType: activityType, token: token))
    }
}
