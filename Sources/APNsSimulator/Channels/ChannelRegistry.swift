import HTTP
import Security
import Synchronization

/// Which channels exist, in which environment, who is on them, and what was sent to them.
final class ChannelRegistry: Sendable {
    /// Most channels remembered, deleted ones included; past it the oldest deleted ones are forgotten.
    static let recordLimit = 100_000
    /// Random bytes of an identifier. Source: 24 characters of base64 were seen.
    static let identifierByteCount = 16

    fileprivate struct State {
        var records: [String: ChannelRecord] = [:]
        /// Identifiers in the order of creation.
        var order: [String] = []
        /// Number of the first message of each subscriber, by device token and channel.
        var subscriptions: [[UInt8]: [String: Int]] = [:]
        var generator = SystemRandomNumberGenerator()
    }
    private let state = Mutex(State())

    // MARK: What APNs does

    /// What speaks against a request that breaks no rule by itself; nil for nothing.
    func violation(of request: ChannelRequest, environment: PushEnvironment, settings: SimulatorSettings) -> Reason? {
        state.withLock { $0.violation(of: request, environment: environment, settings: settings) }
    }

    /// Does what the request wants, and answers it. Between `violation` and this another connection may have changed things.
    func perform(
        _ request: ChannelRequest, reading: PayloadReading, environment: PushEnvironment, settings: SimulatorSettings, now: Int64
    ) -> PushAnswer {
        state.withLock { state in
            if let reason = state.violation(of: request, environment: environment, settings: settings) {
                return PushAnswer(reason)
            }
            let identifier = request.channelID ?? ""
            switch request.operation {
            case .create:
                let identifier = state.create(
                    bundleID: request.bundleID, environment: environment,
                    policy: ChannelRules.storagePolicy(request.body) ?? .none)
                return PushAnswer(status: 201, headers: ["apns-channel-id": identifier])
            case .read:
                let policy = state.records[identifier]?.policy ?? .none
                let body = #"{"message-storage-policy":\#(policy.rawValue),"push-type":"LiveActivity"}"#
                return PushAnswer(status: 200, body: Array(body.utf8))
            case .delete:
                state.records[identifier]?.isDeleted = true
                return PushAnswer(status: 204)
            case .list:
                let list = state.live(request.bundleID, environment).map { #""\#($0.identifier)""# }
                return PushAnswer(status: 200, body: Array(#"{"channels":[\#(list.joined(separator: ","))]}"#.utf8))
            case .publish:
                let expiresAt = request.expiration.flatMap(Int64.init) ?? 0
                state.records[identifier]?.take(payload: request.body, reading: reading, expiresAt: expiresAt, now: now)
                return .accepted
            case nil: return PushAnswer(.methodNotAllowed)
            }
        }
    }

    // MARK: What devices and tests do

    /// Makes a channel that no request made, as another program with the same key does.
    func create(bundleID: String, environment: PushEnvironment, policy: ChannelStoragePolicy) -> String {
        state.withLock { $0.create(bundleID: bundleID, environment: environment, policy: policy) }
    }

    /// Deletes a channel as another program does; false when there is none.
    func delete(_ identifier: String) -> Bool {
        state.withLock { state in
            guard state.records[identifier]?.isDeleted == false else { return false }
            state.records[identifier]?.isDeleted = true
            return true
        }
    }

    /// Puts a device on a channel; false when the channel is not there.
    func subscribe(_ token: [UInt8], to identifier: String, environment: PushEnvironment, now: Int64) -> Bool {
        state.withLock { state in
            guard let record = state.records[identifier], !record.isDeleted, record.environment == environment else {
                return false
            }
            guard state.subscriptions[token]?[identifier] == nil else { return true }
            state.subscriptions[token, default: [:]][identifier] = record.firstMessage(ofSubscriberAt: now)
            state.records[identifier]?.subscriberCount += 1
            return true
        }
    }

    /// Counts devices on a channel that nobody asks about one by one; false when the channel is not there.
    func subscribe(count: Int, to identifier: String) -> Bool {
        state.withLock { state in
            guard state.records[identifier]?.isDeleted == false else { return false }
            state.records[identifier]?.subscriberCount += count
            return true
        }
    }

    /// The channels a device is on, and what it was delivered.
    func subscriptions(of token: [UInt8]) -> [ChannelSubscription] {
        state.withLock { state in
            (state.subscriptions[token] ?? [:]).sorted { $0.key < $1.key }.compactMap { identifier, first in
                state.records[identifier].map { record in
                    ChannelSubscription(
                        token: token, channelID: identifier, environment: record.environment,
                        messages: record.messages.filter { $0.number >= first })
                }
            }
        }
    }

    /// All channels in the order of their creation, deleted ones included; nil does not restrict.
    func records(bundleID: String? = nil, environment: PushEnvironment? = nil) -> [ChannelRecord] {
        state.withLock { state in
            state.order.compactMap { state.records[$0] }.filter {
                (bundleID == nil || bundleID == $0.bundleID) && (environment == nil || environment == $0.environment)
            }
        }
    }

    /// Forgets everything.
    func removeAll() { state.withLock { $0 = State() } }
}

extension ChannelRegistry.State {
    fileprivate func live(_ bundleID: String, _ environment: PushEnvironment) -> [ChannelRecord] {
        order.compactMap { records[$0] }.filter { !$0.isDeleted && $0.bundleID == bundleID && $0.environment == environment }
    }

    fileprivate func violation(
        of request: ChannelRequest, environment: PushEnvironment, settings: SimulatorSettings
    ) -> Reason? {
        if !settings.broadcastIsEnabled {
            return settings.spellsReasonsAsDocumented ? .featureNotEnabled : .broadcastFeatureNotEnabled
        }
        switch request.operation {
        case .create:
            return live(request.bundleID, environment).count >= settings.channelLimit ? .cannotCreateChannelConfiguration : nil
        case .list, nil: return nil
        case .read, .delete, .publish:
            let record = records[request.channelID ?? ""].flatMap { record in
                record.bundleID == request.bundleID && record.environment == environment ? record : nil
            }
            guard let record, !record.isDeleted else {
                // Seen on the wire: a channel that never was, or was deleted, is no path to delete.
                if request.operation == .delete { return .badPath }
                return record == nil ? .badChannelID : .channelNotRegistered
            }
            guard request.operation == .publish, record.policy == .none, request.expiration != "0" else { return nil }
            return .badExpirationDate
        }
    }

    fileprivate mutating func create(bundleID: String, environment: PushEnvironment, policy: ChannelStoragePolicy) -> String {
        let bytes = (0..<ChannelRegistry.identifierByteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let identifier = Base64.encode(bytes)
        records[identifier] = ChannelRecord(
            identifier: identifier, environment: environment, bundleID: bundleID, policy: policy)
        order.append(identifier)
        if order.count > ChannelRegistry.recordLimit, let oldest = order.firstIndex(where: { records[$0]?.isDeleted == true }) {
            records[order.remove(at: oldest)] = nil
        }
        return identifier
    }
}
