import Gateway
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Start tokens", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3))) struct StartTokenTests {
    private static func told(
        _ fixture: StoreFixture, device number: Int, token: String, type: String = StoreFixture.type, owner: String? = nil
    ) -> StartTokenRegistration {
        StartTokenRegistration(
            application: fixture.application.id, device: .pushToken(StoreFixture.pushToken(number)), activityType: type,
            token: Array(token.utf8), owner: owner.map { DeviceAlias(label: "external_id", identifier: ExactText($0)) })
    }

    private static func stored(_ fixture: StoreFixture) async throws -> [String] {
        let rows = try await fixture.session.queryUnprepared(
            """
            select convert_from(push_token, 'UTF8') || ' ' || type.name || ' ' || convert_from(token.token, 'UTF8')
            from start_token as token join device using (app_id, device_id) join activity_type as type using (type_id)
            order by 1
            """)
        return (0..<rows.rowCount).map { rows.text(row: $0, column: 0) }
    }

    @Test("told together are stored as one after the other: the last one of a device, and of a token, wins")
    func storesTogether() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...5 { try await fixture.addDevice(number, type: nil) }
            let subscription = try await fixture.addDevice(6, type: nil)
            _ = try await fixture.store.setStartTokens([Self.told(fixture, device: 5, token: "taken")])
            let answers = try await fixture.store.setStartTokens([
                Self.told(fixture, device: 1, token: "a"), Self.told(fixture, device: 1, token: "b"),
                Self.told(fixture, device: 2, token: "c"), Self.told(fixture, device: 3, token: "c"),
                Self.told(fixture, device: 9, token: "d"), Self.told(fixture, device: 4, token: "taken"),
                Self.told(fixture, device: 1, token: "e", type: "Other"),
                StartTokenRegistration(
                    application: fixture.application.id, device: .subscription(subscription), activityType: "Other",
                    token: Array("f".utf8)),
            ])
            #expect(answers == [true, true, true, true, false, true, true, true])
            let type = StoreFixture.type
            #expect(
                try await Self.stored(fixture) == [
                    "push-1 \(type) b", "push-1 Other e", "push-3 \(type) c", "push-4 \(type) taken", "push-6 Other f",
                ])
        }
    }

    @Test("told again write nothing, once it is written down that they were told again")
    func writesNothingTwice() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 { try await fixture.addDevice(number) }
            let versions = "select string_agg(xmin::text || registered_at::text, ',' order by device_id) from start_token"
            let tokens = (1...3).map { Self.told(fixture, device: $0, token: "start-\($0)") }
            #expect(try await fixture.store.setStartTokens(tokens) == [true, true, true])
            let before = try await fixture.text(versions)
            #expect(try await fixture.store.setStartTokens(tokens) == [true, true, true])
            #expect(try await fixture.text(versions) == before)
        }
    }

    @Test("are stored for their owner only")
    func asksForOwner() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1, type: nil) { $0.externalID = "fan-1" }
            try await fixture.addDevice(2, type: nil)
            // The type is new at first, and known afterwards: each has its own way.
            for token in ["a", "b"] {
                let answers = try await fixture.store.setStartTokens([
                    Self.told(fixture, device: 1, token: "\(token)1", owner: "fan-1"),
                    Self.told(fixture, device: 2, token: "\(token)2", owner: "fan-1"),
                ])
                #expect(answers == [true, false])
                #expect(try await Self.stored(fixture) == ["push-1 \(StoreFixture.type) \(token)1"])
            }
        }
    }

    @Test("are not stored for a user who leaves the device at that moment")
    func asksForOwnerUnderLock() async throws {
        try await StoreFixture.with(connections: 4) { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let leaving = try await fixture.database.connect()
            try await leaving.execute(
                """
                begin;
                update device set external_id = null;
                delete from device_alias where label = 'external_id';
                """)
            async let answers = fixture.store.setStartTokens([Self.told(fixture, device: 1, token: "a", owner: "fan-1")])
            try await fixture.waitUntilBlocked()
            try await leaving.execute("commit")
            #expect(try await answers == [false])
            #expect(try await Self.stored(fixture) == ["push-1 \(StoreFixture.type) start-1"])
            await leaving.close()
        }
    }

    @Test("and update tokens are not stored for a user who leaves the device at that moment")
    func asksForOwnerOfUpdateToken() async throws {
        try await StoreFixture.with(connections: 4) { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            try await fixture.hold("match-1", device: 1)
            let leaving = try await fixture.database.connect()
            try await leaving.execute("begin; update device set external_id = null; delete from device_alias;")
            let registration = UpdateTokenRegistration(
                device: .pushToken(StoreFixture.pushToken(1)), activityID: "match-2", token: [2], activityType: nil,
                startedAt: nil,
                owners: [DeviceAlias(label: "external_id", identifier: "fan-1")])
            async let result = fixture.store.setUpdateToken(registration, application: fixture.application.id)
            try await fixture.waitUntilBlocked()
            try await leaving.execute("commit")
            guard case .unknownDevice = try await result else {
                Issue.record("the token of a former user was stored")
                return
            }
            #expect(try await fixture.number("select count(*) from update_token") == 1)
            await leaving.close()
        }
    }

    @Test("of many daemons at once, each the other's, end with each token at one device")
    func storesAtOnce() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            for number in 0..<40 { try await fixture.addDevice(number, type: nil) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<8 {
                    group.addTask {
                        // Each goes through the devices in another order, and gives them each other's tokens.
                        let told = (0..<40).map { step in
                            let device = caller.isMultiple(of: 2) ? step : 39 - step
                            return Self.told(fixture, device: device, token: "t\((device + caller) % 40)")
                        }
                        let answers = try await fixture.store.setStartTokens(told)
                        #expect(answers.allSatisfy { $0 })
                    }
                }
                try await group.waitForAll()
            }
            let count = try await fixture.number("select count(*) from start_token")
            let tokens = try await fixture.number("select count(distinct token) from start_token")
            #expect(count == tokens && (count ?? 0) > 0)
        }
    }
}
