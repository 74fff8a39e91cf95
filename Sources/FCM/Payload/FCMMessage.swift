import Gateway
import JSON
import Security

/// Writes the body of `messages:send` for the devices of one batch.
///
/// Source: Firebase, "REST Resource: projects.messages"; for Live Activities behind FCM, "Get started with Live Activity".
struct FCMMessage {
    /// Longest time to live, in seconds. Source: Google, four weeks.
    static let longestSeconds: Int64 = 2_419_200

    private let service: PushService
    private let priority: Int
    private let expiresAt: Int64
    private let collapseID: String?

    init(batch: PushBatch) {
        service = batch.service
        priority = batch.priority
        expiresAt = batch.expiresAt
        collapseID = batch.collapseID
    }

    /// The message of one device; nil when its token is none of this service.
    func bytes(token: ArraySlice<UInt8>, body: [UInt8], wallSeconds: Int64) -> [UInt8]? {
        var message = JSONWriter()
        message.beginObject()
        message.key("message")
        message.beginObject()
        if service == .fcmToAPNs {
            guard let relayed = RelayedToken(stored: token), let registration = Self.text(relayed.registrationToken) else {
                return nil
            }
            message.member("token", registration)
            writeApple(relayed.activityToken, body, to: &message)
        } else {
            guard let registration = Self.text(token) else { return nil }
            message.member("token", registration)
            message.key("data")
            message.raw(body)
            writeAndroid(wallSeconds: wallSeconds, to: &message)
        }
        message.endObject()
        message.endObject()
        return message.bytes
    }

    private func writeAndroid(wallSeconds: Int64, to message: inout JSONWriter) {
        message.key("android")
        message.beginObject()
        message.member("priority", priority >= 10 ? "HIGH" : "NORMAL")
        message.member("ttl", "\(min(max(expiresAt - wallSeconds, 0), Self.longestSeconds))s")
        message.endObject()
    }

    private func writeApple(_ activityToken: [UInt8], _ body: [UInt8], to message: inout JSONWriter) {
        message.key("apns")
        message.beginObject()
        message.member("live_activity_token", Hexadecimal.encode(activityToken))
        message.key("headers")
        message.beginObject()
        message.member("apns-push-type", "liveactivity")
        message.member("apns-priority", String(priority))
        message.member("apns-expiration", String(expiresAt))
        if let collapseID { message.member("apns-collapse-id", collapseID) }
        message.endObject()
        message.key("payload")
        message.raw(body)
        message.endObject()
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String? {
        bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }
}
