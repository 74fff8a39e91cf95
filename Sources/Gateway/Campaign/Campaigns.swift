/// Makes the channels of campaigns. Implemented by the keeper of channels.
package protocol CampaignChannelMaker: Sendable {
    /// Makes one, unless the campaign has one there; false when it could not be made in that time.
    func makeNow(ofCampaign campaign: Int64, in place: ChannelPlace, timeout: Duration) async throws(StorageError) -> Bool
}

extension ChannelKeeper: CampaignChannelMaker {}

/// What became of a campaign that was asked for.
package enum CampaignDecision: Sendable {
    /// A call after this many whole seconds passes.
    case rateLimited(retryAfterSeconds: Int)
    case decided(CampaignCreation)
    /// It is stored, and a channel of it could not be made yet; the keeper goes on trying, and so does the same request.
    case withoutChannel
}

/// Creates campaigns: stores them, and has their channels made.
package struct Campaigns: Sendable {
    /// How long a request waits for Apple's management, for each environment.
    static let makingTimeout = Duration.seconds(2)

    private let ledger: any CampaignLedger
    private let channels: any CampaignChannelMaker

    /// Puts the ports together.
    package init(ledger: any CampaignLedger, channels: any CampaignChannelMaker) {
        self.ledger = ledger
        self.channels = channels
    }

    /// Creates a campaign, or answers the one that the same request created.
    package func create(_ campaign: NewCampaign, application: Application) async throws(StorageError) -> CampaignDecision {
        if case .refused(let seconds) = try await ledger.admit(.create, of: application.id) {
            return .rateLimited(retryAfterSeconds: seconds)
        }
        let creation = try await ledger.createCampaign(campaign, application: application.id)
        guard case .created(let created) = creation else { return .decided(creation) }
        let missing = campaign.environments.filter { created.channels[$0] == nil }
        guard !missing.isEmpty else { return .decided(creation) }
        for environment in missing {
            let place = ChannelPlace(application: application, environment: environment)
            _ = try await channels.makeNow(ofCampaign: created.number, in: place, timeout: Self.makingTimeout)
        }
        // Another daemon may have made it, or may be making it now.
        guard let complete = try await ledger.campaign(named: "\(created.id)", application: application.id),
            campaign.environments.allSatisfy({ complete.channels[$0] != nil })
        else { return .withoutChannel }
        return .decided(.created(complete))
    }
}
