/// The parts that a start, an update and an end have in common.
package struct BroadcastState: Sendable {
    /// The JSON object, byte for byte.
    package let contentState: [UInt8]
    package let alert: LocalizedAlert
    /// The name of the sound; nil for none.
    package let sound: String?
    /// Seconds since 1970; nil when the request has none.
    package let staleDate: Int64?
    package let dismissalDate: Int64?

    /// Puts a validated request together.
    package init(contentState: [UInt8], alert: LocalizedAlert, sound: String?, staleDate: Int64?, dismissalDate: Int64?) {
        self.contentState = contentState
        self.alert = alert
        self.sound = sound
        self.staleDate = staleDate
        self.dismissalDate = dismissalDate
    }
}

/// A start that passed validation.
package struct BroadcastStart: Sendable {
    /// The campaign: its identifier, or what its maker called it.
    package let campaign: String
    /// Nil for one that is made.
    package let instanceID: String?
    package let attributesType: String
    /// The JSON object, byte for byte.
    package let attributes: [UInt8]
    package let state: BroadcastState

    /// Puts a validated request together.
    package init(campaign: String, instanceID: String?, attributesType: String, attributes: [UInt8], state: BroadcastState) {
        self.campaign = campaign
        self.instanceID = instanceID
        self.attributesType = attributesType
        self.attributes = attributes
        self.state = state
    }
}

/// An update or end that passed validation.
package struct BroadcastUpdate: Sendable {
    /// The campaign: its identifier, or what its maker called it.
    package let campaign: String
    /// Nil for the campaign's newest.
    package let instanceID: String?
    /// `update` or `end`.
    package let event: ActivityEvent
    package let state: BroadcastState
    /// SHA-256 of the request, 32 bytes: tells one that came twice.
    package let digest: [UInt8]

    /// Puts a validated request together.
    package init(campaign: String, instanceID: String?, event: ActivityEvent, state: BroadcastState, digest: [UInt8]) {
        self.campaign = campaign
        self.instanceID = instanceID
        self.event = event
        self.state = state
        self.digest = digest
    }
}

/// Why a broadcast is not made; nothing is stored.
package enum BroadcastRefusal: Hashable, Sendable {
    case unknownCampaign
    /// The app has no signing key of Apple's, and only with one can a channel be used.
    case noSigningKey
    /// A start under an instance that was used before, or the instance's latest request again.
    case duplicate
    /// The instance does not run.
    case notRunning
    /// The instance was to be gone at a time that has come, or a start says such a time.
    case dismissed
    /// As many instances of the campaign run as may.
    case tooManyInstances
    /// A segment of the campaign's audience no longer exists.
    case unknownAudience
}

/// What became of a start, update or end.
package enum BroadcastDecision: Hashable, Sendable {
    case accepted(instanceID: String)
    case refused(BroadcastRefusal)
    /// A call after this many whole seconds passes.
    case rateLimited(retryAfterSeconds: Int)
    /// The push would be larger than that many bytes.
    case tooLarge(limit: Int)
    /// The app has too many starts that have not finished.
    case overloaded
}
