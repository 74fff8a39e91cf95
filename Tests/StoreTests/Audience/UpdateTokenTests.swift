import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Update token", .enabled(if: TestDatabase.isAvailable)) struct UpdateTokenTests {
    @Test("makes the activity an app started itself, and its type when it is told")
    func makesActivities() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1, type: nil)
            try await fixture.hold("own", device: 1)
            var summary = try #require(try await fixture.store.activity("own", application: fixture.application.id))
            #expect(
                summary.activityType == nil && !summary.isEnded && summary.deviceCount == 1 && summary.lastNotification == nil)
            try await fixture.hold("own", device: 1, type: "Ride")
            summary = try #require(try await fixture.store.activity("own", application: fixture.application.id))
            #expect(summary.activityType == "Ride")
            #expect(try await fixture.store.activity("other", application: fixture.application.id) == nil)
            let unknown = try await fixture.store.setUpdateToken(
                UpdateTokenRegistration(
                    device: .pushToken([9]), activityID: "none", token: [1], activityType: nil, startedAt: nil),
                application: fixture.application.id)
            guard case .unknownDevice = unknown else { throw FixtureError.unexpected("\(unknown)") }
            #expect(try await fixture.number("select count(*) from activity") == 1)
        }
    }

    @Test("keeps its start when it is rotated, and no start lies far ahead")
    func keepsStart() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            #expect(try await fixture.hold("match-1", device: 1, startedAt: 1_000).window.startedAt == 1_000)
            #expect(try await fixture.hold("match-1", device: 1, token: [1, 2]).window.startedAt == 1_000)
            #expect(try await fixture.text("select encode(token, 'hex') from update_token") == "0102")
            #expect(try await fixture.hold("match-1", device: 1, token: [1, 2], startedAt: 2_000).window.startedAt == 2_000)
            let before = try #require(try await fixture.number("select unix_seconds(now())"))
            let window = try await fixture.hold("match-1", device: 1, token: [1, 2], startedAt: 9_000_000_000).window
            let after = try #require(try await fixture.number("select unix_seconds(now())"))
            #expect((before + 300...after + 300).contains(window.startedAt))
            #expect(window.updatesUntil == window.startedAt + 8 * 3600 && window.endUntil == window.startedAt + 12 * 3600)
        }
    }

    @Test("is taken over by another device and another activity")
    func isTakenOver() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            try await fixture.hold("match-1", device: 1, token: [7])
            try await fixture.hold("match-1", device: 2, token: [7])
            #expect(try await fixture.number("select count(*) from update_token") == 1)
            #expect(try await fixture.number("select device_id from update_token") == (try await fixture.deviceNumber(2)))
            try await fixture.hold("match-2", device: 2, token: [7])
            #expect(
                try await fixture.text(
                    "select string_agg(activity_id, ',') from update_token join activity using (activity_number)")
                    == "match-2")
        }
    }

    @Test("ends by the device's own word, once and for that device only")
    func endsByDevice() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            try await fixture.hold("match-1", device: 1)
            func end(_ number: Int) async throws -> Bool {
                try await fixture.store.endActivity(
                    "match-1", device: .pushToken(StoreFixture.pushToken(number)), application: fixture.application.id)
            }
            #expect(try await !end(2))
            #expect(try await !end(9))
            #expect(try await end(1))
            let version = try await fixture.text("select xmin::text from update_token")
            #expect(try await end(1))
            // The same token again is refused, also with another start; a new one is a new activity on that device.
            for startedAt in [nil, 1_900_000_000] as [Int64?] {
                let again = try await fixture.store.setUpdateToken(
                    UpdateTokenRegistration(
                        device: .pushToken(StoreFixture.pushToken(1)), activityID: "match-1",
                        token: StoreFixture.updateToken(1) + Array("-match-1".utf8), activityType: nil, startedAt: startedAt),
                    application: fixture.application.id)
                guard case .ended = again else { throw FixtureError.unexpected("\(again)") }
            }
            #expect(try await fixture.text("select xmin::text from update_token") == version)
            #expect(try await fixture.number("select count(*) from update_token where ended_at is null") == 0)
            try await fixture.hold("match-1", device: 1, token: [5])
            #expect(try await fixture.number("select count(*) from update_token where ended_at is null") == 1)
        }
    }

    @Test("is removed when no push can reach it any more")
    func isRemoved() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let old = try await fixture.deviceNumber(1)
            try await fixture.session.execute(
                "update update_token set started_at = started_at - 37 * 3600 where device_id = \(old)")
            try await fixture.store.maintain()
            #expect(try await fixture.number("select count(*) from update_token") == 1)
            #expect(try await fixture.number("select count(*) from update_token where device_id = $1", [.int64(old)]) == 0)
        }
    }
}
