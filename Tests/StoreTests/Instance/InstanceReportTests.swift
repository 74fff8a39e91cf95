import Gateway
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("What devices tell of live notifications", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3)))
struct InstanceReportTests {
    private static func report(
        _ event: ActivityEvent, _ id: InstanceID, device: Int = 1, fan: String = "fan-1", message: String, at: Int64
    ) -> InstanceReport {
        InstanceReport(
            event: event, instance: id, pushToken: StoreFixture.pushToken(device),
            profile: [AliasReference(label: "external_id", identifier: fan)], notificationType: InstanceTests.type,
            platform: .ios, attributes: Array(#"{"home":"A"}"#.utf8), contentState: Array(#"{"score":0}"#.utf8), at: at,
            messageID: message)
    }

    @Test("begins and ends an instance with the device as its source, once however often it is told")
    func tells() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let id = InstanceID.mint(milliseconds: now * 1_000)
            #expect(try await fixture.store.report(Self.report(.start, id, message: "m1", at: now - 5), application: app))
            #expect(try await fixture.store.report(Self.report(.start, id, message: "m1", at: now - 5), application: app))
            let begun = try #require(try await fixture.store.instance(id, application: app))
            #expect(begun.state == .active && begun.startedAt == now - 5 && begun.expiresAt == now - 5 + 6 * 3_600)
            #expect(begun.lastDelivery?.source == .device && begun.lastDelivery?.status == .sent)
            for _ in 0..<2 {
                #expect(try await fixture.store.report(Self.report(.end, id, message: "m2", at: now - 1), application: app))
            }
            let ended = try #require(try await fixture.store.instance(id, application: app))
            #expect(ended.state == .ended && ended.endedAt == now - 1 && ended.lastDelivery?.operation == .end)
            let page = try await fixture.store.deliveries(of: id, after: nil, limit: 10, application: app)
            #expect(page?.elements.count == 2)
            let mine = try await fixture.store.instances(
                of: AliasReference(label: "external_id", identifier: "fan-1"), after: nil, limit: 10, application: app)
            #expect(mine.elements.map(\.id) == [id])
            #expect(try await fixture.store.notificationTypes(application: app).map(\.identifier) == [InstanceTests.type])
        }
    }

    @Test("counts for the profile of the device only")
    func isOwnDevices() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let id = InstanceID.mint(milliseconds: 1_900_000_000_000)
            let told = Self.report(.start, id, fan: "fan-2", message: "m1", at: 1_900_000_000)
            #expect(try await fixture.store.report(told, application: fixture.application.id) == false)
            #expect(try await fixture.store.instance(id, application: fixture.application.id) == nil)
        }
    }

    @Test("takes the gateway's time for one that is far off or ahead")
    func checksClock() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            for (number, at) in [0, now + 90, now + 864_000].enumerated() {
                let id = InstanceID.mint(milliseconds: now * 1_000)
                let told = Self.report(.start, id, message: "m\(number)", at: at)
                #expect(try await fixture.store.report(told, application: app))
                let startedAt = try #require(try await fixture.store.instance(id, application: app)).startedAt
                #expect((now...now + 60).contains(startedAt))
            }
        }
    }

    @Test("counts arrivals and openings once a message, and knows no others")
    func counts() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let id = InstanceID.mint(milliseconds: now * 1_000)
            _ = try await fixture.store.report(Self.report(.start, id, message: "m1", at: now), application: app)
            let delivery = try #require(try await fixture.store.instance(id, application: app)?.lastDelivery).id
            for message in ["a", "a", "b"] {
                #expect(try await fixture.store.count(opened: false, delivery: delivery, messageID: message, application: app))
            }
            #expect(try await fixture.store.count(opened: true, delivery: delivery, messageID: "c", application: app))
            #expect(try await !fixture.store.count(opened: true, delivery: id, messageID: "d", application: app))
            let counted = try #require(try await fixture.store.instance(id, application: app)?.lastDelivery)
            #expect(counted.deliveredCount == 2 && counted.openedCount == 1)
        }
    }

    @Test("is removed with the instance after its days")
    func isRemoved() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let id = InstanceID.mint(milliseconds: now * 1_000)
            _ = try await fixture.store.report(Self.report(.start, id, message: "m1", at: now), application: app)
            #expect(try await fixture.maintain(hoursAhead: 24 * 29).removed.instances == 0)
            #expect(try await fixture.maintain(hoursAhead: 24 * 31).removed.instances == 1)
            for table in ["live_instance", "live_delivery", "live_report"] {
                #expect(try await fixture.number("select count(*) from \(table)") == 0, "\(table)")
            }
        }
    }

    @Test("of another user's instance counts for nothing")
    func isOfOneProfile() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            try await fixture.addDevice(2) { $0.externalID = "fan-2" }
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let id = InstanceID.mint(milliseconds: now * 1_000)
            _ = try await fixture.store.report(Self.report(.start, id, message: "m1", at: now), application: app)
            let foreign = Self.report(.end, id, device: 2, fan: "fan-2", message: "m2", at: now)
            #expect(try await fixture.store.report(foreign, application: app) == false)
            #expect(try await fixture.store.instance(id, application: app)?.state == .active)
        }
    }

    @Test("ends an instance when no other device shows it, and not before")
    func endsWithLastDevice() async throws {
        try await StoreFixture.with { fixture in
            for number in 1...2 { try await fixture.addDevice(number) { $0.externalID = "fan-1" } }
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let id = InstanceID.mint(milliseconds: now * 1_000)
            _ = try await fixture.store.report(Self.report(.start, id, message: "m1", at: now), application: app)
            for number in 1...2 { try await fixture.hold("\(id)", device: number) }
            for (number, state) in [(1, InstanceState.active), (2, .ended)] {
                let end = Self.report(.end, id, device: number, message: "end \(number)", at: now)
                #expect(try await fixture.store.report(end, application: app))
                _ = try await fixture.store.endActivity(
                    "\(id)", device: .pushToken(StoreFixture.pushToken(number)), application: app)
                #expect(try await fixture.store.instance(id, application: app)?.state == state)
            }
            let page = try await fixture.store.deliveries(of: id, after: nil, limit: 10, application: app)
            #expect(page?.elements.map(\.operation) == [.end, .end, .start])
        }
    }

    @Test("begins and ends an instance whose end comes before its start")
    func endsBeforeStart() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let id = InstanceID.mint(milliseconds: now * 1_000)
            for (event, message) in [(ActivityEvent.end, "m2"), (.start, "m1")] {
                #expect(try await fixture.store.report(Self.report(event, id, message: message, at: now), application: app))
            }
            let instance = try #require(try await fixture.store.instance(id, application: app))
            #expect(instance.state == .ended && (instance.endedAt ?? 0) >= instance.startedAt)
        }
    }

    @Test("is followed by an update and an end that wait for the device's token, and by nothing after the device's own end")
    func isUpdatedBeforeToken() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1) { $0.externalID = "fan-1" }
            let worker = try await fixture.store.registerWorker(node: "a")
            let app = fixture.application.id
            let now = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let flow = InstanceTests.flow(fixture, now: now)
            let id = InstanceID.mint(milliseconds: now * 1_000)
            _ = try await fixture.store.report(Self.report(.start, id, message: "m1", at: now), application: app)
            _ = try await flow.update(InstanceTests.update(id), application: fixture.application)
            #expect(try await fixture.deliverEverything(worker).isEmpty)
            #expect(try await fixture.store.instance(id, application: app)?.lastDelivery?.status == .undeliverable)
            try await fixture.hold("\(id)", device: 1)
            #expect(try await fixture.deliverEverything(worker).count == 1)
            #expect(try await fixture.store.instance(id, application: app)?.lastDelivery?.status == .sent)

            let other = InstanceID.mint(milliseconds: now * 1_000)
            _ = try await fixture.store.report(Self.report(.start, other, message: "m3", at: now), application: app)
            _ = try await flow.update(InstanceTests.update(other), application: fixture.application)
            _ = try await fixture.store.report(Self.report(.end, other, message: "m4", at: now), application: app)
            let (_, catchUp) = try await fixture.hold("\(other)", device: 1)
            #expect(!catchUp)
            #expect(try await fixture.deliverEverything(worker).isEmpty)
        }
    }
}
