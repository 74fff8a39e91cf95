import JSON
import Security

/// What is wrong with the body of `messages:send`, as FCM finds it.
struct GoogleComplaint: Error, Equatable {
    /// Where; nil when it is not about one field.
    let field: String?
    let description: String
}

/// The parts of a message that are looked at.
struct GoogleMessageShape {
    /// Most bytes of names and values of `data`. Source: Google, "About FCM messages".
    private static let dataByteCount = 4096
    /// The registration token.
    let token: String

    init(_ body: [UInt8]) throws(GoogleComplaint) {
        guard let root = try? JSONDocument(parsing: body).root, root.kind == .object else {
            throw GoogleComplaint(field: nil, description: "Invalid JSON payload received.")
        }
        try Self.check(root, "", knows: ["message", "validateOnly", "validate_only"])
        guard let message = root["message"], message.kind == .object else {
            throw GoogleComplaint(field: "message", description: "Message is missing")
        }
        try Self.check(
            message, "message", knows: ["token", "data", "android", "apns", "notification", "fcm_options", "fcmOptions"])
        guard let token = message["token"]?.string, !token.isEmpty else {
            throw GoogleComplaint(field: "message", description: "Recipient of the message is not set.")
        }
        self.token = token
        if let data = message["data"] { try Self.checkData(data) }
        if let android = message["android"] { try Self.checkAndroid(android) }
        if let apns = message["apns"] { try Self.checkApple(apns) }
    }

    private static func check(_ value: JSONValue, _ place: String, knows names: Set<String>) throws(GoogleComplaint) {
        for member in value.members where !names.contains(member.key) {
            let place = place.isEmpty ? member.key : "\(place).\(member.key)"
            throw GoogleComplaint(field: place, description: "Invalid JSON payload received. Unknown name \"\(member.key)\"")
        }
    }

    private static func checkData(_ data: JSONValue) throws(GoogleComplaint) {
        guard data.kind == .object else { throw GoogleComplaint(field: "message.data", description: "not a map") }
        var count = 0
        for (name, value) in data.members {
            guard let text = value.string else {
                throw GoogleComplaint(field: "message.data[\(name)].value", description: "Invalid value (TYPE_STRING)")
            }
            let isReserved =
                ["from", "message_type", "collapse_key"].contains(name) || name.hasPrefix("google.") || name.hasPrefix("gcm.")
            guard !isReserved else {
                throw GoogleComplaint(field: "message.data", description: "Invalid data payload key: \(name)")
            }
            count += name.utf8.count + text.utf8.count
        }
        guard count <= dataByteCount else { throw GoogleComplaint(field: nil, description: "Android message is too big") }
    }

    private static func checkAndroid(_ android: JSONValue) throws(GoogleComplaint) {
        try check(
            android, "message.android",
            knows: ["priority", "ttl", "data", "collapse_key", "restricted_package_name", "direct_boot_ok", "notification"])
        if let priority = android["priority"], !["NORMAL", "HIGH"].contains(priority.string) {
            throw GoogleComplaint(field: "message.android.priority", description: "Invalid value")
        }
        if let ttl = android["ttl"] {
            let text = ttl.string ?? ""
            guard text.hasSuffix("s"), let seconds = Int64(text.dropLast()), (0...2_419_200).contains(seconds) else {
                throw GoogleComplaint(field: "message.android.ttl", description: "Invalid duration")
            }
        }
    }

    private static func checkApple(_ apns: JSONValue) throws(GoogleComplaint) {
        try check(
            apns, "message.apns", knows: ["headers", "payload", "live_activity_token", "liveActivityToken", "fcm_options"])
        if let headers = apns["headers"], !headers.members.allSatisfy({ $0.value.string != nil }) {
            throw GoogleComplaint(field: "message.apns.headers", description: "Invalid value (TYPE_STRING)")
        }
        if let payload = apns["payload"], payload["aps"]?.kind != .object {
            throw GoogleComplaint(field: "message.apns.payload", description: "APNs payload has no aps")
        }
        if let token = apns["live_activity_token"], token.string.flatMap({ Hexadecimal.decode($0) })?.isEmpty != false {
            throw GoogleComplaint(field: "message.apns.live_activity_token", description: "Invalid value")
        }
    }
}
