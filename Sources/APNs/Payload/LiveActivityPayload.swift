package import Gateway
import JSON

/// Writes the JSON body of a Live Activity push.
///
/// The bytes of `content-state`, `attributes` and `relevance-score` go in exactly as they came. Keys come in a fixed order,
/// so that equal pushes have equal bodies.
/// Source: Apple, "Starting and updating Live Activities with ActivityKit push notifications".
package struct LiveActivityPayload: PayloadRenderer {
    /// The renderer has no state.
    package init() {}

    package func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
        var body = JSONWriter()
        body.beginObject()
        body.key("aps")
        body.beginObject()
        body.member("timestamp", timestamp)
        body.member("event", content.event.name)
        body.literal("content-state", content.deviceContentState)
        if content.event == .start {
            if let attributesType = form.attributesType ?? content.attributesType {
                body.member("attributes-type", attributesType)
            }
            if let attributes = content.deviceAttributes { body.literal("attributes", attributes) }
        }
        if let alert { body.alert(alert, sound: content.sound) }
        if let staleDate = content.staleDate { body.member("stale-date", staleDate) }
        if let dismissalDate = content.dismissalDate { body.member("dismissal-date", dismissalDate) }
        if let relevanceScore = content.relevanceScore { body.literal("relevance-score", relevanceScore) }
        if content.event == .start {
            if let channelID = form.channelID {
                body.member("input-push-channel", channelID)
            } else {
                // Asks iOS 18 and later for an update token; older systems send one unasked and ignore the key.
                body.member("input-push-token", 1)
            }
        }
        body.endObject()
        body.endObject()
        return body.bytes
    }
}

extension JSONWriter {
    /// A member whose value is JSON already.
    fileprivate mutating func literal(_ name: String, _ value: [UInt8]) {
        key(name)
        raw(value)
    }

    /// The alert; a sound anywhere but inside it is ignored by ActivityKit.
    fileprivate mutating func alert(_ alert: LocalizedAlert, sound: String?) {
        key("alert")
        beginObject()
        member("title", alert.title)
        if let subtitle = alert.subtitle { member("subtitle", subtitle) }
        if let object = alert.bodyObject {
            literal("body", object)
        } else if let body = alert.body {
            member("body", body)
        }
        if let sound { member("sound", sound) }
        endObject()
    }
}
