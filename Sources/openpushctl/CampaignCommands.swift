import Gateway
import JSON
import Security
import Store

/// The commands that work on broadcast campaigns. Their channels are made and deleted by the daemons, within seconds.
extension Commands {
    static func createCampaign(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        let name = try arguments.take("name", expected: nameExpectation, displayName)
        let liveActivityID = arguments.takeOptional("live-activity-id")
        let segment = arguments.takeOptional("segment")
        let filters = arguments.takeOptional("filters")
        let environmentName = arguments.takeOptional("environment")
        try arguments.finish()
        let environment = environmentName.flatMap { PushEnvironment(name: $0) }
        guard environmentName == nil || environment != nil else {
            throw CommandArguments.Mistake(description: "--environment must be production or sandbox")
        }
        if let liveActivityID {
            do { _ = try FieldRule.identifier(liveActivityID) } catch {
                throw CommandArguments.Mistake(description: "--live-activity-id \(error)")
            }
        }
        let audience = try audience(segment: segment, filters: filters)
        return try await Session.run { session in
            let application = try await session.application(publicID)
            guard application.canBroadcast else {
                throw CommandFailure.data(
                    "app \(publicID) has no signing key of Apple's (.p8), which broadcast channels need; openpushctl app set adds one"
                )
            }
            let request = "\(UUID.random())"
            let campaign = NewCampaign(
                requestID: request, digest: SHA256.digest(Array(request.utf8)), liveActivityID: liveActivityID, name: name,
                createdBy: "openpushctl", audience: audience, environments: [environment ?? application.defaultEnvironment])
            switch try await session.store.createCampaign(campaign, application: application.id) {
            case .created(let created):
                return Report(
                    members: describe(created),
                    lines: [
                        "Campaign \(created.id) (\(name)) is created; a daemon makes its channel within seconds, "
                            + "and openpushctl campaign list shows it."
                    ])
            case .unknownSegments: throw CommandFailure.data("there is no segment \(segment ?? "")")
            case .takenLiveActivityID:
                throw CommandFailure.data("a campaign of the app is called \(liveActivityID ?? "") already")
            case .tooMany:
                throw CommandFailure.data(
                    "the app has \(CampaignLimits.campaignCount) campaigns; openpushctl campaign remove makes room")
            case .duplicateRequest: preconditionFailure("a random identifier is used once")
            }
        }
    }

    static func listCampaigns(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        try arguments.finish()
        return try await Session.run { session in
            let application = try await session.application(publicID)
            let campaigns = try await session.store.campaigns(of: application.id)
            return Report(
                members: [("campaigns", .list(campaigns.map(describe)))],
                lines: campaigns.map { campaign in
                    "\(campaign.id)  \(campaign.liveActivityID ?? "-")  \(campaign.name)  "
                        + "channel \(channels(of: campaign, separator: " "))  runs \(campaign.runningInstance ?? "-")"
                })
        }
    }

    static func removeCampaign(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        let name = try arguments.take("campaign")
        try arguments.finish()
        return try await Session.run { session in
            let application = try await session.application(publicID)
            guard let campaign = try await session.store.campaign(named: name, application: application.id) else {
                throw CommandFailure.data("there is no campaign \(name); openpushctl campaign list shows all")
            }
            switch try await session.store.removeCampaign(campaign, application: application.id) {
            case .removed, .unknown:
                return Report(
                    members: [("campaign_id", .text("\(campaign.id)")), ("removed", .flag(true))],
                    lines: ["Campaign \(campaign.id) is removed; a daemon deletes its channel within seconds."])
            case .isRunning(let instance):
                throw CommandFailure.data(
                    "instance \(instance) of campaign \(campaign.id) runs; end it first: POST /v1.0/live-activity/broadcast/end")
            }
        }
    }

    private static func audience(segment: String?, filters: String?) throws -> CampaignAudience {
        guard segment == nil || filters == nil else {
            throw CommandArguments.Mistake(description: "give --segment or --filters, or neither for everybody")
        }
        if let segment { return .segments(included: [UUID(segment).map { .id($0) } ?? .name(segment)], excluded: []) }
        guard let filters else { return .everybody(excluded: []) }
        return .filters(try Self.filters(filters))
    }

    private static func describe(_ campaign: Campaign) -> [(String, Report.Value)] {
        [
            ("campaign_id", .text("\(campaign.id)")), ("name", .text(campaign.name)),
            ("broadcast_live_activity_id", .text(campaign.liveActivityID ?? "\(campaign.id)")),
            ("created_by", .text(campaign.createdBy)), ("created_at", .number(campaign.createdAt.seconds)),
            ("channels", .text(channels(of: campaign, separator: ","))),
            ("running_instance", .text(campaign.runningInstance ?? "")),
        ]
    }

    /// `environment:identifier` of each, such as `production:dHN0`; a hyphen for none.
    private static func channels(of campaign: Campaign, separator: String) -> String {
        let channels = PushEnvironment.allCases.compactMap { environment in
            campaign.channels[environment].map { "\(environment.name):\($0)" }
        }
        return channels.isEmpty ? "-" : channels.joined(separator: separator)
    }
}
