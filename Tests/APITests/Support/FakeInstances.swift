import Gateway
import HTTP
import JSON
import Synchronization

@testable import API

/// A ledger of live notifications in memory: answers what a test sets, and notes what it was asked.
final class FakeInstances: InstanceLedger {
    struct State {
        var rate = RateDecision.admitted
        var attributesTypes: [String: String] = [:]
        var starts: [StoredInstanceStart] = []
        /// What users are called by.
        var userNames: [String: [ExactText: String]] = [:]
        var isOverloaded = false
        var updates: [StoredInstanceUpdate] = []
        /// One an update; then all are accepted.
        var acceptances: [InstanceUpdateAcceptance] = []
        var instances: [InstanceID: Instance] = [:]
        var deliveries: InstancePage<InstanceDelivery>?
        /// By the label and identifier of a name.
        var pages: [AliasReference: InstancePage<Instance>] = [:]
        var requests: [String] = []
        var types: [NotificationType] = []
        var names: [String: String?] = [:]

        /// Thrown by every method when it is set.
        var failure: StorageError?
        /// Whether reports come from devices of their profiles, one a call; the last is repeated.
        var reportAnswers = [true]
        var reports: [InstanceReport] = []
        /// `type attributesType` of each registration.
        var registrations: [String] = []
        var knowsDeliveries = true
        /// `opened|delivered delivery message` of each count.
        var counts: [String] = []
    }

    private let ports: FakePorts
    private let state = Mutex(State())

    /// - Parameter ports: fail, and then this fails too.
    init(ports: FakePorts) { self.ports = ports }

    func with<Value: Sendable>(_ body: (inout sending State) -> sending Value) -> Value { state.withLock(body) }

    private func check() throws(StorageError) {
        let failure = ports.with { $0.failure ?? $0.failureBehindDirectory }
        if let failure = failure ?? with({ $0.failure }) { throw failure }
    }

    /// An instance that was started a minute ago.
    static func instance(
        _ id: InstanceID, type: String = "com.example.order", state: InstanceState = .active, failureReason: String? = nil,
        endedAt: Int64? = nil, contentState: String = #"{"step":1}"#, lastDelivery: InstanceDelivery? = nil,
        platform: DevicePlatform? = .ios
    ) -> Instance {
        Instance(
            id: id, notificationType: type, platform: platform, state: state, failureReason: failureReason,
            startedAt: TestAPI.now - 60, endedAt: endedAt, expiresAt: TestAPI.now + 3_600, attributes: Array(#"{"a":1}"#.utf8),
            contentState: Array(contentState.utf8), deepLink: nil, lastDelivery: lastDelivery)
    }

    static func delivery(
        _ id: InstanceID, _ operation: ActivityEvent = .start, source: InstanceSource = .api,
        status: InstanceDeliveryStatus = .sent, failureReason: String? = nil, notification: UUID? = nil
    ) -> InstanceDelivery {
        InstanceDelivery(
            id: id, operation: operation, source: source, status: status, failureReason: failureReason,
            createdAt: TestAPI.now - 5, notification: notification, deliveredCount: 2, openedCount: 1)
    }

    func admitInstanceCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try check()
        return state.withLock { $0.rate }
    }
    func attributesType(of notificationType: String, application: ApplicationID) async throws(StorageError) -> String? {
        try check()
        return state.withLock { $0.attributesTypes[notificationType] }
    }
    func attributesTypes(of notificationType: String, application: ApplicationID) async throws(StorageError) -> [String] {
        try await attributesType(of: notificationType, application: application).map { [$0] } ?? []
    }
    func register(attributesType: String?, of notificationType: String, application: ApplicationID) async throws(StorageError) {
        try check()
        state.withLock {
            $0.registrations.append("\(notificationType) \(attributesType ?? "-")")
            if let attributesType { $0.attributesTypes[notificationType] = attributesType }
        }
    }
    func keep(_ names: ProfileNames, application: ApplicationID) async throws(StorageError) -> Bool {
        try check()
        return state.withLock { state in
            let before = state.userNames[names.user] ?? [:]
            let after = before.merging(names.names.compactMapValues { $0 }) { $1 }.filter { names.names[$0.key] != .some(nil) }
            state.userNames[names.user] = after
            return after != before
        }
    }
    func names(ofUser user: String, application: ApplicationID) async throws(StorageError) -> [ExactText: String] {
        try check()
        return state.withLock { $0.userNames[user] ?? [:] }
    }
    func start(_ start: StoredInstanceStart, application: Application) async throws(StorageError) -> Bool {
        try check()
        return state.withLock {
            if $0.isOverloaded { return false }
            $0.starts.append(start)
            return true
        }
    }
    func update(_ update: StoredInstanceUpdate, application: Application) async throws(StorageError) -> InstanceUpdateAcceptance {
        try check()
        return state.withLock {
            let acceptance = $0.acceptances.isEmpty ? InstanceUpdateAcceptance.accepted : $0.acceptances.removeFirst()
            if case .accepted = acceptance { $0.updates.append(update) }
            return acceptance
        }
    }
    func report(_ report: InstanceReport, application: ApplicationID) async throws(StorageError) -> Bool {
        try check()
        return state.withLock {
            $0.reports.append(report)
            return $0.reportAnswers.count > 1 ? $0.reportAnswers.removeFirst() : $0.reportAnswers[0]
        }
    }
    func count(opened: Bool, delivery: InstanceID, messageID: String, application: ApplicationID) async throws(StorageError)
        -> Bool
    {
        try check()
        return state.withLock {
            $0.counts.append("\(opened ? "opened" : "delivered") \(delivery) \(messageID)")
            return $0.knowsDeliveries
        }
    }
    func instance(_ id: InstanceID, application: ApplicationID) async throws(StorageError) -> Instance? {
        try check()
        return state.withLock { $0.instances[id] }
    }
    func deliveries(of id: InstanceID, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<InstanceDelivery>?
    {
        try check()
        return state.withLock {
            $0.requests.append("\(id) \(after.map { "\($0)" } ?? "-") \(limit)")
            return $0.instances[id] == nil ? nil : $0.deliveries ?? InstancePage(elements: [], hasMore: false)
        }
    }
    func instances(of profile: AliasReference, after: InstanceID?, limit: Int, application: ApplicationID)
        async throws(StorageError) -> InstancePage<Instance>
    {
        try check()
        return state.withLock {
            $0.requests.append("\(profile.label):\(profile.identifier) \(after.map { "\($0)" } ?? "-") \(limit)")
            return $0.pages[profile] ?? InstancePage(elements: [], hasMore: false)
        }
    }
    func notificationTypes(application: ApplicationID) async throws(StorageError) -> [NotificationType] {
        try check()
        return state.withLock { $0.types }
    }
    func name(_ friendlyName: String?, notificationType: String, application: ApplicationID) async throws(StorageError) -> Bool {
        try check()
        return state.withLock {
            guard $0.types.contains(where: { $0.identifier == notificationType }) else { return false }
            $0.names[notificationType] = .some(friendlyName)
            return true
        }
    }
}

extension Body {
    static let liveStart = Body([
        ("identifiers", #"{"id":"fan-1"}"#), ("notification_type", #""com.example.order""#), ("attributes", #"{"number":7.0}"#),
        ("content_state", #"{ "step" : 1 }"#), ("push_payload", #"{"alert":{"title":"Order","body":"On its way"}}"#),
    ])
    static let liveUpdate = Body([
        ("instance_id", #""01JZ6Q8W3N4T5V6X7Y8Z9A0B1C""#), ("content_state", #"{ "step" : 2 }"#),
    ])
    static let liveEnd = liveUpdate.with("content_state", nil)
}

extension HTTPResponse {
    /// What is wrong, in the shape of Customer.io's wire; nil in any other.
    var metaTexts: [String]? {
        guard let meta = (try? JSONDocument(parsing: body))?.root["meta"], meta.count == 1 else { return nil }
        if let error = meta["error"]?.string { return [error] }
        let texts = meta["errors"]?.elements.compactMap(\.string) ?? []
        return texts.count > 1 ? texts : nil
    }
    /// The value of `instance_id`.
    var instanceID: String? { (try? JSONDocument(parsing: body))?.root["instance_id"]?.string }
}
