import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Device", .enabled(if: TestDatabase.isAvailable)) struct DeviceTests {
    /// The versions of all rows that belong to devices: what is written anew changes it.
    private static let versions = """
        select string_agg(version, ',' order by version) from (
            select 'device' || device_id || xmin as version from device
            union all select 'tag' || device_id || key || xmin from device_tag
            union all select 'alias' || device_id || label || xmin from device_alias
            union all select 'start' || device_id || xmin from start_token
            union all select 'update' || device_id || xmin from update_token
            union all select 'activity' || activity_id || xmin from activity) as rows
        """

    private static func full(_ number: Int) -> DeviceRegistration {
        var registration = DeviceRegistration(pushToken: StoreFixture.pushToken(number))
        registration.environment = .sandbox
        registration.externalID = "user-\(number)"
        registration.aliases = ["crm": "c\(number)", "gone": nil]
        registration.tags = ["plan": "pro", "team": "Ü\"x\\", "gone": nil]
        registration.language = "de"
        registration.country = "DE"
        registration.appVersion = "1.20.0"
        registration.osVersion = "18.1"
        registration.timeZone = "Europe/Berlin"
        registration.sessionCount = 12
        registration.firstSession = 1_700_000_000
        registration.lastSession = 1_800_000_000
        registration.sessionSeconds = 3_600
        registration.location = DeviceLocation(latitude: 52.52, longitude: 13.405)
        return registration
    }

    @Test("is new once, known afterwards, and unchanged registrations write nothing")
    func writesNothing() async throws {
        try await StoreFixture.with { fixture in
            let first = try await fixture.store.register(Self.full(1), application: fixture.application)
            guard case .registered(let device) = first else { throw FixtureError.unexpected("\(first)") }
            #expect(device.isNew)
            for _ in 0..<2 {
                let token = Array("start".utf8)
                #expect(
                    try await fixture.store.setStartToken(
                        token, activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(1)),
                        application: fixture.application.id))
                try await fixture.hold("match-1", device: 1, startedAt: 1_000, type: StoreFixture.type)
            }
            let before = try await fixture.text(Self.versions)
            let again = try await fixture.store.register(Self.full(1), application: fixture.application)
            #expect(again == .registered(RegisteredDevice(subscriptionID: device.subscriptionID, isNew: false)))
            _ = try await fixture.store.setStartToken(
                Array("start".utf8), activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(1)),
                application: fixture.application.id)
            try await fixture.hold("match-1", device: 1)
            try await fixture.hold("match-1", device: 1, startedAt: 1_000, type: StoreFixture.type)
            #expect(try await fixture.text(Self.versions) == before)
            #expect(try await fixture.text("select app_version_parts::text from device") == "{1,20}")
            // Saying less leaves the rest as it is; saying something else writes.
            var change = DeviceRegistration(pushToken: StoreFixture.pushToken(1))
            change.tags = ["plan": nil, "level": "3"]
            change.aliases = ["crm": nil]
            _ = try await fixture.store.register(change, application: fixture.application)
            #expect(try await fixture.text(Self.versions) != before)
            #expect(try await fixture.text("select tags::text from device") == #"{"team": "Ü\"x\\", "level": "3"}"#)
            #expect(
                try await fixture.text("select string_agg(key || '=' || value, ',' order by key) from device_tag")
                    == #"level=3,team=Ü"x\"#)
            #expect(try await fixture.text("select string_agg(label, ',') from device_alias") == "external_id")
            #expect(try await fixture.text("select language || country || os_version from device") == "deDE18.1")
        }
    }

    @Test("is one row however many equal registrations come at once")
    func isOneRow() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let results = try await withThrowingTaskGroup(of: RegistrationResult.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await fixture.store.register(Self.full(1), application: fixture.application) }
                }
                return try await group.reduce(into: [RegistrationResult]()) { $0.append($1) }
            }
            let devices = results.compactMap { if case .registered(let device) = $0 { device } else { nil } }
            #expect(devices.count == 50)
            #expect(devices.count(where: \.isNew) == 1)
            #expect(Set(devices.map(\.subscriptionID)).count == 1)
            #expect(try await fixture.number("select count(*) from device") == 1)
            #expect(try await fixture.number("select count(*) from device_tag") == 2)
            #expect(try await fixture.number("select count(*) from device_alias") == 2)
        }
    }

    @Test("goes to another user with nothing of the former one")
    func changesUser() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store.register(Self.full(1), application: fixture.application)
            _ = try await fixture.store.register(Self.full(2), application: fixture.application)
            for number in 1...2 {
                try await fixture.hold("running", device: number)
                try await fixture.hold("ended", device: number)
            }
            _ = try await fixture.accept(.end, of: "ended")
            var registration = DeviceRegistration(pushToken: StoreFixture.pushToken(1))
            registration.externalID = "somebody else"
            registration.aliases = ["new": "n"]
            _ = try await fixture.store.register(registration, application: fixture.application)
            let device = try await fixture.deviceNumber(1)
            let aliases = try await fixture.text(
                "select string_agg(label || '=' || identifier, ',' order by label) from device_alias where device_id = $1",
                [.int64(device)])
            #expect(aliases == "external_id=somebody else,new=n")
            #expect(
                try await fixture.text("select external_id from device where device_id = $1", [.int64(device)]) == "somebody else"
            )
            let held = try await fixture.text(
                "select string_agg(activity_id, ',') from update_token join activity using (activity_number) where device_id = $1",
                [.int64(device)])
            #expect(held == nil, "the end may still wait to be sent")
            #expect(try await fixture.number("select count(*) from update_token") == 2)
            registration = DeviceRegistration(pushToken: StoreFixture.pushToken(1))
            registration.aliases = ["external_id": nil]
            _ = try await fixture.store.register(registration, application: fixture.application)
            #expect(try await fixture.number("select count(*) from device_alias where device_id = $1", [.int64(device)]) == 0)
        }
    }

    @Test("takes its tokens along to another environment")
    func changesEnvironment() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            try await fixture.addDevice(1, type: nil) { $0.environment = .sandbox }
            for table in ["device", "start_token", "update_token"] {
                let services = try await fixture.text(
                    "select string_agg(service::text, '' order by device_id) from \(table)")
                #expect(services == "10", "\(table)")
            }
        }
    }

    @Test("keeps texts apart that differ in their bytes only, and stores a new spelling")
    func spellings() async throws {
        try await StoreFixture.with { fixture in
            let (composed, decomposed) = ("\u{E9}", "e\u{301}")
            var registration = DeviceRegistration(pushToken: StoreFixture.pushToken(1))
            registration.externalID = composed
            registration.aliases = ["crm": composed]
            registration.tags = [ExactText(composed): "1", ExactText(decomposed): "2", "name": composed]
            registration.appVersion = composed
            for spelling in [composed, decomposed] {
                registration.externalID = spelling
                registration.aliases["crm"] = .some(spelling)
                registration.tags["name"] = .some(spelling)
                registration.appVersion = spelling
                _ = try await fixture.store.register(registration, application: fixture.application)
                let row = try await fixture.text(
                    """
                    select string_agg(distinct identifier, ',') || ' ' || min(external_id) || ' ' || min(app_version) || ' '
                        || string_agg(distinct value, ',') filter (where key = 'name')
                        || ' ' || count(distinct key) || ' ' || min(tags ->> 'name')
                    from device join device_alias using (app_id, device_id) join device_tag using (app_id, device_id)
                    """)
                let expected = "\(spelling) \(spelling) \(spelling) \(spelling) 3 \(spelling)"
                let stored = try #require(row)
                #expect(stored.utf8.elementsEqual(expected.utf8))
            }
        }
    }

    @Test("is refused more tags or aliases than allowed, counted after the merge")
    func refusesTooMany() async throws {
        try await StoreFixture.with { fixture in
            var registration = DeviceRegistration(pushToken: StoreFixture.pushToken(1))
            for number in 0...AdmissionLimits.tagCount { registration.tags["t\(number)"] = "v" }
            #expect(try await fixture.store.register(registration, application: fixture.application) == .tooManyTags)
            #expect(try await fixture.number("select count(*) from device") == 0)
            registration.tags["t0"] = .some(nil)
            registration.externalID = "u"
            for number in 0..<AdmissionLimits.aliasCount { registration.aliases["a\(number)"] = "i" }
            guard case .registered = try await fixture.store.register(registration, application: fixture.application) else {
                throw FixtureError.unexpected("refused")
            }
            var more = DeviceRegistration(pushToken: StoreFixture.pushToken(1))
            more.tags["t0"] = "v"
            #expect(try await fixture.store.register(more, application: fixture.application) == .tooManyTags)
            more.tags = ["t0": "v", "t1": nil]
            more.aliases["more"] = "i"
            #expect(try await fixture.store.register(more, application: fixture.application) == .tooManyAliases)
            #expect(try await fixture.number("select count(*) from device_tag where key = 't0'") == 0)
        }
    }

    @Test("tokens move to whoever registers them, also when many swap at once")
    func swapsTokens() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            for number in 0..<20 { try await fixture.addDevice(number) }
            for number in 0..<20 { try await fixture.hold("match-1", device: number) }
            for round in 1...3 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<20 {
                        let other = (number + round) % 20
                        group.addTask {
                            let isStored = try await fixture.store.setStartToken(
                                StoreFixture.startToken(other), activityType: StoreFixture.type,
                                device: .pushToken(StoreFixture.pushToken(number)), application: fixture.application.id)
                            #expect(isStored)
                        }
                        group.addTask {
                            try await fixture.hold(
                                "match-1", device: number, token: StoreFixture.updateToken(other) + Array("-match-1".utf8))
                        }
                    }
                    try await group.waitForAll()
                }
                for table in ["start_token", "update_token"] {
                    let count = try await fixture.number("select count(*) from \(table)")
                    let tokens = try await fixture.number("select count(distinct token) from \(table)")
                    #expect(count == tokens && (count ?? 0) > 0)
                }
            }
            // One after the other, the last one has it.
            _ = try await fixture.store.setStartToken(
                Array("one".utf8), activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(3)),
                application: fixture.application.id)
            _ = try await fixture.store.setStartToken(
                Array("one".utf8), activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(4)),
                application: fixture.application.id)
            let owner = try await fixture.number("select device_id from start_token where token = 'one'")
            #expect(try await owner == (fixture.deviceNumber(4)))
        }
    }

    @Test("start tokens are removed by type, and only of this device")
    func removesStartTokens() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            func remove(_ number: Int, _ type: String) async throws -> Bool {
                try await fixture.store.removeStartToken(
                    activityType: type, device: .pushToken(StoreFixture.pushToken(number)), application: fixture.application.id)
            }
            #expect(try await !remove(1, "Other"))
            #expect(try await !remove(9, StoreFixture.type))
            #expect(try await remove(1, StoreFixture.type))
            #expect(try await !remove(1, StoreFixture.type))
            #expect(try await fixture.number("select count(*) from start_token") == 1)
            #expect(
                try await !fixture.store.setStartToken(
                    [1], activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(9)),
                    application: fixture.application.id))
        }
    }

    @Test("belongs to its app alone")
    func isOfOneApp() async throws {
        try await StoreFixture.with { fixture in
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            try await fixture.addDevice(1)
            let result = try await fixture.store.register(
                DeviceRegistration(pushToken: StoreFixture.pushToken(1)), application: other)
            guard case .registered(let device) = result else { throw FixtureError.unexpected("\(result)") }
            #expect(device.isNew)
            let acceptance = try await fixture.store.accept(StoreFixture.start("match-1"), application: other)
            guard case .nobody = acceptance else { throw FixtureError.unexpected("\(acceptance)") }
        }
    }
}
