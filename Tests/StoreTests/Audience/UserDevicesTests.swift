import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("A user of several devices", .enabled(if: TestDatabase.isAvailable)) struct UserDevicesTests {
    private static let fan = UserSelector(
        .alias(DeviceAlias(label: "external_id", identifier: "fan-1")), isWholeUser: true, proof: nil)

    private static func told(_ number: Int) -> DeviceRegistration {
        var registration = DeviceRegistration(pushToken: StoreFixture.pushToken(number))
        registration.namesWholeUser = true
        registration.givesUserID = true
        registration.tagsBelongToUser = true
        return registration
    }

    @discardableResult
    private static func register(_ registration: DeviceRegistration, _ fixture: StoreFixture) async throws -> UserDevice {
        let result = try await fixture.store.registerUser(registration, mayBeNew: true, application: fixture.application)
        guard case .registered(let device, _) = result else { throw FixtureError.unexpected("\(result)") }
        return device
    }

    private static func change(_ change: DeviceRegistration, _ fixture: StoreFixture) async throws -> UserChange {
        try await fixture.store.changeUser(fan, by: change, application: fixture.application.id)
    }

    @Test("has a session on the device it is at: the one that is named, else the one that was active last")
    func countsSessionsOnce() async throws {
        try await StoreFixture.with { fixture in
            var devices: [UserDevice] = []
            for number in 1...3 {
                var registration = Self.told(number)
                registration.externalID = "fan-1"
                registration.lastSession = [0, 10, 30, 20][number]
                devices.append(try await Self.register(registration, fixture))
            }
            var session = DeviceRegistration()
            session.addedSessionCount = 1
            session.addedSessionSeconds = 60
            session.firstSession = 5
            session.language = "de"
            var counts: [Int64] = [0, 0, 0]
            for (subscription, active) in [
                (devices[0].subscriptionID, 0), (nil, 0), (devices[2].subscriptionID, 2), (.random(), 2),
            ]
                as [(UUID?, Int)]
            {
                session.subscription = subscription
                session.lastSession = 40 + counts.reduce(0, +)
                guard case .changed(let changed) = try await Self.change(session, fixture) else {
                    throw FixtureError.unexpected("a change that was refused")
                }
                counts[active] += 1
                #expect(changed.map(\.profile.sessionCount) == counts)
                #expect(changed.map(\.profile.sessionSeconds) == counts.map { $0 * 60 })
                #expect(changed.map { $0.profile.firstSession == 5 } == counts.map { $0 > 0 })
                #expect(changed[active].profile.lastSession == session.lastSession)
                #expect(changed[1].profile.lastSession == 30, "another device")
                #expect(changed.allSatisfy { $0.profile.language == "de" }, "what is the user's is on all devices")
            }
            #expect(try await fixture.number("select sum(session_count)::bigint from device") == 4)
        }
    }

    @Test("is started on all of them by the onesignal_id of one, and one without external_id on that one alone")
    func isNamedByAnyID() async throws {
        try await StoreFixture.with { fixture in
            let owners: [(number: Int, externalID: String?)] = [
                (1, "fan-1"), (2, "fan-1"), (3, "fan-1"), (4, "fan-2"), (5, nil), (6, nil),
            ]
            for owner in owners {
                try await fixture.addDevice(owner.number)
                var registration = Self.told(owner.number)
                registration.externalID = owner.externalID
                try await Self.register(registration, fixture)
            }
            for (number, count) in [(1, 3), (3, 3), (4, 1), (5, 1)] as [(Int, Int64)] {
                let device = try await fixture.deviceNumber(number)
                let id = try await fixture.text(
                    "select identifier from device_alias where label = 'onesignal_id' and device_id = \(device)")
                let audience = Audience.aliases([AliasReference(label: "onesignal_id", identifier: try #require(id))])
                guard
                    case .counted(let preview) = try await fixture.store.preview(
                        audience, activityType: StoreFixture.type, application: fixture.application.id)
                else { throw FixtureError.unexpected("no preview") }
                #expect(preview.matchedCount == count && preview.unknownEntryCount == 0, "device \(number)")
                let start = try await fixture.accept(StoreFixture.start("match-\(number)", audience))
                let listed = try await fixture.number(
                    "select sum(cardinality(devices))::bigint from fan_out_chunk where notification_id = \(start.id.rawValue)")
                #expect(listed == count)
            }
        }
    }

    @Test("has no more tags and aliases on all devices together than one may have, and may shrink when it does")
    func isBounded() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 {
                var registration = Self.told(number)
                registration.externalID = "fan-1"
                for entry in 0..<60 { registration.tags[ExactText("t\(number)-\(entry)")] = "x" }
                for entry in 0..<12 { registration.aliases[ExactText("a\(number)-\(entry)")] = "x" }
                try await Self.register(registration, fixture)
            }
            // 120 tags and 24 aliases: what devices told each for itself stays theirs.
            var more = DeviceRegistration()
            more.tags = ["more": "x"]
            guard case .refused(.tooManyTags) = try await Self.change(more, fixture) else {
                throw FixtureError.unexpected("more than 100 tags")
            }
            more = DeviceRegistration()
            more.aliases = ["more": "x"]
            guard case .refused(.tooManyAliases) = try await Self.change(more, fixture) else {
                throw FixtureError.unexpected("more than 20 aliases")
            }
            var fewer = DeviceRegistration()
            fewer.tags = ["t1-0": nil]
            fewer.aliases = ["a2-0": nil]
            fewer.language = "de"
            guard case .changed = try await Self.change(fewer, fixture) else { throw FixtureError.unexpected("fewer") }
            #expect(try await fixture.number("select count(*) from device_tag") == 119)
            #expect(try await fixture.number("select count(*) from device where language = 'de'") == 2)
            // A device that is given all of them has too many by itself.
            var added = Self.told(3)
            for number in 1...2 { for entry in 1..<12 { added.aliases[ExactText("a\(number)-\(entry)")] = "x" } }
            let refused = try await fixture.store.registerUser(added, mayBeNew: true, application: fixture.application)
            guard case .refused(.tooManyAliases) = refused else { throw FixtureError.unexpected("\(refused)") }
            #expect(try await fixture.number("select count(*) from device") == 2)
        }
    }

    @Test("who takes over a device by another label than external_id finds nothing of whom it was", arguments: [true, false])
    func takesOver(labelIsTold: Bool) async throws {
        try await StoreFixture.with { fixture in
            var former = Self.told(1)
            former.aliases = ["customer": "42", "seat": "7"]
            former.tags = ["plan": "gold"]
            let before = try await Self.register(former, fixture)
            try await fixture.hold("match-1", device: 1)
            var next = Self.told(1)
            next.aliases = ["customer": "43"]
            next.userLabel = labelIsTold ? "customer" : nil
            let after = try await Self.register(next, fixture)
            #expect(after.subscriptionID == before.subscriptionID)
            #expect(after.profile.tags.isEmpty && after.profile.aliases["seat"] == nil)
            #expect(after.profile.userID != nil && after.profile.userID != before.profile.userID)
            #expect(try await fixture.number("select count(*) from update_token") == 0)
            // Said again it is nobody else.
            try await fixture.hold("match-1", device: 1)
            #expect(try await Self.register(next, fixture) == after)
            #expect(try await fixture.number("select count(*) from update_token") == 1)
        }
    }
}
