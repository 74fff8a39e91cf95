import Synchronization

/// What APNs thinks of a device token.
package enum DeviceTokenState: Equatable, Sendable {
    case valid
    /// Answered with BadDeviceToken.
    case bad
    /// Answered with Unregistered and this time in milliseconds since 1970.
    case unregistered(since: Int64)
    /// Answered with ExpiredToken and this time in milliseconds since 1970.
    case expired(since: Int64)
    /// Answered with DeviceTokenNotForTopic.
    case wrongTopic
}

/// A device token as the registry keeps it, and what was sent to it.
package struct DeviceTokenRecord: Sendable {
    package let token: [UInt8]
    package fileprivate(set) var environment: PushEnvironment
    package fileprivate(set) var state: DeviceTokenState
    /// The only topic the token takes; nil takes any.
    package fileprivate(set) var topic: String?
    /// Pushes that got as far as naming this token, whatever the answer.
    package fileprivate(set) var receivedCount = 0
    /// Pushes that were answered with 200.
    package fileprivate(set) var acceptedCount = 0
    /// Pushes whose `aps.timestamp` was lower than one received before.
    package fileprivate(set) var fallingTimestampCount = 0
    /// Pushes whose `aps.timestamp` was the highest received before, as a repeated push has it.
    package fileprivate(set) var equalTimestampCount = 0
    /// Pushes received after an `end` was accepted.
    package fileprivate(set) var afterEndCount = 0
    package fileprivate(set) var highestTimestamp: Int64?
    fileprivate var isEnded = false
}

/// Which tokens exist, in which environment, and in which state.
///
/// A token belongs to the environment that saw it first; in the other one it is a bad token.
final class DeviceRegistry: Sendable {
    /// Most tokens kept. Past it, undeclared tokens are accepted without a record.
    static let tokenLimit = 4_000_000

    struct Sighting {
        /// Position in the registry; nil when there is no record.
        let index: Int?
        let reason: Reason?
        let timestampMilliseconds: Int64?
    }

    fileprivate struct State {
        var indexes: [[UInt8]: Int] = [:]
        var records: [DeviceTokenRecord] = []
    }
    private let state = Mutex(State())

    /// Says what a token is from now on; it moves to the environment given.
    func declare(_ token: [UInt8], environment: PushEnvironment, state newState: DeviceTokenState, topic: String?) {
        state.withLock { state in
            let index = State.index(of: token, in: &state, environment: environment)
            state.records[index].environment = environment
            state.records[index].state = newState
            state.records[index].topic = topic
        }
    }

    /// Looks a token up for a push, counts the push, and says what Apple would say of the token.
    ///
    /// - Parameter acceptsUnknown: whether a token nobody declared becomes a valid one here.
    func sight(
        _ token: [UInt8], environment: PushEnvironment, topic: String, reading: PayloadReading, acceptsUnknown: Bool
    ) -> Sighting {
        state.withLock { state in
            let known = state.indexes[token]
            if known == nil, !acceptsUnknown {
                return Sighting(index: nil, reason: .badDeviceToken, timestampMilliseconds: nil)
            }
            if known == nil, state.records.count >= DeviceRegistry.tokenLimit {
                return Sighting(index: nil, reason: nil, timestampMilliseconds: nil)
            }
            let index = known ?? State.index(of: token, in: &state, environment: environment)
            state.records[index].count(reading)
            let (reason, time) = state.records[index].verdict(environment: environment, topic: topic)
            return Sighting(index: index, reason: reason, timestampMilliseconds: time)
        }
    }

    /// Counts an answer of 200; an accepted `end` marks the token as ended.
    func accepted(_ index: Int, event: PayloadReading.Event?) {
        state.withLock { state in
            guard state.records.indices.contains(index) else { return }
            state.records[index].acceptedCount += 1
            if event == .end { state.records[index].isEnded = true }
        }
    }

    /// Everything that is known of a token; nil for one never declared or seen.
    func record(of token: [UInt8]) -> DeviceTokenRecord? {
        state.withLock { state in state.indexes[token].map { state.records[$0] } }
    }

    /// All records, in order of first sight; at most `limit`.
    func records(limit: Int) -> [DeviceTokenRecord] { state.withLock { Array($0.records.prefix(limit)) } }

    /// Number of tokens, and sums over all of them.
    var totals: (tokens: Int, falling: Int, equal: Int, afterEnd: Int) {
        state.withLock { state in
            state.records.reduce(into: (state.records.count, 0, 0, 0)) { sums, record in
                sums.1 += record.fallingTimestampCount
                sums.2 += record.equalTimestampCount
                sums.3 += record.afterEndCount
            }
        }
    }

    /// Forgets every token.
    func removeAll() { state.withLock { $0 = State() } }
}

extension DeviceRegistry.State {
    fileprivate static func index(of token: [UInt8], in state: inout Self, environment: PushEnvironment) -> Int {
        if let known = state.indexes[token] { return known }
        state.indexes[token] = state.records.count
        state.records.append(DeviceTokenRecord(token: token, environment: environment, state: .valid))
        return state.records.count - 1
    }
}

extension DeviceTokenRecord {
    fileprivate mutating func count(_ reading: PayloadReading) {
        receivedCount += 1
        if isEnded { afterEndCount += 1 }
        guard let timestamp = reading.timestamp else { return }
        if let highest = highestTimestamp {
            if timestamp < highest { fallingTimestampCount += 1 }
            if timestamp == highest { equalTimestampCount += 1 }
        }
        highestTimestamp = max(timestamp, highestTimestamp ?? timestamp)
    }

    fileprivate func verdict(environment: PushEnvironment, topic: String) -> (Reason?, Int64?) {
        guard environment == self.environment else { return (.badDeviceToken, nil) }
        switch state {
        case .bad: return (.badDeviceToken, nil)
        case .unregistered(let since): return (.unregistered, since)
        case .expired(let since): return (.expiredToken, since)
        case .wrongTopic: return (.deviceTokenNotForTopic, nil)
        case .valid: return (self.topic == nil || self.topic == topic ? nil : .deviceTokenNotForTopic, nil)
        }
    }
}
