import Synchronization
import Testing

@testable import Gateway

/// A ledger that notes what it was asked and answers as it was told.
private final class ScriptedInstances: InstanceLedger {
    struct State {
        var rate = RateDecision.admitted
        var calls: [String] = []
        var attributesType: String?
        var attributesTypes: [String] = []
        var isOverloaded = false
        /// One a look; the last is repeated.
        var instances: [Instance] = []
        /// One an update; then all are accepted.
        var acceptances: [InstanceUpdateAcceptance] = []
        var starts: [StoredInstanceStart] = []
        var updates: [StoredInstanceUpdate] = []
    }
    private let state = Mutex(State())

    func with<Value: Sendable>(_ body: (inout sending State) -> sending Value) -> Value { state.withLock(body) }

    func admitInstanceCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        with {
            $0.calls.append("admit")
            return $0.rate
        }
    }
    func attributesType(of notificationType: String, application: ApplicationID) async throws(StorageError) -> String? {
        with { $0.attributesType }
    }
    func attributesTypes(of notificationType: String, application: ApplicationID) async throws(StorageError) -> [String] {
        with { $0.attributesTypes }
    }
    func keep(_ names: ProfileNames, application: ApplicationID) async throws(StorageError) -> Bool { false }
    func names(ofUser user: String, application: ApplicationID) async throws(StorageError) -> [ExactText: String] { [:] }
    func start(_ start: StoredInstanceStart, application: Application) async throws(StorageError) -> Bool {
        with {
            $0.calls.append("start")
            $0.starts.append(start)
            return !$0.isOverloaded
        }
    }
    func update(_ update: StoredInstanceUpdate, application: Application) async throws(StorageError) -> InstanceUpdateAcceptance {
        with {
            $0.calls.append("update")
            $0.updates.append(update)
            return $0.acceptances.isEmpty ? .accepted : $0.acceptances.removeFirst()
        }
    }
    func instance(_ id: InstanceID, application: ApplicationID) async throws(StorageError) -> Instance? {
        with {
            $0.calls.append("read")
            return $0.instances.count > 1 ? $0.instances.removeFirst() : $0.instances.first
        }
    }

    // What the flow does not ask for.
    func register(attributesType: String?, of notificationType: String, application: ApplicationID) async throws(StorageError) {}
    func report(_ report: InstanceReport, application: ApplicationID) async throws(StorageError) -> Bool { false }
    func count(opened: Bool, delivery: InstanceID, messageID: String, application: ApplicationID) async throws(StorageError)
        -> Bool
    { false }
    func deliveries(of id: InstanceID, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<InstanceDelivery>?
    { nil }
    func instances(of profile: AliasReference, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<Instance>
    { InstancePage(elements: [], hasMore: false) }
    func notificationTypes(application: ApplicationID) async throws(StorageError) -> [NotificationType] { [] }
    func name(_ friendlyName: String?, notificationType: String, application: ApplicationID) async throws(StorageError) -> Bool {
        false
    }
}

/// Renders the state alone.
private struct StateRenderer: PayloadRenderer {
    func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
        content.deviceContentState
    }
}

extension StoredInstanceUpdate {
    fileprivate var lastDelivery: InstanceID? { if case .delivery(let last) = basis { last } else { nil } }
}

@Suite("Live notifications") struct LiveNotificationsTests {
    private static let application = Application(
        id: ApplicationID(rawValue: 1), publicID: UUID(high: 0, low: 1), name: "app", bundleID: "com.example.app",
        providerKey: ProviderKey(teamID: "TEAM", keyID: "KEY"), defaultEnvironment: .production, hasLiveNotifications: true)
    private static let now: Int64 = 1_700_000_000_123
    private let id = InstanceID(UUID(high: 5, low: 6))
    private let ledger = ScriptedInstances()
    private var flow: LiveNotifications {
        LiveNotifications(ledger: ledger, renderer: StateRenderer(), nowMilliseconds: { Self.now })
    }

    private func instance(
        _ state: InstanceState = .active, contentState: String = #"{"step":1}"#, lastDelivery number: UInt64 = 1,
        type: String = "com.example.order", deepLink: String? = "app://kept"
    ) -> Instance {
        let delivery = InstanceDelivery(
            id: InstanceID(UUID(high: 0, low: number)), operation: .start, source: .api, status: .sent, failureReason: nil,
            createdAt: 1, notification: nil)
        return Instance(
            id: id, notificationType: type, platform: .ios, state: state, failureReason: nil, startedAt: 1, endedAt: nil,
            expiresAt: 9, attributes: Array(#"{"a":1}"#.utf8), contentState: Array(contentState.utf8), deepLink: deepLink,
            lastDelivery: delivery)
    }
    private func start(contentState: String = #"{"step":1}"#) -> InstanceStart {
        InstanceStart(
            profile: [AliasReference(label: "external_id", identifier: "u")], notificationType: "com.example.order",
            pushToken: nil, platform: .ios, attributes: Array(#"{"a":1}"#.utf8), contentState: Array(contentState.utf8),
            alert: nil, deepLink: nil, expiresAt: 9)
    }
    private func update(_ event: ActivityEvent, contentState: String? = #"{"step":2}"#) -> InstanceUpdate {
        InstanceUpdate(
            instance: id, event: event, attributes: nil, contentState: contentState.map { Array($0.utf8) }, alert: nil,
            deepLink: nil)
    }

    @Test("asks for the rate before all else")
    func rateFirst() async throws {
        ledger.with { $0.rate = .refused(retryAfterSeconds: 1) }
        guard case .rateLimited(1) = try await flow.start(start(), application: Self.application),
            case .rateLimited(1) = try await flow.update(update(.end), application: Self.application)
        else {
            Issue.record("not refused")
            return
        }
        #expect(ledger.with { $0.calls } == ["admit", "admit"])
    }

    @Test(
        "looks for devices under the registered types, the template's, and the notification type's name, which Android has",
        arguments: [
            (["A", "B"], "io.customer.livenotifications.segments", "CIOSegmentsAttributes"),
            ([], "io.customer.livenotifications.countdowntimer", "CIOCountdownTimerAttributes"),
            (["com.example.order"], "com.example.order", "com.example.order"),
        ] as [([String], String, String)])
    func types(registered: [String], notificationType: String, type: String) async throws {
        ledger.with { $0.attributesTypes = registered }
        let request = InstanceStart(
            profile: [], notificationType: notificationType, pushToken: nil, platform: nil, attributes: Array(#"{"a":1}"#.utf8),
            contentState: Array("{}".utf8), alert: nil, deepLink: nil, expiresAt: 9)
        guard case .started(let id) = try await flow.start(request, application: Self.application) else {
            Issue.record("not started")
            return
        }
        let stored = try #require(ledger.with { $0.starts.first })
        #expect(stored.id == id && stored.command.activityID == "\(id)")
        #expect(id.value.high >> 16 == UInt64(Self.now))
        #expect(stored.command.activityType == type && stored.command.content.attributesType == type)
        let others = [type, notificationType].filter { !registered.contains($0) }
        #expect(stored.types == registered + (Set(others).count == 1 ? [type] : others))
        #expect(stored.command.name == notificationType && stored.command.idempotency == nil)
    }

    @Test("counts the size after the injection, and stores nothing that is larger than APNs takes")
    func sizes() async throws {
        // The metadata: a comma, the member's name and two ULIDs of a delivery.
        let injected = #","cioMetadata":{"deliveryId":"","deliveryToken":""}"#.utf8.count + 2 * InstanceID.digitCount
        let state = { (byteCount: Int) in #"{"x":"\#(String(repeating: "x", count: byteCount - injected - 8))"}"# }
        ledger.with { $0.instances = [instance(deepLink: nil)] }
        guard case .started = try await flow.start(start(contentState: state(4_096)), application: Self.application),
            case .accepted = try await flow.update(update(.update, contentState: state(4_096)), application: Self.application)
        else {
            Issue.record("what fits is refused")
            return
        }
        guard
            case .tooLarge(4_097, 4_096) = try await flow.start(start(contentState: state(4_097)), application: Self.application),
            case .tooLarge(4_097, 4_096) = try await flow.update(
                update(.end, contentState: state(4_097)), application: Self.application)
        else {
            Issue.record("what does not fit is taken")
            return
        }
        #expect(ledger.with { ($0.starts.count, $0.updates.count) } == (1, 1))
    }

    @Test("says when too many starts have not finished")
    func overloaded() async throws {
        ledger.with { $0.isOverloaded = true }
        guard case .overloaded = try await flow.start(start(), application: Self.application) else {
            Issue.record("not overloaded")
            return
        }
    }

    @Test("ends with the state, the attributes and the link that were told last")
    func endWithoutState() async throws {
        ledger.with { $0.instances = [instance()] }
        guard case .accepted(id) = try await flow.update(update(.end, contentState: nil), application: Self.application) else {
            Issue.record("not accepted")
            return
        }
        let stored = try #require(ledger.with { $0.updates.first })
        #expect(stored.command.content.attributes == Array(#"{"a":1}"#.utf8) && stored.request.attributes == nil)
        #expect(stored.request.contentState == nil && stored.request.deepLink == nil)
        #expect(stored.lastDelivery == InstanceID(UUID(high: 0, low: 1)))
        #expect(stored.command.content.event == .end && stored.command.activityID == "\(id)")
        let pushed = String(decoding: stored.command.content.deviceContentState, as: UTF8.self)
        #expect(pushed.hasPrefix(#"{"step":1,"cioMetadata":{"deliveryId":"\#(stored.delivery)","#))
        #expect(pushed.hasSuffix(#""deepLink":"app://kept"}}"#))
    }

    @Test("caps what a device told of itself when an end shows it again, and leaves what is no state of the template")
    func capsToldState() async throws {
        let told = #"{"status":"S","segmentsTotal":50,"segmentsComplete":40}"#
        for (state, shown) in [
            (told, #"{"status":"S","segmentsTotal":20,"segmentsComplete":20}"#), (#"{"other":1}"#, #"{"other":1}"#),
        ] {
            ledger.with {
                $0.instances = [instance(contentState: state, type: InstanceTemplate.segments.rawValue)]
                $0.updates = []
            }
            _ = try await flow.update(update(.end, contentState: nil), application: Self.application)
            #expect(ledger.with { $0.updates.map(\.command.content.contentState) } == [Array(shown.utf8)])
        }
    }

    @Test("makes an update anew when another delivery came in between")
    func outOfDate() async throws {
        ledger.with {
            $0.instances = [
                instance(contentState: #"{"step":1}"#, lastDelivery: 1), instance(contentState: #"{"step":7}"#, lastDelivery: 2),
            ]
            $0.acceptances = [.outOfDate]
        }
        guard case .accepted = try await flow.update(update(.end, contentState: nil), application: Self.application) else {
            Issue.record("not accepted")
            return
        }
        let updates = ledger.with { $0.updates }
        #expect(updates.map(\.command.content.contentState) == [Array(#"{"step":1}"#.utf8), Array(#"{"step":7}"#.utf8)])
        #expect(updates.map(\.lastDelivery) == [1, 2].map { InstanceID(UUID(high: 0, low: $0)) })
        // One call, however often it was made.
        #expect(ledger.with { $0.calls } == ["admit", "read", "update", "read", "update"])
    }

    @Test("is made of what is there the third time, whatever came in between: many at once all get through")
    func insists() async throws {
        ledger.with {
            $0.instances = [instance(lastDelivery: 1)]
            $0.acceptances = [.outOfDate, .outOfDate]
        }
        guard case .accepted = try await flow.update(update(.update), application: Self.application) else {
            Issue.record("not accepted")
            return
        }
        let id = InstanceID(UUID(high: 0, low: 1))
        let updates = ledger.with { $0.updates }
        #expect(updates.map(\.lastDelivery) == [id, id, nil])
        guard case .whatIsThere(let remake) = updates[2].basis else {
            Issue.record("not made anew")
            return
        }
        let there = { (attributes: String) in
            InstanceMaterial(attributes: Array(attributes.utf8), contentState: [], deepLink: "app://there")
        }
        guard case .made(let command) = remake(there(#"{"b":2}"#)) else {
            Issue.record("too large")
            return
        }
        #expect(command.content.attributes == Array(#"{"b":2}"#.utf8))
        #expect(command.content.instance?.deepLink == "app://there")
    }

    @Test(
        "stores nothing for an instance that is unknown or in a last state",
        arguments: [nil, InstanceState.ended, .expired, .failed])
    func refused(state: InstanceState?) async throws {
        ledger.with { $0.instances = state.map { [instance($0)] } ?? [] }
        switch (try await flow.update(update(.update), application: Self.application), state) {
        case (.unknownInstance, nil): break
        case (.over(let said), let state?): #expect(said == state)
        case (let decision, _): Issue.record("\(decision)")
        }
        #expect(ledger.with { $0.updates.isEmpty })
        // What the ledger says counts as much.
        ledger.with {
            $0.instances = [instance()]
            $0.acceptances = [state.map { .over($0) } ?? .unknownInstance]
        }
        switch (try await flow.update(update(.update), application: Self.application), state) {
        case (.unknownInstance, nil): break
        case (.over(let said), let state?): #expect(said == state)
        case (let decision, _): Issue.record("\(decision)")
        }
    }

    @Test("checks an update by the template of the instance")
    func template() async throws {
        ledger.with { $0.instances = [instance(type: InstanceTemplate.countdownTimer.rawValue)] }
        guard case .invalid(let found) = try await flow.update(update(.update), application: Self.application) else {
            Issue.record("not checked")
            return
        }
        #expect(found.errors.map(\.description) == ["content_state.title: is required"])
        #expect(ledger.with { $0.updates.isEmpty })
    }
}
