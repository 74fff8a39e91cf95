/// What channels belong to: an app's bundle identifier in one of Apple's environments.
package struct ChannelPlace: Hashable, Sendable {
    package let application: Application
    package let environment: PushEnvironment
    /// Puts both together.
    package init(application: Application, environment: PushEnvironment) {
        self.application = application
        self.environment = environment
    }
}

/// Where the channels of a place stand.
package struct ChannelCensus: Hashable, Sendable {
    package let place: ChannelPlace
    /// Channels that wait for an activity.
    package var freeCount = 0
    package var usedCount = 0
    /// Channels to be deleted, and those of them that nobody deletes at the moment.
    package var leavingCount = 0
    package var deletableCount = 0
    /// Channels that were asked for and of which nobody knows yet whether they were made, and those of them whose time has passed.
    package var intendedCount = 0
    package var unresolvedCount = 0
    /// Channels whose activity is over.
    package var overCount = 0
    /// All that Apple counts for the bundle identifier, those of other apps and of other programs included.
    package var totalCount = 0
    /// Those of other programs.
    package var foreignCount = 0
    /// Campaigns that are to have a channel here and have none; some of them when they are many.
    package var lackingCampaigns: [Int64] = []
    /// Since Apple's list was last compared; nil when it never was.
    package var secondsSinceListing: Int64?

    /// A place without channels.
    package init(place: ChannelPlace) { self.place = place }

    /// How many more Apple lets the app have.
    package var leftCount: Int { max(0, ChannelPlan.channelLimit - totalCount) }
}

/// Something to be done about the channels of a place.
package enum ChannelTask: Hashable, Sendable {
    /// Compare what is stored with Apple's list.
    case list
    /// Give up what no start will take any more: the channels of an app that is switched off.
    case retireFree
    /// Give up channels whose activity has been over for so many seconds.
    case retireOver(lingerSeconds: Int64)
    case delete
    case make(Int)
    /// Make the channels of campaigns.
    case makeOfCampaigns([Int64])
}

/// Decides what is to be done about channels. A channel serves one activity: a phone that is still on it would show the next one's state as
/// the old one's, so it is deleted afterwards, and never used again. A campaign's serves its instances, one after the other.
package enum ChannelPlan {
    /// Channels of an app in an environment. Source: Apple.
    package static let channelLimit = 10_000
    /// Longest identifier of a channel that is taken, in bytes. Source: ours; Apple names none, 24 were seen.
    package static let identifierByteCount = 512
    /// Channels kept ready, an app and environment.
    package static let freeCount = 2
    /// Time between two comparisons with Apple's list.
    package static let listingSeconds: Int64 = 600
    /// An unanswered creation is looked into at the earliest so long after the last comparison.
    package static let unresolvedListingSeconds: Int64 = 30
    /// How long a channel stays after its activity is over: Apple keeps the end for phones that are away. Source: Apple, 8 hours.
    package static let lingerSeconds: Int64 = 8 * 3600
    /// The same once few are left. Apple still delivers what it keeps after the channel is gone, though nothing promises it.
    package static let shortLingerSeconds: Int64 = 60
    /// From so few left on, channels go soon.
    package static let fewLeftCount = 1_000

    /// What is to be done now, in this order.
    ///
    /// - Parameter isFirstLook: whether this process has not compared the place with Apple's list yet.
    package static func tasks(for census: ChannelCensus, isFirstLook: Bool) -> [ChannelTask] {
        var tasks: [ChannelTask] = []
        let isOn = census.place.application.usesChannels
        if isListingDue(census, isFirstLook: isFirstLook) { tasks.append(.list) }
        if !isOn, census.freeCount > 0 { tasks.append(.retireFree) }
        let isScarce = census.leftCount < fewLeftCount
        if census.overCount > 0 { tasks.append(.retireOver(lingerSeconds: isScarce ? shortLingerSeconds : lingerSeconds)) }
        if census.deletableCount > 0 || tasks.count > (tasks.first == .list ? 1 : 0) { tasks.append(.delete) }
        let missing = min(freeCount - census.freeCount - census.intendedCount, census.leftCount)
        if !census.lackingCampaigns.isEmpty { tasks.append(.makeOfCampaigns(census.lackingCampaigns)) }
        if isOn, missing > 0 { tasks.append(.make(missing)) }
        return tasks
    }

    private static func isListingDue(_ census: ChannelCensus, isFirstLook: Bool) -> Bool {
        guard let seconds = census.secondsSinceListing, !isFirstLook else { return true }
        return seconds >= listingSeconds || census.unresolvedCount > 0 && seconds >= unresolvedListingSeconds
    }
}

/// What a comparison with Apple's list makes of what is stored.
package struct ChannelComparison: Hashable, Sendable {
    /// Stored as ours, and not there any more.
    package var gone: [String] = []
    /// There, not known, and as many as creations of which nobody knows the outcome explain: ours, and to be deleted.
    package var ours: [String] = []
    /// There, not known, and made by somebody else, as far as anybody can tell.
    package var foreign: [String] = []
    /// Whether there are more unknown channels than creations in doubt: which of them are ours cannot be told.
    package var isAmbiguous = false

    /// Compares.
    ///
    /// - Parameters:
    ///   - listed: Apple's list.
    ///   - known: everything stored with an identifier, with whether it must be in the list.
    ///   - unresolvedCount: creations of which nobody knows whether they were carried out.
    package init(listed: [String], known: [String: Bool], unresolvedCount: Int) {
        let there = Set(listed)
        gone = known.filter { $0.value && !there.contains($0.key) }.map(\.key).sorted()
        let unknown = there.filter { known[$0] == nil }.sorted()
        if unknown.count <= unresolvedCount {
            ours = unknown
        } else {
            foreign = unknown
            isAmbiguous = unresolvedCount > 0
        }
    }
}
