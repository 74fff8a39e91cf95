/// A broadcast campaign: who its starts go to, and the channels that its instances share.
package struct Campaign: Sendable {
    /// The internal number.
    package let number: Int64
    package let id: UUID
    /// What the caller calls it in starts, updates and ends, beside `id`; nil when it chose nothing.
    package let liveActivityID: String?
    /// For people.
    package let name: String
    package let createdBy: String
    /// Who a start goes to; nil when a segment of it no longer exists.
    package let audience: Audience?
    package let createdAt: UnixMilliseconds
    /// The identifiers of its broadcast channels as Apple writes them.
    package let channels: [PushEnvironment: String]
    /// The instance that runs; nil when none does.
    package let runningInstance: String?

    /// Puts together what the store holds.
    package init(
        number: Int64, id: UUID, liveActivityID: String?, name: String, createdBy: String, audience: Audience?,
        createdAt: UnixMilliseconds, channels: [PushEnvironment: String], runningInstance: String?
    ) {
        self.number = number
        self.id = id
        self.liveActivityID = liveActivityID
        self.name = name
        self.createdBy = createdBy
        self.audience = audience
        self.createdAt = createdAt
        self.channels = channels
        self.runningInstance = runningInstance
    }
}

/// What names a segment: a name that is looked up once, or the identifier, which a new name does not change.
package enum SegmentReference: Hashable, Sendable {
    case name(String)
    case id(UUID)

    /// The name or the identifier.
    package var text: String {
        switch self {
        case .name(let name): name
        case .id(let id): "\(id)"
        }
    }
}

/// Who the starts of a new campaign go to.
package enum CampaignAudience: Sendable {
    /// Everybody but the devices in these segments.
    case everybody(excluded: [SegmentReference])
    /// Devices in any of the included segments and in none of the excluded ones.
    case segments(included: [SegmentReference], excluded: [SegmentReference])
    /// The JSON array of filters as it came in; it parses.
    case filters([UInt8])
}

/// A campaign that passed validation.
package struct NewCampaign: Sendable {
    /// What makes it one campaign, however often it is asked for.
    package let requestID: String
    /// SHA-256 of the request, 32 bytes.
    package let digest: [UInt8]
    package let liveActivityID: String?
    package let name: String
    package let createdBy: String
    package let audience: CampaignAudience
    /// Where it gets channels.
    package let environments: [PushEnvironment]

    /// Puts a validated request together.
    package init(
        requestID: String, digest: [UInt8], liveActivityID: String?, name: String, createdBy: String, audience: CampaignAudience,
        environments: [PushEnvironment]
    ) {
        self.requestID = requestID
        self.digest = digest
        self.liveActivityID = liveActivityID
        self.name = name
        self.createdBy = createdBy
        self.audience = audience
        self.environments = environments
    }
}

/// What became of a new campaign.
package enum CampaignCreation: Sendable {
    /// Stored, now or when the same was asked for before.
    case created(Campaign)
    /// The request's identifier was used for something else.
    case duplicateRequest
    /// A campaign of the app is called so already.
    case takenLiveActivityID
    case unknownSegments([SegmentReference])
    /// The app has `CampaignLimits.campaignCount` campaigns.
    case tooMany
}

/// Bounds of campaigns and their broadcasts.
package enum CampaignLimits {
    /// Largest push through a channel, in bytes. Source: Apple; MoEngage's specification.
    package static let payloadByteCount = 5_120
    /// Instances of one campaign that may run at once: they share a channel, on which a push reaches the cards of all of them.
    package static let runningInstanceCount = 1
    /// Campaigns of one app: each has a channel, of which Apple allows 10,000.
    package static let campaignCount = 1_000
    /// Starts of one workspace in any 60 s. Source: MoEngage's specification.
    package static let startsPerMinute = 5
    /// Updates of one workspace in any 60 s, and as many ends. Source: MoEngage's specification.
    package static let updatesPerMinute = 500
    /// Updates of one campaign in any 60 s, and as many ends. Source: MoEngage's specification.
    package static let updatesOfCampaignPerMinute = 5
    /// Campaigns that a workspace may create in any 60 s. Source: MoEngage's documentation.
    package static let creationsPerMinute = 5
}

/// A route with a rate of its own.
package enum CampaignCall: Int16, CaseIterable, Sendable {
    case start = 0
    case update = 1
    case end = 2
    case create = 3

    /// The call that pushes an event.
    package init(_ event: ActivityEvent) {
        switch event {
        case .start: self = .start
        case .update: self = .update
        case .end: self = .end
        }
    }

    /// Most of a workspace in any 60 s.
    package var limit: Int {
        switch self {
        case .start: CampaignLimits.startsPerMinute
        case .update, .end: CampaignLimits.updatesPerMinute
        case .create: CampaignLimits.creationsPerMinute
        }
    }
}
