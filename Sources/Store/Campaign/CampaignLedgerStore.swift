package import Gateway
import PostgreSQL

extension Store: CampaignLedger {
    package func admit(_ call: CampaignCall, of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try await admit(call, campaign: 0, limit: call.limit, application: application)
    }

    package func admit(_ call: CampaignCall, of campaign: Campaign, application: ApplicationID)
        async throws(StorageError) -> RateDecision
    {
        try await admit(
            call, campaign: campaign.number, limit: CampaignLimits.updatesOfCampaignPerMinute, application: application)
    }

    private func admit(_ call: CampaignCall, campaign: Int64, limit: Int, application: ApplicationID)
        async throws(StorageError) -> RateDecision
    {
        let key: [Parameter] = [.application(application), .int16(call.rawValue), .int64(campaign)]
        let admitted = try await query(CampaignStatements.admit, key + [.int32(Int32(limit))])
        guard admitted.rowCount == 0 else { return .admitted }
        let wait = try await query(CampaignStatements.wait, key)
        return .refused(retryAfterSeconds: wait.rowCount == 1 ? Int(wait.int32(row: 0, column: 0)) : 1)
    }

    package func campaign(named name: String, application: ApplicationID) async throws(StorageError) -> Campaign? {
        try await readCampaign(named: name, application: application)
    }

    package func campaigns(of application: ApplicationID) async throws(StorageError) -> [Campaign] {
        try await readCampaigns(of: application)
    }

    package func createCampaign(_ campaign: NewCampaign, application: ApplicationID)
        async throws(StorageError) -> CampaignCreation
    {
        try await storeCampaign(campaign, application: application)
    }

    package func removeCampaign(_ campaign: Campaign, application: ApplicationID) async throws(StorageError) -> CampaignRemoval {
        try await transaction { connection in
            let locked = try await connection.query(
                CampaignStatements.lock, [.application(application), .int64(campaign.number)])
            guard locked.rowCount == 1 else { return .unknown }
            let found = try await connection.query(BroadcastStatements.newest, [.int64(campaign.number)])
            let clock = try await connection.query(BroadcastStatements.runningCount, [.int64(campaign.number)])
            if found.rowCount == 1, clock.int64(row: 0, column: 0) > 0 { return .isRunning(found.text(row: 0, column: 0)) }
            let key: [Parameter] = [.application(application), .int64(campaign.number)]
            // Intents first: one that becomes a channel meanwhile is released behind.
            _ = try await connection.run([
                StatementCall(CampaignStatements.forgetIntents, key), StatementCall(CampaignStatements.releaseChannels, key),
                StatementCall(CampaignStatements.forgetRates, key), StatementCall(CampaignStatements.remove, key),
            ])
            return .removed
        }
    }

    package func start(_ start: StoredBroadcastStart, application: Application)
        async throws(StorageError) -> BroadcastStartAcceptance
    {
        let (acceptance, superseded): (BroadcastStartAcceptance, [NotificationID]) = try await transaction { connection in
            try await self.startBroadcast(start, application: application.id, on: connection)
        }
        if !superseded.isEmpty { try await finish(superseded) }
        return acceptance
    }

    package func update(
        _ update: BroadcastUpdate, of campaign: Campaign, application: Application,
        command: @Sendable (String) -> UpdateCommand
    ) async throws(StorageError) -> BroadcastUpdateAcceptance {
        let (acceptance, superseded): (BroadcastUpdateAcceptance, [NotificationID]) = try await transaction { connection in
            try await self.updateBroadcast(update, of: campaign, application: application.id, command: command, on: connection)
        }
        if !superseded.isEmpty { try await finish(superseded) }
        return acceptance
    }
}
