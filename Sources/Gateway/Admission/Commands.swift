/// A start that passed validation.
package struct StartCommand: Sendable {
    /// The app's own identifier of the activity.
    package let activityID: String
    /// The ActivityKit attributes type; names the start tokens to use.
    package let activityType: String
    /// What the operator calls the notification.
    package let name: String
    /// Who gets it.
    package let audience: Audience
    /// What they get.
    package let content: PushContent
    /// The caller's idempotency key and the SHA-256 of the body it came with; nil without a key.
    package let idempotency: IdempotencyKey?
    /// From when on it is not pushed any more, and APNs does not keep it for a phone, seconds since 1970; nil for what `PushLifetime` says, which
    /// is the longest.
    package let expiresAt: Int64?

    /// Puts together what a dialect validated.
    package init(
        activityID: String, activityType: String, name: String, audience: Audience, content: PushContent,
        idempotency: IdempotencyKey?, expiresAt: Int64? = nil
    ) {
        self.expiresAt = expiresAt
        self.activityID = activityID
        self.activityType = activityType
        self.name = name
        self.audience = audience
        self.content = content
        self.idempotency = idempotency
    }
}

/// An idempotency key with what tells one body from another.
package struct IdempotencyKey: Sendable {
    /// The key.
    package let key: UUID
    /// SHA-256 of the request body, 32 bytes.
    package let bodyDigest: [UInt8]
    /// Puts key and digest together.
    package init(key: UUID, bodyDigest: [UInt8]) {
        self.key = key
        self.bodyDigest = bodyDigest
    }
}

/// An update or an end that passed validation.
package struct UpdateCommand: Sendable {
    /// The app's own identifier of the activity.
    package let activityID: String
    /// What the operator calls the notification.
    package let name: String
    /// What the devices get; its event is `update` or `end`.
    package let content: PushContent
    /// From when on it is not pushed any more, and APNs does not keep it for a phone, seconds since 1970; nil for what `PushLifetime` says, which
    /// is the longest.
    package let expiresAt: Int64?

    /// Puts together what a dialect validated.
    package init(activityID: String, name: String, content: PushContent, expiresAt: Int64? = nil) {
        self.expiresAt = expiresAt
        self.activityID = activityID
        self.name = name
        self.content = content
    }
}
