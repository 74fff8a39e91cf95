import Gateway
import PostgreSQL
import Store
import Synchronization
import TestSupport
import Testing

/// What a push looks like is the APNs adapter's.
private struct NoPayload: PayloadRenderer {
    func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] { [] }
}

@Suite("Live notifications", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(3))) struct InstanceTests {
    static let type = "com.example.match"
    static let now = Int64(1_900_000_000)

    /// - Parameter now: seconds since 1970; pushes live as long as from then to the instance's expiry.
    static func flow(_ fixture: StoreFixture, now: Int64 = InstanceTests.now) -> LiveNotifications {
        LiveNotifications(ledger: fixture.store, renderer: NoPayload(), nowMilliseconds: { now * 1_000 })
    }

    private static func start(
        _ identifier: String = "fan-1", type: String = Self.type, pushToken: [UInt8]? = nil, platform: DevicePlatform? = nil,
        expiresAt: Int64? = nil
    ) -> InstanceStart {
        InstanceStart(
            profile: [AliasReference(label: "external_id", identifier: identifier)], notificationType: type,
            pushToken: pushToken, platform: platform, attributes: Array(#"{"home" : "A"}"#.utf8),
            contentState: Array(#"{"score":1.50}"#.utf8), alert: InstanceAlert(title: "Kick-off", body: "Now", sound: nil),
            deepLink: "app://match", expiresAt: expiresAt ?? Int64.max / 2)
    }

    static func update(_ id: InstanceID, _ event: ActivityEvent = .update, state: String? = #"{"score":2}"#)
        -> InstanceUpdate
    {
        InstanceUpdate(
            instance: id, event: event, attributes: nil, contentState: state.map { Array($0.utf8) }, alert: nil, deepLink: nil)
    }

    /// A device of `fan-1` whose SDK registered the type.
    private static func with(connections: Int = 3, _ body: (StoreFixture, LiveNotifications) async throws -> Void) async throws {
        try await StoreFixture.with(connections: connections) { fixture in
            try await fixture.addDevice(1, type: StoreFixture.type) { $0.externalID = "fan-1" }
            try await fixture.store.register(
                attributesType: StoreFixture.type, of: type, application: fixture.application.id)
            try await body(fixture, flow(fixture))
        }
    }

    private static func begin(
        _ start: InstanceStart, _ flow: LiveNotifications, _ fixture: StoreFixture
    ) async throws -> InstanceID {
        guard case .started(let id) = try await flow.start(start, application: fixture.application) else {
            throw FixtureError.unexpected("a start that was not accepted")
        }
        return id
    }

    private static func read(_ id: InstanceID, _ fixture: StoreFixture) async throws -> Instance {
        try #require(try await fixture.store.instance(id, application: fixture.application.id))
    }

    @Test("start as active with a queued delivery, which is sent once APNs accepted it")
    func starts() async throws {
        try await Self.with { fixture, flow in
            let worker = try await fixture.store.registerWorker(node: "a")
            let id = try await Self.begin(Self.start(), flow, fixture)
            let begun = try await Self.read(id, fixture)
            #expect(begun.state == .active && begun.lastDelivery?.status == .queued)
            #expect(begun.lastDelivery?.operation == .start && begun.lastDelivery?.source == .api)
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed.values.flatMap { $0 } == [try await fixture.deviceNumber(1)])
            let sent = try await Self.read(id, fixture)
            #expect(sent.state == .active && sent.lastDelivery?.status == .sent && sent.failureReason == nil)
        }
    }

    @Test("push the caller's bytes with the instance, the delivery and the link at their ends")
    func injects() async throws {
        try await Self.with { fixture, flow in
            let worker = try await fixture.store.registerWorker(node: "a")
            let id = try await Self.begin(Self.start(), flow, fixture)
            let delivery = try #require(try await Self.read(id, fixture).lastDelivery).id
            let chunk = try #require(try await fixture.claim(worker))
            let job = try #require(try await fixture.store.job(for: chunk.id.notification))
            #expect(
                String(decoding: job.content.deviceAttributes ?? [], as: UTF8.self) == #"{"home" : "A","cioInstanceId":"\#(id)"}"#
            )
            let metadata = #""cioMetadata":{"deliveryId":"\#(delivery)","deliveryToken":"\#(delivery)","deepLink":"app://match"}"#
            #expect(String(decoding: job.content.deviceContentState, as: UTF8.self) == #"{"score":1.50,\#(metadata)}"#)
            #expect(chunk.variants.map { job.variants[Int($0)].attributesType } == [StoreFixture.type])
        }
    }

    @Test("fail with a reason when nobody can be started", arguments: ["nobody", "type", "token", "android"])
    func failsForNobody(kind: String) async throws {
        try await Self.with { fixture, flow in
            let start =
                switch kind {
                case "nobody": Self.start("fan-9")
                case "type": Self.start(type: "com.example.other")
                case "token": Self.start(pushToken: [9])
                default: Self.start(platform: .android)
                }
            let id = try await Self.begin(start, flow, fixture)
            let instance = try await Self.read(id, fixture)
            #expect(instance.state == .failed && instance.failureReason?.contains("no eligible device") == true)
            #expect(instance.lastDelivery?.status == .undeliverable)
            guard case .over(.failed) = try await flow.update(Self.update(id), application: fixture.application) else {
                Issue.record("an update of a failed instance was accepted")
                return
            }
        }
    }

    @Test("fail when APNs refuses every push of the start")
    func failsWhenRefused() async throws {
        try await Self.with { fixture, flow in
            let worker = try await fixture.store.registerWorker(node: "a")
            let id = try await Self.begin(Self.start(), flow, fixture)
            let chunk = try #require(try await fixture.claim(worker))
            _ = try await fixture.store.record([StoreFixture.record(chunk, .start) { _ in .unregistered }], worker: worker)
            let instance = try await Self.read(id, fixture)
            #expect(instance.state == .failed && instance.lastDelivery?.status == .failed)
            #expect(instance.failureReason?.contains(DeliveryReason.unregistered.name) == true)
        }
    }

    @Test("start on the device that is meant only")
    func startsOnOneDevice() async throws {
        try await Self.with { fixture, flow in
            let worker = try await fixture.store.registerWorker(node: "a")
            try await fixture.addDevice(2) { $0.externalID = "fan-1" }
            let id = try await Self.begin(Self.start(pushToken: StoreFixture.pushToken(2)), flow, fixture)
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed.values.flatMap { $0 } == [try await fixture.deviceNumber(2)])
            #expect(try await Self.read(id, fixture).lastDelivery?.status == .sent)
        }
    }

    @Test("are updated and ended; an end without a state shows the last one, and nothing comes after it")
    func updatesAndEnds() async throws {
        try await Self.with { fixture, flow in
            let worker = try await fixture.store.registerWorker(node: "a")
            let id = try await Self.begin(Self.start(), flow, fixture)
            _ = try await fixture.deliverEverything(worker)
            try await fixture.hold("\(id)", device: 1)
            guard case .accepted = try await flow.update(Self.update(id), application: fixture.application) else {
                Issue.record("an update was refused")
                return
            }
            _ = try await fixture.deliverEverything(worker)
            #expect(try await Self.read(id, fixture).lastDelivery?.operation == .update)
            #expect(try await Self.read(id, fixture).lastDelivery?.status == .sent)
            guard case .accepted = try await flow.update(Self.update(id, .end, state: nil), application: fixture.application)
            else {
                Issue.record("an end was refused")
                return
            }
            let chunk = try #require(try await fixture.claim(worker))
            let job = try #require(try await fixture.store.job(for: chunk.id.notification))
            #expect(String(decoding: job.content.deviceContentState, as: UTF8.self).hasPrefix(#"{"score":2,"cioMetadata":"#))
            let ended = try await Self.read(id, fixture)
            #expect(ended.state == .ended && ended.endedAt != nil && ended.lastDelivery?.operation == .end)
            guard case .over(.ended) = try await flow.update(Self.update(id), application: fixture.application) else {
                Issue.record("an update after the end was accepted")
                return
            }
            let page = try await fixture.store.deliveries(of: id, after: nil, limit: 2, application: fixture.application.id)
            #expect(page?.elements.map(\.operation) == [.end, .update] && page?.hasMore == true)
            let rest = try await fixture.store.deliveries(
                of: id, after: page?.elements.last?.id, limit: 2, application: fixture.application.id)
            #expect(rest?.elements.map(\.operation) == [.start] && rest?.hasMore == false)
        }
    }

    @Test("reach a device whose token comes after the update, and say undeliverable until then")
    func reachesLateDevice() async throws {
        try await Self.with { fixture, flow in
            let worker = try await fixture.store.registerWorker(node: "a")
            let id = try await Self.begin(Self.start(), flow, fixture)
            _ = try await fixture.deliverEverything(worker)
            _ = try await flow.update(Self.update(id), application: fixture.application)
            #expect(try await fixture.deliverEverything(worker).isEmpty)
            #expect(try await Self.read(id, fixture).lastDelivery?.status == .undeliverable)
            let (_, catchUp) = try await fixture.hold("\(id)", device: 1)
            #expect(catchUp)
            _ = try await fixture.deliverEverything(worker)
            #expect(try await Self.read(id, fixture).lastDelivery?.status == .sent)
        }
    }

    @Test("expire at their second, without anything being done")
    func expires() async throws {
        try await Self.with { fixture, flow in
            let clock = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let id = try await Self.begin(Self.start(expiresAt: clock + 3_600), flow, fixture)
            #expect(try await Self.read(id, fixture).state == .active)
            try await fixture.session.execute("update live_instance set expires_at = unix_seconds(clock_timestamp())")
            #expect(try await Self.read(id, fixture).state == .expired)
            guard case .over(.expired) = try await flow.update(Self.update(id), application: fixture.application) else {
                Issue.record("an update of an expired instance was accepted")
                return
            }
            #expect(InstanceState(failure: nil, endedAt: nil, expiresAt: 10, now: 9) == .active)
            #expect(InstanceState(failure: nil, endedAt: nil, expiresAt: 10, now: 10) == .expired)
        }
    }

    @Test("updated at once by many, take every update and show the last one accepted")
    func updatesAtOnce() async throws {
        try await Self.with(connections: 8) { fixture, flow in
            let id = try await Self.begin(Self.start(), flow, fixture)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        let update = Self.update(id, state: #"{"score":\#(number)}"#)
                        guard case .accepted = try await flow.update(update, application: fixture.application) else {
                            Issue.record("an update among others was refused")
                            return
                        }
                    }
                }
                try await group.waitForAll()
            }
            let page = try await fixture.store.deliveries(of: id, after: nil, limit: 50, application: fixture.application.id)
            #expect(page?.elements.count == 7)
            #expect(try await Self.read(id, fixture).lastDelivery?.id == page?.elements.first?.id)
        }
    }

    @Test("keep what an update does not name, although another one changed it since it was made")
    func keepsOthers() async throws {
        try await Self.with { fixture, flow in
            let id = try await Self.begin(Self.start(), flow, fixture)
            try await fixture.session.execute("begin; select from live_instance for update")
            async let decision = flow.update(Self.update(id), application: fixture.application)
            try await fixture.waitUntilBlocked()
            try await fixture.session.execute(
                """
                update live_instance set attributes = '{"home":"B"}', deep_link = 'app://other', content_state = '{"score":7}';
                commit
                """)
            guard case .accepted = try await decision else { throw FixtureError.unexpected("not accepted") }
            let instance = try await Self.read(id, fixture)
            #expect(instance.attributes == Array(#"{"home":"B"}"#.utf8) && instance.deepLink == "app://other")
            #expect(instance.contentState == Array(#"{"score":2}"#.utf8))
        }
    }

    @Test("are pushed as they are when the update has them to itself")
    func remakes() async throws {
        try await Self.with { fixture, flow in
            let id = try await Self.begin(Self.start(), flow, fixture)
            let application = fixture.application
            func accept(_ remake: @escaping @Sendable (InstanceMaterial) -> RemadeUpdate) async throws -> InstanceUpdateAcceptance
            {
                let command = UpdateCommand(activityID: "\(id)", name: "old", content: StoreFixture.content(.update))
                let update = StoredInstanceUpdate(
                    delivery: InstanceID.mint(milliseconds: 1), request: Self.update(id), command: command,
                    basis: .whatIsThere(remake))
                return try await fixture.store.update(update, application: application)
            }
            let taken = try await accept { there in
                let name = String(decoding: there.attributes, as: UTF8.self) + String(decoding: there.contentState, as: UTF8.self)
                return .made(
                    UpdateCommand(
                        activityID: "\(id)", name: name + (there.deepLink ?? ""), content: StoreFixture.content(.update)))
            }
            guard case .accepted = taken else { throw FixtureError.unexpected("\(taken)") }
            #expect(
                try await fixture.text("select name from notification order by notification_id desc limit 1")
                    == #"{"home" : "A"}{"score":1.50}app://match"#)
            let refused = try await accept { _ in .tooLarge(byteCount: 4_097) }
            guard case .tooLarge(4_097) = refused else { throw FixtureError.unexpected("\(refused)") }
            #expect(try await fixture.number("select count(*) from notification") == 2)
        }
    }

    @Test("have ten calls a second, counted over all daemons")
    func limitsRate() async throws {
        try await StoreFixture.with { fixture in
            #expect(try await fixture.store.admitInstanceCall(of: fixture.application.id) == .admitted)
            // The oldest of ten is less than a second old, however slow this machine is.
            try await fixture.session.execute(
                """
                update instance_rate_limit
                set calls = array_fill(clock_timestamp() + interval '1 hour', array[9]) || clock_timestamp()
                """)
            guard case .refused(let wait) = try await fixture.store.admitInstanceCall(of: fixture.application.id) else {
                Issue.record("the eleventh call of a second was admitted")
                return
            }
            #expect(wait > 3_500)
            try await fixture.session.execute(
                "update instance_rate_limit set calls = array_fill(clock_timestamp() - interval '1 s', array[10])")
            #expect(try await fixture.store.admitInstanceCall(of: fixture.application.id) == .admitted)
            #expect(try await fixture.number("select cardinality(calls) from instance_rate_limit") == 10)
        }
    }

    @Test("are started under the attributes type of which the profile's device has a token, whatever others registered later")
    func findsAttributesType() async throws {
        try await Self.with { fixture, flow in
            let worker = try await fixture.store.registerWorker(node: "a")
            try await fixture.store.register(
                attributesType: "NewerAttributes", of: Self.type, application: fixture.application.id)
            let id = try await Self.begin(Self.start(), flow, fixture)
            let pushed = try await fixture.deliverEverything(worker)
            #expect(pushed.values.flatMap { $0 } == [try await fixture.deviceNumber(1)])
            #expect(try await Self.read(id, fixture).state == .active)
        }
    }

    @Test("live no longer with APNs than they do themselves")
    func limitsLife() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.addDevice(1, type: StoreFixture.type) { $0.externalID = "fan-1" }
            let clock = try #require(try await fixture.number("select unix_seconds(clock_timestamp())"))
            let flow = LiveNotifications(ledger: fixture.store, renderer: NoPayload(), nowMilliseconds: { clock * 1_000 })
            try await fixture.store.register(
                attributesType: StoreFixture.type, of: Self.type, application: fixture.application.id)
            let id = try await Self.begin(Self.start(expiresAt: clock + 60), flow, fixture)
            try await fixture.hold("\(id)", device: 1)
            _ = try await flow.update(Self.update(id), application: fixture.application)
            let latest = try #require(try await fixture.number("select max(expires_at) from notification"))
            #expect((clock + 60...clock + 120).contains(latest))
        }
    }
}
