import Gateway
import HTTP

/// The header fields all pushes of a batch share. Source: Apple, "Sending notification requests to APNs".
enum PushTemplate {
    private static let topicSuffix = ".push-type.liveactivity"

    static func make(_ batch: PushBatch, token: ProviderToken, authority: String) -> HTTP2RequestTemplate {
        var fields = [
            HTTP2Field("authorization", "bearer " + token.token),
            HTTP2Field("apns-topic", topic(of: batch.application)),
            HTTP2Field("apns-push-type", "liveactivity"),
            HTTP2Field("apns-priority", String(batch.priority)),
            HTTP2Field("apns-expiration", String(batch.expiresAt)),
        ]
        if let collapseID = batch.collapseID { fields.append(HTTP2Field("apns-collapse-id", collapseID)) }
        return HTTP2RequestTemplate(
            method: "POST", authority: authority, identifierName: "apns-id", fields: fields, bodies: batch.bodies)
    }

    /// The topic of an app's Live Activities; a bundle identifier that ends with the suffix already is left alone.
    static func topic(of application: Application) -> String {
        guard let bundleID = application.bundleID else { preconditionFailure("the sender takes apps with a bundle identifier") }
        return bundleID.hasSuffix(topicSuffix) ? bundleID : bundleID + topicSuffix
    }
}
