import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("One device", .enabled(if: TestDatabase.isAvailable)) struct DeviceReaderTests {
    @Test("is shown with all that is known of it but its tokens, to its own app only")
    func details() async throws {
        try await StoreFixture.with { fixture in
            let id = try await fixture.addDevice(1) {
                $0.externalID = "fan-1"
                $0.aliases = ["shop": "4711"]
                $0.tags = ["club": "home", "plan": "pro"]
                $0.language = "de"
                $0.sessionCount = 3
                $0.environment = .sandbox
            }
            try await fixture.addDevice(2)
            try await fixture.hold("match-1", device: 1, startedAt: 1_700_000_000, type: StoreFixture.type)
            let found = try #require(try await fixture.store.device(id, application: fixture.application.id))
            #expect(found.subscriptionID == id && found.environment == .sandbox && found.externalID == "fan-1")
            #expect(found.aliases.map { "\($0.name)=\($0.value)" } == ["external_id=fan-1", "shop=4711"])
            #expect(found.tags.map { "\($0.name)=\($0.value)" } == ["club=home", "plan=pro"])
            #expect(found.language == "de" && found.country == nil && found.sessionCount == 3)
            #expect(found.startTokens.map(\.activityType) == [StoreFixture.type])
            #expect(found.startTokens.map(\.service) == [.apnsSandbox])
            #expect(found.activities.map(\.activityID) == ["match-1"])
            #expect(found.activities.map(\.window.startedAt) == [1_700_000_000])
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            #expect(try await fixture.store.device(id, application: other.id) == nil)
            let timeline = try await fixture.store.timeline(
                of: id, before: NotificationID(rawValue: .max), limit: 5, application: other.id)
            #expect(timeline == nil)
        }
    }

    @Test("has a timeline that goes on behind a thousand notifications to others")
    func longTimeline() async throws {
        try await StoreFixture.with { fixture in
            let id = try await fixture.addDevice(1)
            let worker = try await fixture.store.registerWorker(node: "a")
            let first = try await fixture.accept(StoreFixture.start("match-1"))
            try await fixture.deliverEverything(worker)
            try await fixture.session.execute(
                """
                insert into notification
                    (notification_id, app_id, activity_number, event, name, content, push_timestamp, expires_at)
                select new_time_ordered_id(), app_id, activity_number, event, name, content, push_timestamp, expires_at
                from notification, generate_series(1, \(TimelinePage.lookCount))
                """)
            let newest = try #require(
                try await fixture.store.timeline(
                    of: id, before: NotificationID(rawValue: .max), limit: 10, application: fixture.application.id))
            #expect(newest.entries.isEmpty)
            let next = try #require(newest.next)
            let oldest = try #require(
                try await fixture.store.timeline(
                    of: id, before: next, limit: 10, application: fixture.application.id))
            #expect(oldest.entries.map(\.notification) == [first.publicID])
            #expect(oldest.next == nil)
        }
    }

    @Test("has a timeline of its own pushes, newest first, without a gap or a repetition")
    func timeline() async throws {
        try await StoreFixture.with { fixture in
            let id = try await fixture.addDevice(1)
            try await fixture.addDevice(2)
            let second = try await fixture.store.device(fixture.addDevice(2), application: fixture.application.id)
            let worker = try await fixture.store.registerWorker(node: "a")
            var sent: [UUID] = []
            for number in 0..<5 {
                sent.append(try await fixture.accept(StoreFixture.start("match-\(number)")).publicID)
                // Not to this device.
                _ = try await fixture.accept(
                    StoreFixture.start("other-\(number)", .subscriptions([try #require(second).subscriptionID])))
            }
            try await fixture.deliverEverything(worker)
            _ = try await fixture.tap(1, "match-2")
            var seen: [TimelineEntry] = []
            var begin: NotificationID? = NotificationID(rawValue: .max)
            while let here = begin {
                let page = try #require(
                    try await fixture.store.timeline(of: id, before: here, limit: 2, application: fixture.application.id))
                #expect(page.entries.count <= 2)
                seen += page.entries
                begin = page.next
            }
            #expect(seen.map(\.notification) == sent.reversed())
            #expect(seen.map(\.activityID) == (0..<5).reversed().map { "match-\($0)" })
            #expect(seen.map(\.delivery.tapCount) == [0, 0, 1, 0, 0])
            #expect(seen.allSatisfy { $0.delivery.reason == .accepted && $0.event == .start })
        }
    }
}

@Suite("Statistics", .enabled(if: TestDatabase.isAvailable)) struct StatisticsTests {
    @Test("sum the notifications of a time by type, by event and by day, running ones included")
    func sums() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 { try await fixture.addDevice(number) }
            let worker = try await fixture.store.registerWorker(node: "a")
            _ = try await fixture.accept(StoreFixture.start("match-1"))
            let chunk = try #require(try await fixture.claim(worker))
            let record = StoreFixture.record(chunk, .start) { $0 == chunk.devices[0] ? .unregistered : .accepted }
            _ = try await fixture.store.record([record], worker: worker)
            for number in [2, 2, 3] { _ = try await fixture.tap(number, "match-1") }
            for number in 2...3 { try await fixture.hold("match-1", device: number) }
            _ = try await fixture.accept(.update, of: "match-1")
            // Claimed and not recorded: it runs.
            _ = try #require(try await fixture.claim(worker))
            let now = try #require(try await fixture.number("select unix_seconds(now())"))
            func rows(_ grouping: StatisticsGrouping, _ seconds: Range<Int64>? = nil) async throws -> [StatisticsRow] {
                try await fixture.store.statistics(
                    in: seconds ?? now - 60..<now + 60, by: grouping, limit: 10, application: fixture.application.id)
            }
            let all = StatisticsRow(
                key: StoreFixture.type, notificationCount: 2, targetedCount: 5, acceptedCount: 2, failedCount: 1,
                unknownCount: 0, clickCount: 3, clickedDeviceCount: 2)
            #expect(try await rows(.activityType) == [all])
            #expect(all.clickThrough == 1)
            let events = try await rows(.event)
            #expect(Set(events.map(\.key)) == ["start", "update"])
            #expect(events.first { $0.key == "update" }?.targetedCount == 2)
            let day = try await fixture.text("select to_char(now() at time zone 'UTC', 'YYYY-MM-DD')")
            #expect(try await rows(.day).map(\.key) == [day])
            #expect(try await rows(.day, now - 120..<now - 60).isEmpty)
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            let foreign = try await fixture.store.statistics(
                in: now - 60..<now + 60, by: .event, limit: 10, application: other.id)
            #expect(foreign.isEmpty)
        }
    }
}
