import HTTP
import JSON
import Security

/// A request of broadcast channels as APNs reads it.
///
/// Sources: Apple, "Sending channel management requests to APNs" and "Sending broadcast push notification requests to APNs".
struct ChannelRequest {
    /// Which app, of the path.
    let bundleID: String
    /// nil for a method that the path does not know.
    let operation: ChannelOperation?
    let authorization: String?
    /// `apns-channel-id`.
    let channelID: String?
    /// `apns-request-id`.
    let requestID: String?
    let pushType: String?
    let priority: String?
    let expiration: String?
    /// Whether a field that APNs defines came twice.
    let repeatsField: Bool
    let body: [UInt8]

    /// Reads a request; nil for a path that has nothing to do with channels on this kind of port.
    init?(_ request: HTTPRequest, port: PortKind) {
        guard port == .management || request.target.hasPrefix("/4/") else { return nil }
        let segments = request.target.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        switch (port, segments.count, segments.dropFirst().first) {
        case (.push, 5, "4") where segments[2] == "broadcasts" && segments[3] == "apps":
            bundleID = segments[4]
            operation = request.method == "POST" ? .publish : nil
        case (.management, 5, "1") where segments[2] == "apps" && segments[4] == "channels":
            bundleID = segments[3]
            operation = ["POST": .create, "GET": .read, "DELETE": .delete][request.method]
        case (.management, 5, "1") where segments[2] == "apps" && segments[4] == "all-channels":
            bundleID = segments[3]
            operation = request.method == "GET" ? .list : nil
        default: return nil
        }
        body = request.body
        let defined: Set<String> = [
            "authorization", "apns-channel-id", "apns-request-id", "apns-push-type", "apns-priority", "apns-expiration",
        ]
        var fields: [String: String] = [:]
        var repeats = false
        for field in request.headers where defined.contains(field.name) {
            if fields.updateValue(field.value, forKey: field.name) != nil { repeats = true }
        }
        repeatsField = repeats
        authorization = fields["authorization"]
        channelID = fields["apns-channel-id"]
        requestID = fields["apns-request-id"]
        pushType = fields["apns-push-type"]
        priority = fields["apns-priority"]
        expiration = fields["apns-expiration"]
    }
}

/// What a listener of the simulator is for.
package enum PortKind: Sendable {
    /// Pushes to devices, and to channels.
    case push
    /// Channels are made and deleted there.
    case management
}

/// The rules that look at a request of channels alone.
///
/// Source: Apple, "Handling error responses from APNs" (broadcast).
enum ChannelRules {
    /// Largest message to a channel, in bytes.
    static let payloadByteCount = 5120
    /// Longest channel identifier believed, in characters; Apple names no size and was seen to use 24.
    static let identifierByteCount = 128

    /// The first rule the request breaks; nil when it breaks none. Whether the channel exists is asked later.
    static func firstViolation(of request: ChannelRequest) -> Reason? {
        if let text = request.requestID, !HeaderRules.isCanonicalUUID(text) { return .badMessageID }
        switch request.operation {
        case .create: return creationViolation(request.body)
        case .list: return nil
        case .read, .delete: return identifierViolation(request.channelID)
        case .publish:
            if let reason = identifierViolation(request.channelID) { return reason }
            guard let pushType = request.pushType else { return .missingPushType }
            if pushType.lowercased() != "liveactivity" { return .invalidPushType }
            if let priority = request.priority, !["5", "10"].contains(priority) { return .badPriority }
            guard let expiration = request.expiration, HeaderRules.isExpiration(expiration) else { return .badExpirationDate }
            if request.body.isEmpty { return .payloadEmpty }
            return request.body.count > payloadByteCount ? .payloadTooLarge : nil
        case nil: return .methodNotAllowed
        }
    }

    /// The policy of a body that asks for a channel; nil when it names none that exists.
    static func storagePolicy(_ body: [UInt8]) -> ChannelStoragePolicy? {
        (try? JSONDocument(parsing: body))?.root["message-storage-policy"]?.integer.flatMap(ChannelStoragePolicy.init)
    }

    private static func creationViolation(_ body: [UInt8]) -> Reason? {
        if body.isEmpty { return .payloadEmpty }
        guard let root = (try? JSONDocument(parsing: body))?.root, root.kind == .object else { return .badRequestPayload }
        guard let pushType = root["push-type"] else { return .missingPushType }
        guard pushType.string == "LiveActivity" else { return .invalidPushType }
        return storagePolicy(body) == nil ? .badRequestParameters : nil
    }

    private static func identifierViolation(_ identifier: String?) -> Reason? {
        guard let identifier, !identifier.isEmpty else { return .missingChannelID }
        let isRight = identifier.utf8.count <= identifierByteCount && Base64.decode(identifier) != nil
        return isRight ? nil : .badChannelID
    }
}
