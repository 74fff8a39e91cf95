import Gateway
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Live notifications on several platforms", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct PlatformTests {
    private static let type = "com.example.match"
    private static let account = FCMAccount(projectID: "example-project", keyID: "abcdef0123")
    private static let androidToken = Array("fcm:APA91b-android".utf8)

    /// An app on both platforms.
    private static func with(_ body: (StoreFixture, LiveNotifications) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            let serviceAccount = ApplicationCredentials.ServiceAccount(account: account, json: Array("{}".utf8))
            let change = try await fixture.store.setCredentials(
                ApplicationCredentials(androidPackageName: "com.example.app", serviceAccount: serviceAccount),
                of: fixture.application.publicID)
            guard case .changed(let application) = change else { throw FixtureError.unexpected("\(change)") }
            var changed = fixture
            changed.application = application
            try await body(changed, InstanceTests.flow(changed))
        }
    }

    private static func start(platform: DevicePlatform? = nil, pushToken: [UInt8]? = nil) -> InstanceStart {
        InstanceStart(
            profile: [AliasReference(label: "external_id", identifier: "fan-1")], notificationType: type, pushToken: pushToken,
            platform: platform, attributes: Array(#"{"home":"A"}"#.utf8), contentState: Array(#"{"score":1}"#.utf8),
            alert: InstanceAlert(title: "Kick-off", body: "Now", sound: nil), deepLink: nil, expiresAt: Int64.max / 2)
    }

    private static func addAndroid(_ token: [UInt8] = androidToken, to fixture: StoreFixture) async throws -> Int64 {
        var device = DeviceRegistration(pushToken: token)
        device.platform = .android
        device.externalID = "fan-1"
        _ = try await fixture.store.register(device, application: fixture.application)
        #expect(
            try await fixture.store.setStartToken(
                token, activityType: type, device: .pushToken(token), application: fixture.application.id))
        return try #require(try await fixture.number("select device_id from device where push_token = $1", [.bytes(token)]))
    }

    private static func addPhone(_ number: Int, type: String, to fixture: StoreFixture) async throws -> Int64 {
        try await fixture.addDevice(number, type: type) { $0.externalID = "fan-1" }
        try await fixture.store.register(attributesType: type, of: Self.type, application: fixture.application.id)
        return try await fixture.deviceNumber(number)
    }

    @Test("one start reaches every device of the profile, each under its own service and attributes type")
    func everybody() async throws {
        try await Self.with { fixture, flow in
            let older = try await Self.addPhone(1, type: "OlderAttributes", to: fixture)
            let newer = try await Self.addPhone(2, type: "NewerAttributes", to: fixture)
            let android = try await Self.addAndroid(to: fixture)
            guard case .started = try await flow.start(Self.start(), application: fixture.application) else {
                throw FixtureError.unexpected("a start that was not accepted")
            }
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            let job = try #require(try await fixture.store.job(for: chunk.id.notification))
            #expect(chunk.devices == [older, newer, android])
            #expect(chunk.services == [0, 0, PushService.fcm.rawValue])
            #expect(chunk.tokens[2] == Self.androidToken)
            let types = chunk.variants.map { job.variants[Int($0)].attributesType }
            #expect(types == ["OlderAttributes", "NewerAttributes", Self.type])
        }
    }

    @Test("a device that changes its platform leaves its tokens behind", arguments: [DevicePlatform.android, .ios])
    func otherPlatform(before: DevicePlatform) async throws {
        try await Self.with { fixture, _ in
            let after = before == .ios ? DevicePlatform.android : .ios
            var device = DeviceRegistration(pushToken: Self.androidToken)
            device.platform = before
            _ = try await fixture.store.register(device, application: fixture.application)
            _ = try await fixture.store.setStartToken(
                Self.androidToken, activityType: Self.type, device: .pushToken(Self.androidToken),
                application: fixture.application.id)
            #expect(try await fixture.number("select count(*) from start_token", []) == 1)
            device.platform = after
            _ = try await fixture.store.register(device, application: fixture.application)
            #expect(try await fixture.number("select count(*) from start_token", []) == 0)
        }
    }

    @Test("a device whose app was updated is started once, under the type it told last")
    func updatedApp() async throws {
        try await Self.with { fixture, flow in
            let phone = try await Self.addPhone(1, type: "ZetaAttributes", to: fixture)
            try await fixture.store.register(
                attributesType: "AlphaAttributes", of: Self.type, application: fixture.application.id)
            let told = try await fixture.store.setStartToken(
                [7, 7], activityType: "AlphaAttributes", device: .pushToken(StoreFixture.pushToken(1)),
                application: fixture.application.id)
            #expect(told)
            guard case .started = try await flow.start(Self.start(), application: fixture.application) else {
                throw FixtureError.unexpected("a start that was not accepted")
            }
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            let job = try #require(try await fixture.store.job(for: chunk.id.notification))
            #expect(chunk.devices == [phone] && chunk.tokens[0] == [7, 7])
            #expect(chunk.variants.map { job.variants[Int($0)].attributesType } == ["AlphaAttributes"])
        }
    }

    @Test("a named platform leaves the other alone", arguments: DevicePlatform.allCases)
    func onePlatform(platform: DevicePlatform) async throws {
        try await Self.with { fixture, flow in
            let phone = try await Self.addPhone(1, type: "OlderAttributes", to: fixture)
            let android = try await Self.addAndroid(to: fixture)
            _ = try await flow.start(Self.start(platform: platform), application: fixture.application)
            let worker = try await fixture.store.registerWorker(node: "a")
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed.values.flatMap { $0 } == [platform == .ios ? phone : android])
        }
    }

    @Test("a start that names no platform is on Android when it reaches nothing else")
    func platformOfDevices() async throws {
        try await Self.with { fixture, flow in
            func start() async throws -> Instance? {
                guard case .started(let id) = try await flow.start(Self.start(), application: fixture.application) else {
                    throw FixtureError.unexpected("a start that was not accepted")
                }
                return try await fixture.store.instance(id, application: fixture.application.id)
            }
            #expect(try await start()?.platform == nil)
            _ = try await Self.addAndroid(to: fixture)
            #expect(try await start()?.platform == .android)
            _ = try await Self.addPhone(1, type: "OlderAttributes", to: fixture)
            #expect(try await start()?.platform == nil)
        }
    }

    @Test("updates and the end reach an Android device under its own token, several activities at a time")
    func updates() async throws {
        try await Self.with { fixture, flow in
            let android = try await Self.addAndroid(to: fixture)
            let worker = try await fixture.store.registerWorker(node: "a")
            for _ in 0..<2 {
                guard case .started(let id) = try await flow.start(Self.start(), application: fixture.application) else {
                    throw FixtureError.unexpected("a start that was not accepted")
                }
                _ = try await fixture.deliverEverything(worker)
                for event in [ActivityEvent.update, .end] {
                    _ = try await flow.update(InstanceTests.update(id, event), application: fixture.application)
                    let chunk = try #require(try await fixture.claim(worker))
                    #expect(chunk.devices == [android] && chunk.tokens[0] == Self.androidToken)
                    #expect(chunk.services == [PushService.fcm.rawValue])
                    let job = try #require(try await fixture.store.job(for: chunk.id.notification))
                    #expect(job.content.attributes == Array(#"{"home":"A"}"#.utf8), "Android renders each push by itself")
                    _ = try await fixture.store.record([StoreFixture.record(chunk, event)], worker: worker)
                }
            }
        }
    }

    @Test("an Android device that leaves its user gets nothing more of the former user's activities")
    func leaves() async throws {
        try await Self.with { fixture, flow in
            _ = try await Self.addAndroid(to: fixture)
            let worker = try await fixture.store.registerWorker(node: "a")
            guard case .started(let id) = try await flow.start(Self.start(), application: fixture.application) else {
                throw FixtureError.unexpected("a start that was not accepted")
            }
            _ = try await fixture.deliverEverything(worker)
            var other = DeviceRegistration(pushToken: Self.androidToken)
            other.externalID = "fan-2"
            _ = try await fixture.store.register(other, application: fixture.application)
            _ = try await flow.update(InstanceTests.update(id), application: fixture.application)
            #expect(try await fixture.deliverEverything(worker).isEmpty)
        }
    }

    @Test("a dead token of FCM's is removed from the type it was told for")
    func deadToken() async throws {
        try await Self.with { fixture, flow in
            let phone = try await Self.addPhone(1, type: "OlderAttributes", to: fixture)
            let android = try await Self.addAndroid(to: fixture)
            _ = try await flow.start(Self.start(), application: fixture.application)
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            var record = StoreFixture.record(chunk, .start) { $0 == android ? .fcmUnregistered : .accepted }
            record.deadTokens = [DeadToken(device: android, token: Self.androidToken, reason: .fcmUnregistered, since: nil)]
            _ = try await fixture.store.record([record], worker: worker)
            #expect(try await fixture.number("select count(*) from start_token") == 1)
            #expect(try await fixture.number("select device_id from start_token") == phone)
            #expect(try await fixture.number("select status from removed_start_token") == 602)
        }
    }

    @Test("without a service account, Android devices are not started, and the instance says why")
    func noAccount() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.addAndroid(to: fixture)
            let flow = InstanceTests.flow(fixture)
            guard case .started(let id) = try await flow.start(Self.start(platform: .android), application: fixture.application)
            else { throw FixtureError.unexpected("a start that was not accepted") }
            let instance = try #require(try await fixture.store.instance(id, application: fixture.application.id))
            #expect(instance.state == .failed)
            #expect(instance.failureReason?.contains("no eligible device: the app has no service account") == true)
        }
    }
}

@Suite("An app whose iOS devices are behind FCM", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct RelayedDeviceTests {
    private static let registrationToken = Array("fcm:APA91b-phone".utf8)

    private static func with(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            let created = try await fixture.store.createApplication(
                name: "Relayed",
                credentials: ApplicationCredentials(
                    bundleID: "com.example.relayed",
                    serviceAccount: ApplicationCredentials.ServiceAccount(
                        account: FCMAccount(projectID: "example-project", keyID: "k"), json: Array("{}".utf8))),
                environment: .production)
            guard case .created(let application) = created else { throw FixtureError.noApplication }
            #expect(application.relaysThroughFCM)
            var changed = fixture
            changed.application = application
            var device = DeviceRegistration(pushToken: registrationToken)
            device.externalID = "fan-1"
            _ = try await fixture.store.register(device, application: application)
            try await body(changed)
        }
    }

    @Test("keeps FCM's token behind ActivityKit's, so that both go into a push")
    func stored() async throws {
        try await Self.with { fixture in
            let device = DeviceName.pushToken(Self.registrationToken)
            #expect(
                try await fixture.store.setStartToken(
                    [1, 2, 3], activityType: StoreFixture.type, device: device, application: fixture.application.id))
            let start = try await fixture.accept(
                StartCommand(
                    activityID: "match-1", activityType: StoreFixture.type, name: "n",
                    audience: .aliases([AliasReference(label: "external_id", identifier: "fan-1")]),
                    content: StoreFixture.content(.start), idempotency: nil))
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker))
            #expect(chunk.id.notification == start.id && chunk.services == [PushService.fcmToAPNs.rawValue])
            let token = try #require(RelayedToken(stored: chunk.tokens[0]))
            #expect(token.activityToken == [1, 2, 3] && token.registrationToken == Self.registrationToken)
        }
    }

    @Test("keeps the tokens of a device that tells FCM's later, and pushes through it from then on", arguments: [true, false])
    func tokenComesLater(isTypeKnown: Bool) async throws {
        try await Self.with { fixture in
            let (store, application) = (fixture.store, fixture.application)
            if isTypeKnown {
                let other = DeviceName.pushToken(Self.registrationToken)
                _ = try await store.setStartToken(
                    [9], activityType: StoreFixture.type, device: other, application: application.id)
            }
            let registered = try await store.registerUser(DeviceRegistration(), mayBeNew: true, application: application)
            guard case .registered(let device, _) = registered else { throw FixtureError.unexpected("\(registered)") }
            let name = DeviceName.subscription(device.subscriptionID)
            let isStored = try await store.setStartToken(
                [1, 2], activityType: StoreFixture.type, device: name, application: application.id)
            #expect(isStored)
            let update = UpdateTokenRegistration(
                device: name, activityID: "match-1", token: [3, 4], activityType: StoreFixture.type, startedAt: nil)
            guard case .stored = try await store.setUpdateToken(update, application: application.id) else {
                throw FixtureError.unexpected("an update token that was not stored")
            }
            var told = DeviceRegistration(pushToken: Array("fcm:later".utf8))
            told.subscription = device.subscriptionID
            _ = try await store.registerUser(told, mayBeNew: false, application: application)
            for (table, token) in [("start_token", [1, 2]), ("update_token", [3, 4])] as [(String, [UInt8])] {
                let stored = try await fixture.session.queryUnprepared(
                    """
                    select token from \(table) join device using (app_id, device_id)
                    where push_token = convert_to('fcm:later', 'UTF8')
                    """, [])
                #expect(stored.rowCount == 1)
                let relayed = RelayedToken(stored: stored.bytes(row: 0, column: 0))
                #expect(relayed?.activityToken == token && relayed?.registrationToken == Array("fcm:later".utf8), "\(table)")
            }
        }
    }

    @Test("that tells another token of FCM's is pushed through that one, and through APNs once the app has a key")
    func changes() async throws {
        try await Self.with { fixture in
            let device = DeviceName.pushToken(Self.registrationToken)
            for token in [[1, 2, 3], [1, 2, 3]] as [[UInt8]] {
                #expect(
                    try await fixture.store.setStartToken(
                        token, activityType: StoreFixture.type, device: device, application: fixture.application.id))
            }
            let id = try #require(
                try await fixture.text(
                    "select public_id::text from device where push_token = $1", [.bytes(Self.registrationToken)]))
            var renewed = DeviceRegistration(pushToken: Array("fcm:second".utf8))
            renewed.subscription = UUID(id)
            _ = try await fixture.store.register(renewed, application: fixture.application)
            let stored = try await fixture.session.queryUnprepared("select token from start_token", [])
            #expect(RelayedToken(stored: stored.bytes(row: 0, column: 0))?.registrationToken == Array("fcm:second".utf8))
            let change = try await fixture.store.setCredentials(
                ApplicationCredentials(signingKey: StoreFixture.makeSigningKey()), of: fixture.application.publicID)
            guard case .changed(let application) = change else { throw FixtureError.unexpected("\(change)") }
            _ = try await fixture.store.register(renewed, application: application)
            let moved = try await fixture.session.queryUnprepared("select token, service from start_token", [])
            #expect(moved.bytes(row: 0, column: 0) == [1, 2, 3] && moved.int16(row: 0, column: 1) == 0)
        }
    }
}

@Suite("Access tokens of FCM", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct AccessTokenTests {
    @Test("are shared by all daemons, sealed: the one that lasts longest, until it is refused")
    func shared() async throws {
        try await StoreFixture.with { fixture in
            let account = FCMAccount(projectID: "example-project", keyID: "k")
            let json = Array(#"{"private_key":"secret"}"#.utf8)
            #expect(try await fixture.store.serviceAccount(of: account) == nil)
            let serviceAccount = ApplicationCredentials.ServiceAccount(account: account, json: json)
            _ = try await fixture.store.setCredentials(
                ApplicationCredentials(serviceAccount: serviceAccount), of: fixture.application.publicID)
            #expect(try await fixture.store.serviceAccount(of: account) == json)
            #expect(try await fixture.store.accessToken(of: account) == nil)
            let (short, long) = (AccessToken(token: "short", expiresAt: 100), AccessToken(token: "long", expiresAt: 200))
            for token in [long, short] { try await fixture.store.keep(token, of: account) }
            #expect(try await fixture.store.accessToken(of: account) == long)
            try await fixture.store.forget(short, of: account)
            #expect(try await fixture.store.accessToken(of: account) == long)
            try await fixture.store.forget(long, of: account)
            #expect(try await fixture.store.accessToken(of: account) == nil)
            let leak = try await fixture.number(
                "select count(*) from service_account where position('secret'::bytea in sealed_json) > 0")
            #expect(leak == 0)
        }
    }
}

@Suite("Names of users", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct ProfileNamesTests {
    @Test("are kept until they are told otherwise, and only what is new counts")
    func kept() async throws {
        try await StoreFixture.with { (fixture) async throws -> Void in
            let (store, application) = (fixture.store, fixture.application.id)
            func tell(_ names: [ExactText: String?]) async throws -> Bool {
                try await store.keep(ProfileNames(user: "fan-1", names: names), application: application)
            }
            let first = try await store.names(ofUser: "fan-1", application: application)
            #expect(first.isEmpty)
            #expect(try await tell(["email": "a@b.c", "phone": "1"]))
            #expect(try await !tell(["email": "a@b.c"]))
            #expect(try await tell(["phone": nil]))
            #expect(try await store.names(ofUser: "fan-1", application: application) == ["email": "a@b.c"])
            #expect(try await store.names(ofUser: "fan-2", application: application).isEmpty)
        }
    }
}
