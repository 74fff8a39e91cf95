/// Whether Apple keeps a channel's latest message for phones that are away. It is chosen once, when the channel is made.
package enum ChannelStoragePolicy: Int16, CaseIterable, Sendable {
    /// Nothing is kept; more may be sent in a time.
    case nothing = 0
    /// The most recent message is kept until it expires, 8 hours at most.
    case mostRecent = 1
}

/// What became of a request to Apple's management of channels.
package enum ChannelResult<Value: Sendable & Equatable>: Sendable, Equatable {
    case done(Value)
    /// Nothing was changed at Apple's.
    case refused(ChannelRefusal)
    /// It left, and nobody knows whether Apple carried it out.
    case unclear(String)
}

/// Why a request was not carried out.
package enum ChannelRefusal: Hashable, Sendable {
    /// The capability is not switched on for the app in Apple's portal.
    case notEnabled
    /// The app has as many channels as Apple allows in the environment.
    case full
    /// Apple does not know the channel.
    case unknownChannel
    /// Another reason of Apple's; sending the same again will not help.
    case other(DeliveryReason)
    /// It may be sent again after the delay.
    case later(DeliveryReason, delayMilliseconds: Int64)
    /// It never left this process, or was provably not processed: why.
    case notSent(String)

    /// For log lines: Apple's reason where it is Apple's.
    package var text: String {
        switch self {
        case .notEnabled: DeliveryReason.broadcastFeatureNotEnabled.name
        case .full: "CannotCreateChannelConfig"
        case .unknownChannel: DeliveryReason.channelNotRegistered.name
        case .other(let reason), .later(let reason, _): reason.name
        case .notSent(let text): text
        }
    }

    /// Whether only the operator, or time, can change it.
    var lasts: Bool {
        switch self {
        case .notEnabled, .other: true
        case .full, .unknownChannel, .later, .notSent: false
        }
    }

    /// How long a deletion that met it waits.
    var pauseSeconds: Int {
        switch self {
        case .later(_, let delay): max(1, Int(delay / 1_000))
        case .notSent: 5
        case .notEnabled, .full, .unknownChannel, .other: 60
        }
    }
}

/// Apple's management of an app's broadcast channels. Implemented by the adapter of APNs.
package protocol ChannelService: Sendable {
    /// Makes a channel; its identifier as Apple writes it.
    ///
    /// - Parameters:
    ///   - request: `apns-request-id`.
    ///   - timeout: until the answer is complete.
    func createChannel(
        _ policy: ChannelStoragePolicy, request: UUID, for application: Application, in environment: PushEnvironment,
        timeout: Duration
    ) async -> ChannelResult<String>
    /// The policy a channel has.
    func policy(ofChannel identifier: String, of application: Application, in environment: PushEnvironment, timeout: Duration)
        async -> ChannelResult<ChannelStoragePolicy>
    /// Deletes a channel; one that Apple does not know counts as deleted.
    func deleteChannel(_ identifier: String, of application: Application, in environment: PushEnvironment, timeout: Duration)
        async -> ChannelResult<Bool>
    /// The identifiers of all channels of the app's bundle identifier, whoever made them.
    func channels(of application: Application, in environment: PushEnvironment, timeout: Duration)
        async -> ChannelResult<[String]>
}
