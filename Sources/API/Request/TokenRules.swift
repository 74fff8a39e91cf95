import Gateway
import JSON

/// Tokens of devices, which the services write differently: APNs' and ActivityKit's are hexadecimal digits, FCM's are texts.
extension FieldRule {
    /// Longest token that is not hexadecimal, in UTF-8 bytes; Firebase promises no length, and its messages end at this one.
    static let registrationTokenByteCount = 1_024

    /// The token that names a device: FCM's on Android; APNs' on iOS, or FCM's where that is in front.
    ///
    /// - Parameter mayBeRelayed: whether FCM may be in front of APNs.
    static func deviceToken(
        _ value: JSONValue, of platform: DevicePlatform, mayBeRelayed: Bool
    ) throws(FieldProblem) -> [UInt8] {
        // FCM's have a colon in them.
        let isRelayed = mayBeRelayed && value.string?.utf8.contains(UInt8(ascii: ":")) == true
        let isFromFCM = platform == .android || isRelayed
        return try isFromFCM ? registrationToken(value) : token(value)
    }

    /// The token that starts or updates are pushed to: ActivityKit's on iOS, FCM's one for everything on Android.
    static func activityToken(_ value: JSONValue, of platform: DevicePlatform) throws(FieldProblem) -> [UInt8] {
        try platform == .android ? registrationToken(value) : token(value)
    }

    /// A device's token where nobody says of which platform: the bytes of a hexadecimal one, and the text of any other.
    static func deviceToken(_ value: JSONValue) throws(FieldProblem) -> [UInt8] {
        if let token = try? token(value) { return token }
        return try registrationToken(value)
    }

    /// `ios` or `android`.
    static func platform(_ value: JSONValue) throws(FieldProblem) -> DevicePlatform {
        guard let platform = value.string.flatMap({ DevicePlatform(name: $0) }) else { throw .notOneOf("\"ios\" or \"android\"") }
        return platform
    }

    private static func registrationToken(_ value: JSONValue) throws(FieldProblem) -> [UInt8] {
        let text = try string(value)
        let byteCount = text.utf8.count
        guard byteCount > 0 else { throw .empty }
        guard byteCount <= registrationTokenByteCount else {
            throw .tooLong(actual: byteCount, limit: registrationTokenByteCount, unit: .bytes)
        }
        return Array(text.utf8)
    }
}

extension FieldChecks {
    /// `platform` and `push_token`: which device a request of `/v1` is about. iOS unless it is said.
    mutating func device(of application: Application) -> (platform: DevicePlatform, pushToken: [UInt8]?) {
        let platform = optional("platform", FieldRule.platform) ?? .ios
        return (platform, pushToken(of: platform, application))
    }

    /// `push_token` of a device on that platform.
    mutating func pushToken(of platform: DevicePlatform, _ application: Application) -> [UInt8]? {
        required("push_token") { value throws(FieldProblem) in
            try FieldRule.deviceToken(value, of: platform, mayBeRelayed: application.relaysThroughFCM)
        }
    }

    /// `token`, to which activities of a device on that platform are pushed.
    mutating func activityToken(of platform: DevicePlatform) -> [UInt8]? {
        required("token") { value throws(FieldProblem) in try FieldRule.activityToken(value, of: platform) }
    }
}
