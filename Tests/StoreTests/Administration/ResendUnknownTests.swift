import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Resending what is unknown", .enabled(if: TestDatabase.isAvailable)) struct ResendUnknownTests {
    /// Delivers everything; devices that `isUnknown` names end as unknown.
    private func deliver(
        _ worker: WorkerID, _ fixture: StoreFixture, event: ActivityEvent = .start, isUnknown: (Int64) -> Bool
    ) async throws {
        while let chunk = try await fixture.claim(worker, 1_000) {
            let record = StoreFixture.record(chunk, event) { isUnknown($0) ? .unknown : .accepted }
            #expect(try await fixture.store.record([record], worker: worker) == [])
        }
    }

    @Test("reaches exactly those devices, in as many chunks as it takes, and counts them anew")
    func reachesThem() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(5_000)
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await deliver(worker, fixture) { $0 % 2 == 0 }
            var summary = try await fixture.summary(start)
            #expect(summary.acceptedCount == 2_500 && summary.unknownCount == 2_500)

            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .queued(deviceCount: 2_500))
            summary = try await fixture.summary(start)
            #expect(summary.state == .sending && summary.targetedCount == 5_000 && summary.acceptedCount == 2_500)
            #expect(summary.unknownCount == 0 && summary.pendingCount == 2_500 && summary.finishedAt == nil)
            var devices: [Int64] = []
            var chunks = 0
            while let chunk = try await fixture.claim(worker, 1_000) {
                #expect(chunk.isRetry && chunk.id.notification == start.id && chunk.devices.count <= 1_000)
                devices += chunk.devices
                chunks += 1
                let record = StoreFixture.record(chunk, .start) { device in
                    device % 4 == 0 ? .unregistered : device % 10 == 2 ? .unknown : .accepted
                }
                #expect(try await fixture.store.record([record], worker: worker) == [])
            }
            #expect(chunks == 3)
            #expect(devices == Array(stride(from: 2, through: 5_000, by: 2)))
            summary = try await fixture.summary(start)
            #expect(summary.state == .finished && summary.targetedCount == 5_000 && summary.pendingCount == 0)
            #expect(summary.failedCount == 1_250 && summary.unknownCount == 250 && summary.acceptedCount == 3_500)
            #expect(try await fixture.number("select count(*) from delivery") == 5_000)
            #expect(try await fixture.number("select count(*) from delivery where status = 0") == 250)
            // What is unknown once more can be sent once more.
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .queued(deviceCount: 250))
            try await deliver(worker, fixture) { _ in false }
            #expect(try await fixture.summary(start).acceptedCount == 3_750)
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .nothingUnknown)
        }
    }

    @Test("queues each device once, however many ask for it at once")
    func happensOnce() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            try await fixture.addDevices(20)
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await deliver(worker, fixture) { _ in true }
            let outcomes = try await withThrowingTaskGroup(of: ResendOutcome.self) { group in
                for _ in 0..<8 { group.addTask { try await fixture.store.resendUnknown(of: start.publicID) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.filter { $0 == .queued(deviceCount: 20) }.count == 1)
            #expect(outcomes.filter { $0 == .unfinished }.count == 7)
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed[start.id]?.count == 20)
            #expect(try await fixture.summary(start).acceptedCount == 20)
        }
    }

    @Test("reaches those of each notification only, also of another day's partition")
    func keepsNotificationsApart() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevices(4)
            let worker = try await fixture.store.registerWorker(node: "a")
            let first = try await fixture.accept(StoreFixture.start("match-1"))
            let second = try await fixture.accept(StoreFixture.start("match-2"))
            try await deliver(worker, fixture) { $0 <= 2 }
            // The second was stored yesterday: all that belongs to it is in other partitions.
            let day: Int64 = 86_400_000 << 22
            for table in ["notification", "fan_out", "fan_out_chunk", "delivery"] {
                try await fixture.session.execute(
                    "update \(table) set notification_id = notification_id - \(day) where notification_id = \(second.id)")
            }
            #expect(try await fixture.number("select count(distinct tableoid) from delivery") == 2)
            for (notification, rest) in [(second, first), (first, second)] {
                #expect(try await fixture.store.resendUnknown(of: notification.publicID) == .queued(deviceCount: 2))
                #expect(try await fixture.deliverEverything(worker).values.map(\.count) == [2])
                #expect(try await fixture.summary(notification).acceptedCount == 4)
                #expect(try await fixture.summary(rest).state == .finished)
            }
        }
    }

    @Test("of an update and an end works too, and a device that has lost its token fails")
    func resendsUpdates() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...3 {
                try await fixture.addDevice(number)
                try await fixture.hold("match-1", device: number)
            }
            let worker = try await fixture.store.registerWorker(node: "a")
            for event in [ActivityEvent.update, .end] {
                let push = try await fixture.accept(event, of: "match-1")
                try await deliver(worker, fixture, event: event) { _ in true }
                if event == .end {
                    try await fixture.session.execute(
                        "delete from update_token where device_id = \(try await fixture.deviceNumber(2))")
                }
                #expect(try await fixture.store.resendUnknown(of: push.publicID) == .queued(deviceCount: 3))
                try await deliver(worker, fixture, event: event) { _ in false }
                let summary = try await fixture.summary(push)
                #expect(summary.state == .finished && summary.targetedCount == 3 && summary.unknownCount == 0)
                #expect(summary.acceptedCount == (event == .end ? 2 : 3))
                #expect(summary.reasons.map(\.reason) == (event == .end ? [.tokenGone] : []))
            }
        }
    }

    @Test("is refused while the notification is open, when it is old or overtaken, and when nothing is unknown")
    func isRefused() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1)
            try await fixture.hold("match-1", device: 1)
            let worker = try await fixture.store.registerWorker(node: "a")
            #expect(try await fixture.store.resendUnknown(of: UUID(high: 1, low: 1)) == .notFound)
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .unfinished)
            try await deliver(worker, fixture) { _ in false }
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .nothingUnknown)
            try await fixture.session.execute("update delivery set status = 0")

            let update = try await fixture.accept(.update, of: "match-1")
            try await deliver(worker, fixture, event: .update) { _ in true }
            try await fixture.session.execute("update notification set expires_at = unix_seconds(now())")
            #expect(try await fixture.store.resendUnknown(of: update.publicID) == .expired)
            try await fixture.session.execute("update notification set expires_at = unix_seconds(now()) + 3600")
            // An update takes the place of an update, an end that of everything.
            _ = try await fixture.accept(.update, of: "match-1")
            try await fixture.deliverEverything(worker)
            #expect(try await fixture.store.resendUnknown(of: update.publicID) == .overtaken)
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .queued(deviceCount: 1))
            try await deliver(worker, fixture) { _ in true }
            _ = try await fixture.accept(.end, of: "match-1")
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .overtaken)
        }
    }

    @Test("gives way to an end that is accepted before it is sent")
    func givesWay() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            try await fixture.hold("match-1", device: 1)
            let worker = try await fixture.store.registerWorker(node: "a")
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await deliver(worker, fixture) { _ in true }
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .queued(deviceCount: 2))
            let end = try await fixture.accept(.end, of: "match-1")
            #expect(try await fixture.deliverEverything(worker).keys.sorted() == [end.id])
            let summary = try await fixture.summary(start)
            #expect(summary.state == .finished && summary.targetedCount == 2)
            #expect(summary.failedCount == 2 && summary.unknownCount == 0 && summary.reasons.map(\.reason) == [.superseded])
        }
    }

    @Test("whose worker dies is unknown again")
    func isUnknownAgain() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) }
            let (worker, next) = (
                try await fixture.store.registerWorker(node: "a"), try await fixture.store.registerWorker(node: "b")
            )
            let start = try await fixture.accept(StoreFixture.start("match-1"))
            try await deliver(worker, fixture) { _ in true }
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .queued(deviceCount: 2))
            #expect(try await fixture.claim(worker) != nil)
            try await fixture.expire(worker)
            #expect(try await fixture.deliverEverything(next).isEmpty)
            let summary = try await fixture.summary(start)
            #expect(summary.state == .finished && summary.unknownCount == 2 && summary.targetedCount == 2)
            #expect(try await fixture.store.resendUnknown(of: start.publicID) == .queued(deviceCount: 2))
        }
    }
}
