/// Apple's rules for the header fields, apart from authorisation.
///
/// Source: Apple, "Sending notification requests to APNs".
enum HeaderRules {
    /// Longest `apns-collapse-id`, in bytes.
    static let collapseIDByteCount = 64
    /// Largest payload, in bytes, of every push type but VoIP.
    static let payloadByteCount = 4096
    /// Largest payload of a VoIP push, in bytes.
    static let voicePayloadByteCount = 5120
    /// What follows the bundle identifier in the topic of a Live Activity.
    static let liveActivitySuffix = ".push-type.liveactivity"
    /// The values of `apns-push-type`, with the suffix each wants behind the bundle identifier.
    static let topicSuffixes = [
        "alert": "", "background": "", "complication": ".complication", "controls": ".push-type.controls",
        "fileprovider": ".pushkit.fileprovider", "liveactivity": liveActivitySuffix, "location": ".location-query", "mdm": "",
        "pushtotalk": ".voip-ptt", "voip": ".voip", "widgets": ".push-type.widgets",
    ]

    /// The first rule the fields break; nil when they break none.
    static func firstViolation(of push: PushRequest) -> Reason? {
        if let text = push.messageID, !isCanonicalUUID(text) { return .badMessageID }
        if let text = push.expiration, !isExpiration(text) { return .badExpirationDate }
        if let text = push.priority, !isPriority(text, pushType: push.pushType) { return .badPriority }
        if let text = push.collapseID, text.utf8.count > collapseIDByteCount { return .badCollapseID }
        if let text = push.pushType, topicSuffixes[text] == nil { return .invalidPushType }
        return topicViolation(topic: push.topic, pushType: push.pushType)
    }

    /// The size rule: a body there must be, and it must fit.
    static func bodyViolation(of push: PushRequest) -> Reason? {
        if push.body.isEmpty { return .payloadEmpty }
        let limit = push.pushType == "voip" ? voicePayloadByteCount : payloadByteCount
        return push.body.count > limit ? .payloadTooLarge : nil
    }

    /// The bundle identifier in a topic: what is left without the suffix of the push type.
    static func bundleID(ofTopic topic: String, pushType: String?) -> String {
        let suffix = topicSuffixes[pushType ?? "liveactivity"] ?? ""
        return topic.hasSuffix(suffix) ? String(topic.dropLast(suffix.count)) : topic
    }

    private static func topicViolation(topic: String?, pushType: String?) -> Reason? {
        guard let topic, !topic.isEmpty else { return .missingTopic }
        guard topic.utf8.allSatisfy(isTopicByte), !topic.hasPrefix("."), !topic.hasSuffix(".") else { return .badTopic }
        guard let pushType, let suffix = topicSuffixes[pushType] else { return nil }
        guard topic.hasSuffix(suffix), topic.utf8.count > suffix.utf8.count else { return .topicDisallowed }
        // A suffix written twice, or an alert sent to the topic of Live Activities, names no application.
        let bundle = topic.dropLast(suffix.count)
        return topicSuffixes.values.contains { !$0.isEmpty && bundle.hasSuffix($0) } ? .topicDisallowed : nil
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// 8-4-4-4-12 hexadecimal digits; Apple documents lower case, and takes both.
    static func isCanonicalUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        for (position, byte) in text.utf8.enumerated() {
            switch position {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return false }
            default: guard isHexadecimalDigit(byte) else { return false }
            }
        }
        return true
    }

    private static func isHexadecimalDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// Whole seconds since 1970, zero included.
    static func isExpiration(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") } && Int64(text) != nil
    }

    /// 10, 5 and 1; a Live Activity knows no 1, a background push no 10.
    private static func isPriority(_ text: String, pushType: String?) -> Bool {
        switch (text, pushType) {
        case ("10", "background"), ("1", "liveactivity"): false
        case ("10", _), ("5", _), ("1", _): true
        default: false
        }
    }
}
