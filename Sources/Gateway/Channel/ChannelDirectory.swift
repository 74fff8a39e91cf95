/// What became of the intent to make a channel.
package enum ChannelIntent: Hashable, Sendable {
    /// It is stored; the request may leave, under this `apns-request-id`.
    case stored(UUID)
    /// Apple's list has to be compared first: without knowing what is there, a channel of ours could not be told from others'.
    case needsListing
    /// The list is being compared; soon afterwards it may be tried again.
    case isListing
    /// The campaign has one already, or is gone.
    case notNeeded
}

/// A channel to be deleted.
package struct LeavingChannel: Hashable, Sendable {
    /// Names its row.
    package let request: UUID
    package let identifier: String
    /// Puts both together.
    package init(request: UUID, identifier: String) {
        self.request = request
        self.identifier = identifier
    }
}

/// What a comparison with Apple's list changed.
package struct ChannelListingReport: Hashable, Sendable {
    /// Ours that were gone, those an activity used among them.
    package var goneCount = 0
    package var goneUsedCount = 0
    /// Ours that nobody knew of, and that are to be deleted now.
    package var recoveredCount = 0
    /// Unknown ones that are taken for others'.
    package var foreignCount = 0
    /// Whether ours may be among these.
    package var isAmbiguous = false
    /// Nothing changed.
    package init() {}
}

/// Where channels are written down. Implemented by the store. Every method that changes something returns after the commit.
package protocol ChannelDirectory: Sendable {
    /// Every place that has, or is to have, channels.
    ///
    /// - Parameter countsOver: whether to look for channels whose activity is over, at each of those that are used; else there are none.
    func channelCensus(countsOver: Bool) async throws(StorageError) -> [ChannelCensus]
    /// Looks after a place, alone among all daemons, for so many seconds; false when another one does.
    func keep(_ place: ChannelPlace, seconds: Int) async throws(StorageError) -> Bool
    /// Lets others look after it.
    func leave(_ place: ChannelPlace) async throws(StorageError)
    /// Writes down that a channel is about to be made.
    ///
    /// - Parameter seconds: how long its request may be under way.
    func intendChannel(_ policy: ChannelStoragePolicy, in place: ChannelPlace, seconds: Int) async throws(StorageError)
        -> ChannelIntent
    /// Writes down that a channel of a campaign is about to be made, unless it has one in the place.
    func intendChannel(_ policy: ChannelStoragePolicy, ofCampaign campaign: Int64, in place: ChannelPlace, seconds: Int)
        async throws(StorageError) -> ChannelIntent
    /// The channel was made and is free, or its campaign's; when nobody waits for it any more it is to be deleted.
    func channelWasMade(_ identifier: String, request: UUID, in place: ChannelPlace) async throws(StorageError)
    /// It was certainly not made.
    func channelWasNotMade(request: UUID) async throws(StorageError)
    /// Begins a comparison: nothing is made or deleted until it ends, or so many seconds have passed. Nil while something is.
    func beginListing(of place: ChannelPlace, seconds: Int) async throws(StorageError) -> UUID?
    /// Ends it with Apple's list; nil when its time had passed, and nothing was changed.
    func finishListing(_ listing: UUID, of place: ChannelPlace, found identifiers: [String]) async throws(StorageError)
        -> ChannelListingReport?
    /// Ends it without a list.
    func abandonListing(_ listing: UUID, of place: ChannelPlace) async throws(StorageError)
    /// Gives up the free channels of an app.
    func retireFreeChannels(of place: ChannelPlace) async throws(StorageError)
    /// Gives up channels whose activity has been over for so long.
    func retireChannels(of place: ChannelPlace, overForSeconds seconds: Int64) async throws(StorageError)
    /// Takes channels to be deleted; nobody else does for so many seconds.
    func claimLeavingChannels(of place: ChannelPlace, limit: Int, seconds: Int) async throws(StorageError) -> [LeavingChannel]
    /// It is gone.
    func channelIsGone(request: UUID) async throws(StorageError)
    /// It is tried again so much later.
    func postponeDeletion(request: UUID, seconds: Int) async throws(StorageError)
}

/// An activity's channel.
package struct ActivityChannel: Hashable, Sendable {
    package let environment: PushEnvironment
    package let identifier: String
    package let policy: ChannelStoragePolicy
    /// Puts together what the store holds.
    package init(environment: PushEnvironment, identifier: String, policy: ChannelStoragePolicy) {
        self.environment = environment
        self.identifier = identifier
        self.policy = policy
    }
}

/// What became of a device's wish to be on an activity's channel.
package enum ChannelMembership: Hashable, Sendable {
    case joined(ActivityChannel, ActivityWindow)
    case unknownDevice
    case unknownActivity
    case ended
    /// The activity has no channel in the device's environment.
    case noChannel
    /// The device runs an iOS that knows no channels.
    case tooOld
}

/// Where devices ask to be on a channel. Implemented by the store.
package protocol ChannelSubscriptions: Sendable {
    /// Writes down that a device is on the channel of a running activity, and tells it which.
    func joinChannel(of activityID: String, device pushToken: [UInt8], application: ApplicationID) async throws(StorageError)
        -> ChannelMembership
}

/// How a start goes about channels.
package enum ChannelDemand: Hashable, Sendable {
    case none
    /// A channel in every environment that the start may reach, or nothing is stored.
    case required
    /// Channels where there are free ones.
    case asAvailable
}

/// What became of a start that goes about channels.
package enum ChannelStart: Sendable {
    /// It was decided about; these environments have no channel.
    case decided(StartAcceptance, without: [PushEnvironment])
    /// Nothing is stored: there is no free channel in these environments.
    case lacking([PushEnvironment])
}

/// A ledger whose starts can put devices on channels. Implemented by the store.
package protocol ChannelStartLedger: NotificationLedger {
    /// As `accept(_:application:)`; channels are taken in the same transaction.
    func accept(_ start: StartCommand, application: Application, channels: ChannelDemand) async throws(StorageError)
        -> ChannelStart
}
