import Gateway
import JSON
import Security

/// Reads one event as Customer.io's SDKs write it (customerio-ios 4.7.5, customerio-android). Members it does not know are left alone.
struct EventReader {
    /// Which kind of event a route takes, where the event itself need not say.
    enum Kind: String, Sendable {
        case track
        case identify
    }

    /// Where it is in the body, such as `batch[3].`; empty for the body itself.
    let path: String
    let event: JSONValue
    /// The time of an event that tells none, and the latest that one may have: seconds since 1970.
    let now: Int64

    private var properties: JSONValue? { event["properties"] }

    /// What it says.
    ///
    /// - Parameter kind: what the route says it is; nil when its `type` does.
    func read(as kind: Kind?) throws(DroppedEvent) -> ToldEvent {
        guard event.kind == .object else { throw DroppedEvent(String(path.dropLast()), .wrongKind(expected: "an object")) }
        switch kind?.rawValue ?? event["type"]?.string {
        case "identify": return try identify()
        case "track": return try track()
        case nil: throw DroppedEvent("\(path)type", .missing)
        default: throw DroppedEvent(.unused)
        }
    }

    /// A user without a device that could be pushed still has names.
    private func identify() throws(DroppedEvent) -> ToldEvent {
        let names = ProfileNames(user: try user(), names: names)
        let device: DeviceRegistration?
        do throws(DroppedEvent) {
            device = try userDevice()
        } catch {
            guard error.outcome == .noDevice, !names.names.isEmpty else { throw error }
            device = nil
        }
        return .identified(names, device: device)
    }

    private func track() throws(DroppedEvent) -> ToldEvent {
        guard let name = event["event"]?.string else { throw DroppedEvent("\(path)event", .missing) }
        switch name {
        case "Report Delivery Event": return try delivery()
        case "Device Created or Updated": return .device(try userDevice())
        case "Device Deleted":
            let user = try user()
            let alias = DeviceAlias(label: DeviceProfile.externalIDLabel, identifier: ExactText(user))
            return .userLeft(pushToken: try currentDevice().token, user: alias)
        case "Live Notification Token": return try token()
        case "Live Notification Event": return try report()
        default: throw DroppedEvent(.unused)
        }
    }

    // MARK: Who and which

    /// The user; an event without one is anonymous.
    private func user() throws(DroppedEvent) -> String {
        guard let value = event["userId"], !value.isNull, value.string?.isEmpty != true else { throw DroppedEvent(.anonymous) }
        return try checked(value, "userId") { value throws(FieldProblem) in try FieldRule.identifier(value) }
    }

    /// A device as events name it: by the token that APNs or FCM gave it.
    private struct Device {
        let token: [UInt8]
        let platform: DevicePlatform
    }

    /// The device the event comes from.
    private func currentDevice() throws(DroppedEvent) -> Device {
        let device = event["context"]?["device"]
        guard let token = device?["token"], !token.isNull else { throw DroppedEvent(.noDevice) }
        let platform = try platform(device?["type"])
        let name = try checked(token, "context.device.token") { value throws(FieldProblem) in
            // Events are read before it is known whose they are.
            try FieldRule.deviceToken(value, of: platform, mayBeRelayed: true)
        }
        return Device(token: name, platform: platform)
    }

    /// The device the event comes from, and whose it is.
    private func userDevice() throws(DroppedEvent) -> DeviceRegistration {
        let user = try user()
        return try registration(of: try currentDevice(), user: user)
    }

    /// The device that a live notification is on.
    private func namedDevice() throws(DroppedEvent) -> Device {
        let platform = try platform(properties?["platform"])
        let name = try required("deviceId") { value throws(FieldProblem) in
            try FieldRule.deviceToken(value, of: platform, mayBeRelayed: true)
        }
        return Device(token: name, platform: platform)
    }

    private func platform(_ value: JSONValue?) throws(DroppedEvent) -> DevicePlatform {
        guard let platform = value?.string.flatMap({ DevicePlatform(name: $0.lowercased()) }) else {
            throw DroppedEvent(.noDevice)
        }
        return platform
    }

    /// What the traits call the user by; names that do not fit are left out.
    private var names: [ExactText: String?] {
        var names: [ExactText: String?] = [:]
        for label in ProfileNames.labels {
            guard let value = event["traits"]?[label.text] else { continue }
            if value.isNull {
                names.updateValue(nil, forKey: label)
            } else if let name = try? FieldRule.identifier(value) {
                names.updateValue(name, forKey: label)
            }
        }
        return names
    }

    /// The device with what the event says of it. Names that do not fit, and what is only good to know, are left out.
    private func registration(of named: Device, user: String) throws(DroppedEvent) -> DeviceRegistration {
        var device = DeviceRegistration(pushToken: named.token)
        device.platform = named.platform
        device.externalID = user
        device.aliases = names
        let context = event["context"]
        let locale = (context?["locale"] ?? properties?["device_locale"])?.string?.split { "-_".contains($0) }
        device.language = locale?.first.flatMap { try? FieldRule.language($0.lowercased()) }
        device.country = locale?.dropFirst().lazy.compactMap { try? FieldRule.country(String($0)) }.first
        device.timeZone = context?["timezone"].flatMap { try? FieldRule.shortText($0) }
        device.appVersion = context?["app"]?["version"].flatMap { try? FieldRule.shortText($0) }
        device.osVersion = context?["os"]?["version"].flatMap { try? FieldRule.shortText($0) }
        device.isEnabled = properties?["push_enabled"].flatMap { $0.bool ?? $0.string.flatMap { Bool($0.lowercased()) } }
        return device
    }

    // MARK: Live notifications

    private func token() throws(DroppedEvent) -> ToldEvent {
        let (user, named) = (try user(), try namedDevice())
        let device = try registration(of: named, user: user)
        let type = try identifier("notificationType")
        switch properties?["registrationType"]?.string {
        case "push_to_start":
            return .startToken(
                ToldEvent.TypeToken(
                    device: device, pushToken: named.token, platform: named.platform, notificationType: type,
                    attributesType: try optional("attributesType") { value throws(FieldProblem) in
                        try FieldRule.identifier(value)
                    },
                    // Android has one token for everything.
                    token: try required("pushToStartToken") { value throws(FieldProblem) in
                        try FieldRule.activityToken(value, of: named.platform)
                    }))
        case "instance":
            return .updateToken(
                ToldEvent.InstanceToken(
                    device: device, pushToken: named.token, notificationType: type, instance: try instance(),
                    token: try required("instanceToken", FieldRule.token)))
        default:
            throw DroppedEvent("\(path)properties.registrationType", .notOneOf(#""push_to_start" or "instance""#))
        }
    }

    private func report() throws(DroppedEvent) -> ToldEvent {
        let (user, named) = (try user(), try namedDevice())
        let kind: ActivityEvent
        switch properties?["eventType"]?.string {
        case "start": kind = .start
        case "end": kind = .end
        // What an app updates by itself is no delivery; no SDK tells of it today.
        case "update": throw DroppedEvent(.unused)
        default: throw DroppedEvent("\(path)properties.eventType", .notOneOf(#""start", "update" or "end""#))
        }
        let instance = try instance()
        let key = messageID ?? "\(kind.name) \(instance) \(Self.digest(of: named.token))"
        let report = InstanceReport(
            event: kind, instance: instance, pushToken: named.token,
            profile: [AliasReference(label: DeviceProfile.externalIDLabel.text, identifier: user)],
            notificationType: try identifier("notificationType"), platform: named.platform, attributes: try object("attributes"),
            contentState: try object("contentState"), at: time, messageID: key)
        return .report(report, device: try registration(of: named, user: user))
    }

    /// It needs no user: what it proves is that somebody had the push.
    private func delivery() throws(DroppedEvent) -> ToldEvent {
        let isOpened: Bool
        switch properties?["metric"]?.string {
        case "delivered": isOpened = false
        case "opened": isOpened = true
        case nil: throw DroppedEvent("\(path)properties.metric", .missing)
        default: throw DroppedEvent(.unused)
        }
        guard let text = properties?["deliveryId"]?.string else { throw DroppedEvent("\(path)properties.deliveryId", .missing) }
        // Ordinary pushes, which others sent, have identifiers of another form.
        guard let delivery = InstanceID(text) else { throw DroppedEvent(.unknownDelivery) }
        // A card may be opened more than once; told again, an event has its time again.
        let kind = isOpened ? "opened\(toldTime.map { " \($0.rawValue)" } ?? "")" : "delivered"
        return .delivery(delivery, isOpened: isOpened, messageID: messageID ?? "\(kind) \(delivery)")
    }

    // MARK: Members

    /// What makes it one event, however often it is sent. Direct calls have none.
    private var messageID: String? { event["messageId"].flatMap { try? FieldRule.shortText($0) } }

    /// When it happened, by the device's clock, which may be wrong: never later than now.
    private var time: Int64 { min(toldTime?.seconds ?? now, now) }

    private var toldTime: UnixMilliseconds? { event["timestamp"]?.string.flatMap { UnixMilliseconds(dateText: $0) } }

    /// Tells devices apart in what is kept of their reports, without their tokens.
    private static func digest(of token: [UInt8]) -> String { Hexadecimal.encode(SHA256.digest(token)) }

    private func instance() throws(DroppedEvent) -> InstanceID {
        try required("cioInstanceId") { value throws(FieldProblem) in
            guard let instance = InstanceID(try FieldRule.string(value)) else { throw .notOneOf("a ULID") }
            return instance
        }
    }

    private func identifier(_ name: String) throws(DroppedEvent) -> String {
        try required(name) { value throws(FieldProblem) in try FieldRule.identifier(value) }
    }

    /// An object as the bytes it came in; nil for none and for an empty one.
    private func object(_ name: String) throws(DroppedEvent) -> [UInt8]? {
        guard let value = properties?[name], !value.isNull, value.kind != .object || !value.isEmpty else { return nil }
        return try checked(value, "properties.\(name)") { value throws(FieldProblem) in
            let object = try FieldRule.rawObject(value)
            let limit = AdmissionLimits.payloadByteCount
            guard object.count <= limit else { throw .tooLong(actual: object.count, limit: limit, unit: .bytes) }
            return object
        }
    }

    private func required<Value>(
        _ name: String, _ rule: (JSONValue) throws(FieldProblem) -> Value
    ) throws(DroppedEvent) -> Value {
        guard let value = try optional(name, rule) else { throw DroppedEvent("\(path)properties.\(name)", .missing) }
        return value
    }

    private func optional<Value>(
        _ name: String, _ rule: (JSONValue) throws(FieldProblem) -> Value
    ) throws(DroppedEvent) -> Value? {
        guard let value = properties?[name], !value.isNull else { return nil }
        return try checked(value, "properties.\(name)", rule)
    }

    private func checked<Value>(
        _ value: JSONValue, _ name: String, _ rule: (JSONValue) throws(FieldProblem) -> Value
    ) throws(DroppedEvent) -> Value {
        do throws(FieldProblem) { return try rule(value) } catch { throw DroppedEvent("\(path)\(name)", error) }
    }
}
