import Gateway
import HTTP
import JSON

/// Creating broadcast campaigns in MoEngage's shape.
struct CampaignRoutes: Sendable {
    /// Names the workspace on the campaign routes.
    static let header = "MOE-APPKEY"

    let campaigns: Campaigns

    func create(_ request: HTTPRequest, _ authentication: WorkspaceAuthentication) async throws(Refusal) -> HTTPResponse {
        let application = try await authentication.application(of: request, header: Self.header)
        let campaign = try CampaignRequests.create(request, application: application)
        guard application.canBroadcast else { throw .broadcast(.noSigningKey) }
        let decision = try await Refusal.catching { () async throws(StorageError) in
            try await campaigns.create(campaign, application: application)
        }
        switch decision {
        case .rateLimited(let seconds): throw .rateLimited(retryAfterSeconds: seconds)
        case .withoutChannel: throw .broadcast(.noChannel)
        case .decided(.created(let campaign)): return Self.answer(campaign, application)
        case .decided(.duplicateRequest): throw .broadcast(.duplicateRequest)
        case .decided(.takenLiveActivityID):
            throw Self.problem(
                "basic_details.broadcast_live_activity_id", "a campaign of the workspace is called so already")
        case .decided(.unknownSegments(let segments)):
            throw .broadcast(
                .payload(
                    segments.map { segment in
                        PayloadDetail(
                            .value("there is no segment \(FieldError.shortened(segment.text))"),
                            target: "segmentation_details.\(Self.place(of: segment, in: campaign.audience)).filters")
                    }))
        case .decided(.tooMany): throw .broadcast(.tooManyCampaigns)
        }
    }

    private static func problem(_ target: String, _ text: String) -> Refusal {
        .broadcast(.payload([PayloadDetail(.value(text), target: target)]))
    }

    private static func place(of segment: SegmentReference, in audience: CampaignAudience) -> String {
        if case .segments(let included, _) = audience, included.contains(segment) { return "included_filters" }
        return "excluded_filters"
    }

    /// The members beside `campaign_id` are ours: what MoEngage calls the channel's is not public.
    private static func answer(_ campaign: Campaign, _ application: Application) -> HTTPResponse {
        .json(status: 200) { writer in
            writer.key("data")
            writer.beginObject()
            writer.member("campaign_id", "\(campaign.id)")
            writer.member("broadcast_live_activity_id", campaign.liveActivityID ?? "\(campaign.id)")
            writer.member("apns_channel_id", campaign.channels[application.defaultEnvironment] ?? campaign.channels.first?.value)
            writer.key("apns_channel_ids")
            writer.beginObject()
            for environment in PushEnvironment.allCases {
                if let channel = campaign.channels[environment] { writer.member(environment.name, channel) }
            }
            writer.endObject()
            writer.member("message", "success")
            writer.endObject()
        }
    }
}
