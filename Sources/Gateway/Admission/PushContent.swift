/// What a push does to the Live Activity.
package enum ActivityEvent: Int16, Sendable {
    case start = 0
    case update = 1
    case end = 2

    /// How long after an activity's start on a device this event still reaches it, in seconds.
    package var windowSeconds: Int64 { self == .end ? ActivityWindow.endSeconds : ActivityWindow.updateSeconds }

    /// The name in requests, payloads and answers.
    package var name: String {
        switch self {
        case .start: "start"
        case .update: "update"
        case .end: "end"
        }
    }
}

/// The alert of a push in one language.
package struct LocalizedAlert: Hashable, Sendable {
    /// A language tag as the request spelt it, such as `en` or `pt-BR`.
    package let language: String
    /// The text of `headings`, never blank.
    package let title: String
    /// The text of `contents`; nil when the request has none for this language.
    package let body: String?
    /// Nil when the request has none; only MoEngage's do.
    package let subtitle: String?
    /// A JSON object in the place of `body`, byte for byte; nil for none. Only MoEngage's requests have it.
    package let bodyObject: [UInt8]?
    /// Puts one language's texts together.
    package init(language: String, title: String, body: String?, subtitle: String? = nil, bodyObject: [UInt8]? = nil) {
        self.language = language
        self.title = title
        self.body = body
        self.subtitle = subtitle
        self.bodyObject = bodyObject
    }
}

/// What Customer.io's SDKs need to know of a push, beside its content.
package struct InstanceMark: Hashable, Sendable {
    package let instance: InstanceID
    package let delivery: InstanceID
    /// Reverse DNS.
    package let notificationType: String
    /// Opened by a tap; nil for the app itself.
    package let deepLink: String?
    /// Puts them together.
    package init(instance: InstanceID, delivery: InstanceID, notificationType: String, deepLink: String?) {
        self.instance = instance
        self.delivery = delivery
        self.notificationType = notificationType
        self.deepLink = deepLink
    }
}

/// Everything of a push but its recipient and its `timestamp`; what is stored of a request, byte for byte.
package struct PushContent: Hashable, Sendable {
    /// What the push does.
    package let event: ActivityEvent
    /// The Swift type of the attributes; on a start only.
    package let attributesType: String?
    /// The JSON object of the attributes as it came in; on a start, and wherever an Android device may need them again.
    package let attributes: [UInt8]?
    /// The JSON object of the content state as it came in.
    package let contentState: [UInt8]
    /// The alert by language, `en` first; empty when the push is silent.
    package let alerts: [LocalizedAlert]
    /// The sound's name; nil when the request has none. Sounds only with an alert.
    package let sound: String?
    /// Seconds since 1970; nil when the request has none.
    package let staleDate: Int64?
    /// Seconds since 1970; on an end, and on any push of a broadcast campaign.
    package let dismissalDate: Int64?
    /// The JSON number as it came in; nil when the request has none.
    package let relevanceScore: [UInt8]?
    /// `apns-priority`: 5 or 10.
    package let priority: Int
    /// Which delivery of which live notification it is; nil in dialects that have none.
    package let instance: InstanceMark?
    /// Which instance of a broadcast campaign it is; nil in dialects that have none.
    package let campaign: CampaignMark?

    /// Puts together a validated request.
    package init(
        event: ActivityEvent, attributesType: String?, attributes: [UInt8]?, contentState: [UInt8], alerts: [LocalizedAlert],
        sound: String?, staleDate: Int64?, dismissalDate: Int64?, relevanceScore: [UInt8]?, priority: Int,
        instance: InstanceMark? = nil, campaign: CampaignMark? = nil
    ) {
        self.event = event
        self.attributesType = attributesType
        self.attributes = attributes
        self.contentState = contentState
        self.alerts = alerts
        self.sound = sound
        self.staleDate = staleDate
        self.dismissalDate = dismissalDate
        self.relevanceScore = relevanceScore
        self.priority = priority
        self.instance = instance
        self.campaign = campaign
    }
}
