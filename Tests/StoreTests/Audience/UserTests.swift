import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("User", .enabled(if: TestDatabase.isAvailable)) struct UserTests {
    /// What a client of OneSignal's says of a device.
    private static func told(_ number: Int?, externalID: String? = nil, subscription: UUID? = nil) -> DeviceRegistration {
        var registration = DeviceRegistration(pushToken: number.map { StoreFixture.pushToken($0) })
        registration.subscription = subscription
        registration.externalID = externalID
        registration.namesWholeUser = true
        registration.givesUserID = true
        registration.tagsBelongToUser = true
        return registration
    }

    private static func alias(_ label: ExactText, _ identifier: String) -> DeviceAlias {
        DeviceAlias(label: label, identifier: ExactText(identifier))
    }

    private static func user(
        _ label: ExactText, _ identifier: String, isWhole: Bool = true, proof: DeviceAlias? = nil
    ) -> UserSelector {
        UserSelector(.alias(alias(label, identifier)), isWholeUser: isWhole, proof: proof)
    }

    @Test("keeps the name the gateway gave, also when equal registrations come at once: one row, one name")
    func isOneRow() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let names = try await withThrowingTaskGroup(of: [ExactText].self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let (device, isNew) = try await fixture.registerUser(Self.told(1, externalID: "fan-1"))
                        return [device.profile.userID ?? "", "\(device.subscriptionID)", isNew ? "new" : "known"]
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(names.map { [$0[0], $0[1]] }).count == 1)
            #expect(names.filter { $0[2] == "new" }.count == 1)
            #expect(try await fixture.number("select count(*) from device") == 1)
            #expect(try await fixture.number("select count(*) from device_alias") == 2)
        }
    }

    @Test("says the same again without a row being written anew")
    func writesNothing() async throws {
        try await StoreFixture.with { fixture in
            let versions =
                "select string_agg(xmin::text, ',') from (select xmin from device union all select xmin from device_alias) as rows"
            let (device, _) = try await fixture.registerUser(Self.told(1, externalID: "fan-1"))
            let before = try await fixture.text(versions)
            for subscription in [nil, device.subscriptionID] {
                let (again, isNew) = try await fixture.registerUser(
                    Self.told(1, externalID: "fan-1", subscription: subscription))
                #expect(again == device && !isNew)
            }
            #expect(try await fixture.text(versions) == before)
        }
    }

    @Test("who logs in keeps tokens and name; another user, and nobody, finds none of the former's")
    func switches() async throws {
        try await StoreFixture.with { fixture in
            var first = Self.told(1)
            first.tags = ["plan": "pro"]
            let (anonymous, _) = try await fixture.registerUser(first)
            try await fixture.hold("match-1", device: 1)
            let (fan, _) = try await fixture.registerUser(Self.told(1, externalID: "fan-1"))
            #expect(fan.profile.userID == anonymous.profile.userID && fan.profile.tags == ["plan": "pro"])
            #expect(try await fixture.number("select count(*) from update_token") == 1)

            let (other, _) = try await fixture.registerUser(Self.told(1, externalID: "fan-2"))
            #expect(other.subscriptionID == fan.subscriptionID)
            #expect(other.profile.userID != nil && other.profile.userID != fan.profile.userID)
            #expect(other.profile.tags.isEmpty && other.profile.aliases.count == 2)
            #expect(try await fixture.number("select count(*) from update_token") == 0)

            try await fixture.hold("match-1", device: 1)
            let (nobody, _) = try await fixture.registerUser(Self.told(1))
            #expect(nobody.profile.externalID == nil && nobody.profile.userID != other.profile.userID)
            #expect(try await fixture.number("select count(*) from update_token") == 0)
            #expect(try await fixture.number("select count(*) from device_tag") == 0)
        }
    }

    @Test("has a device before its token is known, and the token of a former device without anything of that one")
    func movesToken() async throws {
        try await StoreFixture.with { fixture in
            let (former, _) = try await fixture.registerUser(Self.told(1, externalID: "fan-1"))
            _ = try await fixture.store.setStartToken(
                StoreFixture.startToken(1), activityType: StoreFixture.type, device: .pushToken(StoreFixture.pushToken(1)),
                application: fixture.application.id)
            try await fixture.hold("match-1", device: 1)
            let (early, isNew) = try await fixture.registerUser(Self.told(nil))
            #expect(isNew && early.subscriptionID != former.subscriptionID)
            let (device, _) = try await fixture.registerUser(Self.told(1, subscription: early.subscriptionID))
            #expect(device.subscriptionID == early.subscriptionID && device.profile.userID == early.profile.userID)
            #expect(try await fixture.number("select count(*) from device") == 1)
            for table in ["start_token", "update_token", "device_tag"] {
                #expect(try await fixture.number("select count(*) from \(table)") == 0, "\(table)")
            }
            #expect(try await fixture.number("select count(*) from device_alias") == 1)
        }
    }

    @Test("is not made by what may only change it")
    func isNotMade() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            let unknown = try await fixture.store.registerUser(
                Self.told(1, subscription: .random()), mayBeNew: false, application: fixture.application)
            guard case .unknown = unknown else { throw FixtureError.unexpected("\(unknown)") }
            #expect(try await fixture.number("select count(*) from device where push_token is not null") == 1)
        }
    }

    @Test("is every device of its external_id to who may see that, and one device to itself")
    func isFound() async throws {
        try await StoreFixture.with { fixture in
            let (first, _) = try await fixture.registerUser(Self.told(1, externalID: "fan-1"))
            let (second, _) = try await fixture.registerUser(Self.told(2, externalID: "fan-1"))
            let (other, _) = try await fixture.registerUser(Self.told(3, externalID: "fan-2"))
            let name = try #require(first.profile.userID?.text)
            #expect(first.profile.userID != second.profile.userID)
            #expect(try await fixture.found(Self.user("onesignal_id", name)) == [first, second])
            #expect(try await fixture.found(Self.user("onesignal_id", name, isWhole: false)) == [first])
            #expect(try await fixture.found(Self.user("external_id", "fan-1")) == [first, second])
            let bySubscription = UserSelector(.subscription(second.subscriptionID), isWholeUser: true, proof: nil)
            #expect(try await fixture.found(bySubscription) == [first, second])
            #expect(try await fixture.found(Self.user("external_id", "nobody")) == nil)
            // A proof of one user leaves out the devices of others.
            let proof = Self.alias("external_id", "fan-1")
            #expect(try await fixture.found(Self.user("external_id", "fan-1", proof: proof)) == [first, second])
            #expect(try await fixture.found(Self.user("external_id", "fan-2", proof: proof)) == nil)
            let foreign = UserSelector(.subscription(other.subscriptionID), isWholeUser: true, proof: proof)
            #expect(try await fixture.found(foreign) == nil)
            let neighbour = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            let elsewhere = try await fixture.store.readUser(Self.user("external_id", "fan-1"), application: neighbour.id)
            guard case .unknown = elsewhere else { throw FixtureError.unexpected("\(elsewhere)") }
        }
    }

    @Test("changes on all devices together, or on none")
    func changes() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { _ = try await fixture.registerUser(Self.told(number, externalID: "fan-1")) }
            var change = DeviceRegistration()
            change.tags = ["plan": "pro"]
            change.location = DeviceLocation(latitude: 52.5, longitude: -13.25)
            change.addedSessionCount = 2
            let user = Self.user("external_id", "fan-1")
            _ = try await fixture.store.changeUser(user, by: change, application: fixture.application.id)
            let changed = try #require(try await fixture.found(user))
            #expect(changed.allSatisfy { $0.profile.tags == ["plan": "pro"] })
            #expect(changed.map(\.profile.sessionCount) == [2, 0], "a session is one device's")
            #expect(changed.allSatisfy { $0.profile.location == change.location })
            #expect(try await fixture.number("select count(*) from device where latitude = 52.5 and longitude = -13.25") == 2)

            // The second device has no room for one more.
            var full = Self.told(2, externalID: "fan-1")
            for number in 0..<(AdmissionLimits.tagCount - 1) { full.tags[ExactText("t\(number)")] = "x" }
            _ = try await fixture.registerUser(full)
            change.tags = ["more": "x"]
            let refused = try await fixture.store.changeUser(user, by: change, application: fixture.application.id)
            guard case .refused(.tooManyTags) = refused else { throw FixtureError.unexpected("\(refused)") }
            #expect(try await fixture.number("select count(*) from device_tag where key = 'more'") == 0)
        }
    }

    @Test("of many devices is changed, registered and removed at once by callers in other orders, and nobody fails")
    func changesAtOnce() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let users = ["fan-1", "fan-2"]
            func registered(_ number: Int) -> DeviceRegistration { Self.told(number, externalID: users[number % 2]) }
            for number in 1...20 { _ = try await fixture.registerUser(registered(number)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<8 {
                    group.addTask {
                        for round in 0..<10 {
                            let order = caller % 2 == 0 ? Array(1...20) : Array((1...20).reversed())
                            let number = order[(round * 3 + caller) % 20]
                            switch (caller + round) % 4 {
                            case 0, 1:
                                var change = DeviceRegistration()
                                change.tags = ["t\(caller)": "\(round)", "t\(7 - caller)": "\(round)"]
                                let user = Self.user("external_id", users[(caller + round) % 2])
                                _ = try await fixture.store.changeUser(user, by: change, application: fixture.application.id)
                            case 2: _ = try await fixture.registerUser(registered(number))
                            default:
                                guard caller == 7 else { continue }
                                let user = Self.user("external_id", users[round % 2])
                                _ = try await fixture.store.removeUser(user, application: fixture.application.id)
                                for number in order { _ = try await fixture.registerUser(registered(number)) }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.number("select count(*) from device") == 20)
        }
    }

    @Test("who logs out everywhere leaves no token of a running activity, and devices that no longer know each other")
    func logsOut() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 {
                _ = try await fixture.registerUser(Self.told(number, externalID: "fan-1"))
                try await fixture.hold("match-1", device: number)
            }
            var change = DeviceRegistration()
            change.aliases = ["external_id": nil]
            change.givesUserID = true
            let result = try await fixture.store.changeUser(
                Self.user("external_id", "fan-1"), by: change, application: fixture.application.id)
            guard case .changed(let devices) = result else { throw FixtureError.unexpected("\(result)") }
            #expect(Set(devices.map(\.profile.userID)).count == 2)
            #expect(try await fixture.number("select count(*) from update_token") == 0)
        }
    }

    @Test("who is named by another label than external_id leaves just as little behind")
    func leavesUnderItsOwnLabel() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 {
                var told = Self.told(number)
                told.aliases = ["customer": "42"]
                told.tags = ["plan": "gold"]
                _ = try await fixture.registerUser(told)
                try await fixture.hold("match-1", device: number)
            }
            var change = DeviceRegistration()
            change.aliases = ["customer": "43"]
            change.userLabel = "customer"
            change.givesUserID = true
            change.tagsBelongToUser = true
            let result = try await fixture.store.changeUser(
                Self.user("customer", "42", proof: Self.alias("customer", "42")), by: change,
                application: fixture.application.id)
            guard case .changed(let devices) = result else { throw FixtureError.unexpected("\(result)") }
            #expect(devices.count == 2 && Set(devices.map(\.profile.userID)).count == 2)
            #expect(try await fixture.number("select count(*) from update_token") == 0)
            #expect(try await fixture.number("select count(*) from device_tag") == 0)
        }
    }

    @Test("takes a push token that another registration stores at this moment")
    func takesTokenThatIsStoredNow() async throws {
        try await StoreFixture.with { fixture in
            let (device, _) = try await fixture.registerUser(Self.told(1))
            try await fixture.session.execute("begin")
            try await fixture.session.queryUnprepared(
                "insert into device (app_id, push_token, environment) values ($1, $2, 0)",
                [.int32(fixture.application.id.rawValue), .bytes(StoreFixture.pushToken(2))])
            let told = Self.told(2, subscription: device.subscriptionID)
            let changing = Task { try await fixture.registerUser(told) }
            try await fixture.waitUntilBlocked()
            try await fixture.session.execute("commit")
            #expect(try await changing.value.0.subscriptionID == device.subscriptionID)
            #expect(try await fixture.number("select count(*) from device") == 1)
        }
    }

    @Test("goes with its devices, their tokens and names, and nobody else's")
    func isRemoved() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 {
                var told = Self.told(number, externalID: number == 3 ? "fan-2" : "fan-1")
                told.tags = ["plan": "pro"]
                _ = try await fixture.registerUser(told)
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let removed = try await fixture.store.removeUser(
                Self.user("external_id", "fan-1"), application: fixture.application.id)
            guard case .changed(let devices) = removed, devices.count == 2 else { throw FixtureError.unexpected("\(removed)") }
            for (table, count) in [
                ("device", 1), ("device_tag", 1), ("device_alias", 2), ("start_token", 1), ("update_token", 1),
            ] {
                #expect(try await fixture.number("select count(*) from \(table)") == Int64(count), "\(table)")
            }
            let again = try await fixture.store.removeUser(
                Self.user("external_id", "fan-1"), application: fixture.application.id)
            guard case .unknown = again else { throw FixtureError.unexpected("\(again)") }
        }
    }

    @Test("is nobody when more devices have the name than one user can")
    func isBounded() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(UserSelector.deviceCount + 1)
            try await fixture.session.execute(
                """
                insert into device_alias (app_id, label, identifier, device_id)
                select app_id, 'external_id', '0', device_id from device
                """)
            let user = Self.user("external_id", "0")
            for proof in [nil, Self.alias("external_id", "fan-1")] {
                let found = try await fixture.store.readUser(
                    Self.user("external_id", "0", proof: proof), application: fixture.application.id)
                guard case .tooManyDevices = found else { throw FixtureError.unexpected("\(found)") }
            }
            let change = try await fixture.store.changeUser(
                user, by: DeviceRegistration(), application: fixture.application.id)
            guard case .tooManyDevices = change else { throw FixtureError.unexpected("\(change)") }
            try await fixture.session.execute("delete from device_alias where device_id = (select max(device_id) from device)")
            #expect(try await fixture.found(user)?.count == UserSelector.deviceCount)
        }
    }

    @Test("tells tokens and ends of activities by the device's own identifier")
    func isNamedBySubscription() async throws {
        try await StoreFixture.with { fixture in
            let (device, _) = try await fixture.registerUser(Self.told(nil, externalID: "fan-1"))
            let name = DeviceName.subscription(device.subscriptionID)
            let (store, app) = (fixture.store, fixture.application.id)
            #expect(try await store.has(Self.alias("external_id", "fan-1"), device: name, application: app))
            #expect(try await store.has(Self.alias("external_id", "fan-2"), device: name, application: app) == false)
            #expect(try await store.setStartToken([1], activityType: StoreFixture.type, device: name, application: app))
            let registration = UpdateTokenRegistration(
                device: name, activityID: "match-1", token: [2], activityType: nil, startedAt: nil)
            guard case .stored = try await store.setUpdateToken(registration, application: app) else {
                throw FixtureError.unexpected("an update token that is not stored")
            }
            #expect(try await store.endActivity("match-1", device: name, application: app))
            #expect(try await store.removeStartToken(activityType: StoreFixture.type, device: name, application: app))
            let nobody = DeviceName.subscription(.random())
            #expect(
                try await store.setStartToken([1], activityType: StoreFixture.type, device: nobody, application: app) == false)
            #expect(try await store.endActivity("match-1", device: nobody, application: app) == false)
            #expect(try await store.has(Self.alias("external_id", "fan-1"), device: nobody, application: app) == false)
        }
    }
}

extension StoreFixture {
    fileprivate func registerUser(_ registration: DeviceRegistration) async throws -> (UserDevice, isNew: Bool) {
        let result = try await store.registerUser(registration, mayBeNew: true, application: application)
        guard case .registered(let device, let isNew) = result else { throw FixtureError.unexpected("\(result)") }
        return (device, isNew)
    }

    /// Nil when nobody is meant.
    fileprivate func found(_ user: UserSelector) async throws -> [UserDevice]? {
        switch try await store.readUser(user, application: application.id) {
        case .changed(let devices): devices
        case .unknown: nil
        case .tooManyDevices, .refused: throw FixtureError.unexpected("a user of too many devices")
        }
    }
}
