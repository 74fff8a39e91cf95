import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Reader", .enabled(if: TestDatabase.isAvailable)) struct ReaderTests {
    @Test("tells of a notification from before its first chunk to its end")
    func tellsOfNotifications() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 { try await fixture.addDevice(number) }
            let notification = try await fixture.accept(StoreFixture.start("match-1"))
            var summary = try await fixture.summary(notification)
            #expect(summary.state == .pending && summary.event == .start && summary.name == "start match-1")
            #expect(summary.activityID == "match-1" && summary.activityType == StoreFixture.type)
            #expect(summary.targetedCount == 0 && summary.finishedAt == nil)
            let worker = try await fixture.store.registerWorker(node: "a")
            let chunk = try #require(try await fixture.claim(worker, 2))
            summary = try await fixture.summary(notification)
            #expect(summary.state == .sending && summary.targetedCount == 2 && summary.pendingCount == 2)
            let record = StoreFixture.record(chunk, .start) { $0 == chunk.devices[0] ? .badTopic : .accepted }
            _ = try await fixture.store.record([record], worker: worker)
            try await fixture.deliverEverything(worker)
            summary = try await fixture.summary(notification)
            #expect(summary.state == .finished && summary.acceptedCount == 2 && summary.failedCount == 1)
            #expect(summary.reasons.map(\.reason) == [.badTopic])
            let finishedAt = try #require(summary.finishedAt)
            #expect(finishedAt >= summary.createdAt)
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            #expect(try await fixture.store.notification(notification.publicID, application: other.id) == nil)
        }
    }

    @Test("lists the newest first, by page and by activity")
    func lists() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            var notifications: [UUID] = []
            for number in 0..<6 {
                notifications.append(try await fixture.accept(StoreFixture.start("match-\(number % 2)")).publicID)
            }
            func list(_ activityID: String?, _ before: UUID?, _ limit: Int) async throws -> [UUID]? {
                try await fixture.store.notifications(
                    activityID: activityID, from: before.map { .behind($0) } ?? .newest, limit: limit,
                    application: fixture.application.id)?.map(\.publicID)
            }
            #expect(try await list(nil, nil, 4) == [5, 4, 3, 2].map { notifications[$0] })
            #expect(try await list(nil, notifications[2], 4) == [1, 0].map { notifications[$0] })
            #expect(try await list("match-1", nil, 10) == [5, 3, 1].map { notifications[$0] })
            #expect(try await list("match-1", notifications[4], 1) == [notifications[3]])
            #expect(try await list("none", nil, 10) == [])
            #expect(try await list(nil, UUID(high: 1, low: 1), 10) == nil)
        }
    }

    @Test("goes on behind a place although what was there is gone, and whatever was added meanwhile")
    func keepsItsPlace() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            var notifications: [UUID] = []
            for number in 0..<4 { notifications.append(try await fixture.accept(StoreFixture.start("match-\(number)")).publicID) }
            func page(_ start: NotificationListStart) async throws -> [NotificationSummary] {
                try #require(
                    try await fixture.store.notifications(
                        activityID: nil, from: start, limit: 2, application: fixture.application.id))
            }
            let first = try await page(.newest)
            let place = try #require(first.last).number
            _ = try await fixture.accept(StoreFixture.start("later"))
            try await fixture.session.execute(
                """
                delete from fan_out where notification_id = \(place);
                delete from notification where notification_id = \(place);
                """)
            #expect(try await page(.behindPlace(place)).map(\.publicID) == [notifications[1], notifications[0]])
        }
    }

    @Test("tells of an activity")
    func tellsOfActivities() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            for number in 1...2 { try await fixture.hold("match-1", device: number) }
            func summary() async throws -> ActivitySummary {
                try #require(try await fixture.store.activity("match-1", application: fixture.application.id))
            }
            var activity = try await summary()
            #expect(!activity.isEnded && activity.deviceCount == 2 && activity.lastNotification == start.publicID)
            #expect(activity.activityType == StoreFixture.type)
            _ = try await fixture.store.endActivity(
                "match-1", device: .pushToken(StoreFixture.pushToken(1)), application: fixture.application.id)
            activity = try await summary()
            #expect(activity.deviceCount == 1)
            // As many as an update reaches: 8 hours after its start a device takes an end only.
            try await fixture.session.execute(
                "update update_token set started_at = unix_seconds(now()) - \(ActivityWindow.updateSeconds) - 60")
            activity = try await summary()
            #expect(activity.deviceCount == 0 && !activity.isEnded)
            let update = UpdateCommand(activityID: "match-1", name: "late", content: StoreFixture.content(.update))
            guard case .nobody = try await fixture.store.accept(update, application: fixture.application) else {
                Issue.record("an update was accepted that no device takes")
                return
            }
            let end = try await fixture.accept(.end, of: "match-1")
            activity = try await summary()
            #expect(activity.isEnded && activity.deviceCount == 0 && activity.lastNotification == end.publicID)
        }
    }

    @Test("takes a notification nobody knows for finished")
    func progressOfUnknown() async throws {
        try await StoreFixture.with { fixture in
            let progress = try await fixture.store.progress(of: NotificationID(rawValue: 1))
            #expect(progress == FanOutProgress(acceptedCount: 0, isFinished: true))
        }
    }
}
