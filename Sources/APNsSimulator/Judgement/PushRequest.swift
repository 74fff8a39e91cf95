import HTTP

/// One request as APNs reads it: the header fields it defines, found once.
struct PushRequest {
    /// What `:path` points at.
    enum Destination: Equatable {
        /// `/3/device/` followed by this text.
        case device(String)
        /// `/3/device` with nothing behind it.
        case nowhere
        /// No path that APNs knows.
        case unknown
    }

    let method: String
    let destination: Destination
    let body: [UInt8]
    private(set) var authorization: String?
    private(set) var topic: String?
    private(set) var pushType: String?
    private(set) var messageID: String?
    private(set) var expiration: String?
    private(set) var priority: String?
    private(set) var collapseID: String?
    /// Whether a field that APNs defines came twice.
    private(set) var repeatsField = false

    init(_ request: HTTPRequest) {
        method = request.method
        destination = PushRequest.destination(of: request.target)
        body = request.body
        for field in request.headers {
            switch field.name {
            case "authorization": take(field.value, into: \.authorization)
            case "apns-topic": take(field.value, into: \.topic)
            case "apns-push-type": take(field.value, into: \.pushType)
            case "apns-id": take(field.value, into: \.messageID)
            case "apns-expiration": take(field.value, into: \.expiration)
            case "apns-priority": take(field.value, into: \.priority)
            case "apns-collapse-id": take(field.value, into: \.collapseID)
            default: break
            }
        }
    }

    private mutating func take(_ value: String, into field: WritableKeyPath<PushRequest, String?>) {
        if self[keyPath: field] != nil { repeatsField = true } else { self[keyPath: field] = value }
    }

    static func destination(of path: String) -> Destination {
        let prefix = "/3/device"
        guard path.hasPrefix(prefix) else { return .unknown }
        let rest = path.dropFirst(prefix.count)
        if rest.isEmpty || rest == "/" { return .nowhere }
        guard rest.first == "/", !rest.dropFirst().utf8.contains(UInt8(ascii: "/")) else { return .unknown }
        return .device(String(rest.dropFirst()))
    }
}
