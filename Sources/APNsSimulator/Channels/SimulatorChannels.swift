/// Broadcast channels as devices and tests see them.
extension Simulator {
    /// All channels in the order of their creation, deleted ones included; nil does not restrict.
    package func channels(bundleID: String? = nil, environment: PushEnvironment? = nil) -> [ChannelRecord] {
        core.channels.records(bundleID: bundleID, environment: environment)
    }

    /// Makes a channel that no request made, as another program with the same key does; answers its identifier.
    package func makeChannel(
        bundleID: String, environment: PushEnvironment, policy: ChannelStoragePolicy = .mostRecent
    ) -> String {
        core.channels.create(bundleID: bundleID, environment: environment, policy: policy)
    }

    /// Deletes a channel as another program does; false when there is none.
    @discardableResult
    package func deleteChannel(_ identifier: String) -> Bool { core.channels.delete(identifier) }

    /// Puts a device on a channel; false when the channel is not there.
    @discardableResult
    package func subscribe(_ token: [UInt8], to channelID: String, environment: PushEnvironment) -> Bool {
        core.channels.subscribe(token, to: channelID, environment: environment, now: core.now(settings))
    }

    /// Counts devices on a channel that nobody asks about one by one; false when the channel is not there.
    @discardableResult
    package func subscribe(count: Int, to channelID: String) -> Bool { core.channels.subscribe(count: count, to: channelID) }

    /// The channels a device is on, and what it was delivered there.
    package func subscriptions(of token: [UInt8]) -> [ChannelSubscription] { core.channels.subscriptions(of: token) }
}
