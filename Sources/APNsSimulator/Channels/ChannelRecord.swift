/// A message that was sent to a channel.
package struct ChannelMessage: Equatable, Sendable {
    /// Counts the messages of its channel, from 1.
    package let number: Int
    /// Milliseconds since 1970 of the simulator's clock.
    package let receivedAt: Int64
    /// `apns-expiration`, seconds since 1970; 0 for "now or never".
    package let expiresAt: Int64
    package let event: PayloadReading.Event?
    /// `aps.timestamp`, seconds since 1970.
    package let timestamp: Int64?
    package let payload: [UInt8]
}

/// A broadcast channel as the registry keeps it.
package struct ChannelRecord: Sendable {
    /// Most messages kept of a channel; the oldest go first.
    package static let messageLimit = 1_000
    /// How long a kept message waits for subscribers at most, in milliseconds. Source: Apple, 8 hours.
    static let storageMilliseconds: Int64 = 8 * 3600 * 1000

    package let identifier: String
    package let environment: PushEnvironment
    package let bundleID: String
    package let policy: ChannelStoragePolicy
    /// When a request deleted it; it is remembered, and takes nothing any more.
    package internal(set) var isDeleted = false
    /// The newest messages.
    package internal(set) var messages: [ChannelMessage] = []
    package internal(set) var messageCount = 0
    /// Devices that were subscribed one by one, and those that were only counted.
    package internal(set) var subscriberCount = 0
    /// Messages times the subscribers each had.
    package internal(set) var deliveryCount = 0
    /// Messages with a lower `aps.timestamp` than an earlier one.
    package internal(set) var fallingTimestampCount = 0
    /// Messages that came after an `end`.
    package internal(set) var afterEndCount = 0
    private var highestTimestamp: Int64?
    private var isEnded = false

    init(identifier: String, environment: PushEnvironment, bundleID: String, policy: ChannelStoragePolicy) {
        self.identifier = identifier
        self.environment = environment
        self.bundleID = bundleID
        self.policy = policy
    }

    mutating func take(payload: [UInt8], reading: PayloadReading, expiresAt: Int64, now: Int64) {
        messageCount += 1
        deliveryCount += subscriberCount
        if isEnded { afterEndCount += 1 }
        if reading.event == .end { isEnded = true }
        if let timestamp = reading.timestamp {
            if let highestTimestamp, timestamp < highestTimestamp { fallingTimestampCount += 1 }
            highestTimestamp = max(timestamp, highestTimestamp ?? timestamp)
        }
        messages.append(
            ChannelMessage(
                number: messageCount, receivedAt: now, expiresAt: expiresAt, event: reading.event, timestamp: reading.timestamp,
                payload: payload))
        if messages.count > Self.messageLimit { messages.removeFirst() }
    }

    /// The number of the first message a device gets that subscribes now: the kept one, or the next.
    func firstMessage(ofSubscriberAt now: Int64) -> Int {
        guard policy == .mostRecent, let last = messages.last, now < last.expiresAt * 1000,
            now - last.receivedAt < Self.storageMilliseconds
        else { return messageCount + 1 }
        return last.number
    }
}

/// A device on a channel, and what it was delivered there.
package struct ChannelSubscription: Sendable {
    package let token: [UInt8]
    package let channelID: String
    package let environment: PushEnvironment
    /// Those of the kept messages that came while it was subscribed, or that waited for it.
    package let messages: [ChannelMessage]
}
