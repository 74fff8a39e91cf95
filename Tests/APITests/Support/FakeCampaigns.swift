import Gateway
import Synchronization

@testable import API

/// A ledger of campaigns in memory: answers what a test sets, and notes what it was asked.
final class FakeCampaigns: CampaignLedger, CampaignChannelMaker {
    struct State {
        /// By what was counted: `start`, `update`, `update of match` and so on.
        var rates: [String: RateDecision] = [:]
        var admitted: [String] = []
        var campaigns: [String: Campaign] = ["match": FakeCampaigns.campaign]
        var creation = CampaignCreation.created(FakeCampaigns.campaign)
        var created: [NewCampaign] = []
        /// What Apple makes when it is asked; nil when it does not.
        var channel: String?
        /// Campaign and environment of each channel that was asked for.
        var made: [String] = []
        var start = BroadcastStartAcceptance.accepted
        var starts: [StoredBroadcastStart] = []
        /// Nil accepts for the instance that is named, or `newest`.
        var update: BroadcastUpdateAcceptance?
        var updates: [(update: BroadcastUpdate, command: UpdateCommand)] = []
    }

    static let campaign = campaign(channels: [.production: "AAEC"])

    static func campaign(channels: [PushEnvironment: String]) -> Campaign {
        Campaign(
            number: 3, id: UUID(high: 0x1111_2222_3333_4444, low: 0x8555_6666_7777_8888), liveActivityID: "match", name: "Final",
            createdBy: "person@example.com", audience: .segments(included: ["All"], excluded: []),
            createdAt: UnixMilliseconds(rawValue: 0), channels: channels, runningInstance: nil)
    }

    private let ports: FakePorts
    private let state = Mutex(State())

    /// - Parameter ports: fail, and then this fails too.
    init(ports: FakePorts) { self.ports = ports }

    func with<Value: Sendable>(_ body: (inout sending State) -> sending Value) -> Value { state.withLock(body) }

    private func check() throws(StorageError) {
        if let failure = ports.with({ $0.failure ?? $0.failureBehindDirectory }) { throw failure }
    }

    func makeNow(ofCampaign campaign: Int64, in place: ChannelPlace, timeout: Duration) async throws(StorageError) -> Bool {
        with { state in
            state.made.append("\(campaign) \(place.environment.name)")
            guard let channel = state.channel, let known = state.campaigns["\(Self.campaign.id)"] else { return false }
            var channels = known.channels
            channels[place.environment] = channel
            state.campaigns["\(known.id)"] = Self.campaign(channels: channels)
            return true
        }
    }

    private func admit(_ name: String) -> RateDecision {
        with {
            $0.admitted.append(name)
            return $0.rates[name] ?? .admitted
        }
    }

    func admit(_ call: CampaignCall, of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try check()
        return admit("\(call)")
    }
    func admit(_ call: CampaignCall, of campaign: Campaign, application: ApplicationID)
        async throws(StorageError) -> RateDecision
    {
        try check()
        return admit("\(call) of \(campaign.liveActivityID ?? "")")
    }
    func campaign(named name: String, application: ApplicationID) async throws(StorageError) -> Campaign? {
        try check()
        return with { $0.campaigns[name] }
    }
    func campaigns(of application: ApplicationID) async throws(StorageError) -> [Campaign] {
        try check()
        return with { Array($0.campaigns.values) }
    }
    func createCampaign(_ campaign: NewCampaign, application: ApplicationID) async throws(StorageError) -> CampaignCreation {
        try check()
        return with {
            $0.created.append(campaign)
            return $0.creation
        }
    }
    func removeCampaign(_ campaign: Campaign, application: ApplicationID) async throws(StorageError) -> CampaignRemoval {
        .unknown
    }
    func start(_ start: StoredBroadcastStart, application: Application) async throws(StorageError) -> BroadcastStartAcceptance {
        try check()
        return with {
            $0.starts.append(start)
            return $0.start
        }
    }
    func update(
        _ update: BroadcastUpdate, of campaign: Campaign, application: Application,
        command: @Sendable (String) -> UpdateCommand
    ) async throws(StorageError) -> BroadcastUpdateAcceptance {
        try check()
        let id = update.instanceID ?? "newest"
        let made = command(id)
        return with {
            $0.updates.append((update, made))
            return $0.update ?? .accepted(instanceID: id)
        }
    }
}
