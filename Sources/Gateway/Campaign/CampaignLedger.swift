/// A start with everything the ledger stores of it.
package struct StoredBroadcastStart: Sendable {
    package let campaign: Campaign
    package let instanceID: String
    /// Seconds since 1970; nil for none.
    package let dismissalDate: Int64?
    /// What is pushed; its `activityID` is the instance's identifier.
    package let command: StartCommand

    /// Puts it together.
    package init(campaign: Campaign, instanceID: String, dismissalDate: Int64?, command: StartCommand) {
        self.campaign = campaign
        self.instanceID = instanceID
        self.dismissalDate = dismissalDate
        self.command = command
    }
}

/// What became of a start in the ledger.
package enum BroadcastStartAcceptance: Sendable {
    case accepted
    case refused(BroadcastRefusal)
    /// The app has too many starts that have not finished; nothing is stored.
    case overloaded
}

/// What became of an update or end in the ledger.
package enum BroadcastUpdateAcceptance: Sendable {
    case accepted(instanceID: String)
    case refused(BroadcastRefusal)
}

/// Where campaigns and their instances are kept. Every method that stores something returns after the commit.
package protocol CampaignLedger: Sendable {
    /// Counts one call of a workspace against the limit shared by all daemons; a refused call is not counted.
    func admit(_ call: CampaignCall, of application: ApplicationID) async throws(StorageError) -> RateDecision
    /// Counts one update or end of a campaign, likewise.
    func admit(_ call: CampaignCall, of campaign: Campaign, application: ApplicationID) async throws(StorageError) -> RateDecision
    /// The campaign of that identifier, or that its maker called so; nil when there is none.
    func campaign(named name: String, application: ApplicationID) async throws(StorageError) -> Campaign?
    /// All campaigns of an app, the oldest first.
    func campaigns(of application: ApplicationID) async throws(StorageError) -> [Campaign]
    /// Stores a campaign; its channels are still to be made.
    func createCampaign(_ campaign: NewCampaign, application: ApplicationID) async throws(StorageError) -> CampaignCreation
    /// Removes a campaign that has no running instance; false when there is none of that number.
    func removeCampaign(_ campaign: Campaign, application: ApplicationID) async throws(StorageError) -> CampaignRemoval
    /// Stores the instance and the start with its fan-out in one transaction.
    func start(_ start: StoredBroadcastStart, application: Application) async throws(StorageError) -> BroadcastStartAcceptance
    /// Stores an update or end of the instance it names, or of the campaign's newest.
    ///
    /// - Parameter command: makes the push for the instance that was found.
    func update(
        _ update: BroadcastUpdate, of campaign: Campaign, application: Application,
        command: @Sendable (String) -> UpdateCommand
    ) async throws(StorageError) -> BroadcastUpdateAcceptance
}

/// What became of a campaign's removal.
package enum CampaignRemoval: Sendable {
    case removed
    case unknown
    /// This instance of it runs.
    case isRunning(String)
}
