import Gateway
import HTTP
import JSON

/// Reads the bodies of Customer.io's routes. Every field that is wrong is reported; members that have no meaning are passed over.
struct LiveNotificationRequests: Sendable {
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// Reads a start.
    func start(_ request: HTTPRequest, application: Application) throws(Refusal) -> InstanceStart {
        var checks = try request.bodyChecks()
        let profile = Self.profile(&checks)
        let type = checks.required("notification_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        let token = checks.optional("device_id", FieldRule.deviceToken)
        var platform = checks.optional("platform", FieldRule.platform)
        let named = checks.optional("app_identifier") { value throws(FieldProblem) in
            try Self.platforms(of: try FieldRule.string(value), application, within: platform)
        }
        // The identifier of one platform's app means the devices that have this app.
        if let named, named.count == 1 { platform = named[0] }
        let attributes = checks.required("attributes", FieldRule.rawObject)
        var contentState = checks.required("content_state", FieldRule.rawObject)
        if let template = type.flatMap({ InstanceTemplate(rawValue: $0) }) {
            do throws(FieldErrors) {
                if let attributes { try template.check(attributes: attributes) }
            } catch { checks.report(error) }
            do throws(FieldErrors) {
                contentState = try contentState.map { state throws(FieldErrors) in try template.fitting(contentState: state) }
            } catch { checks.report(error) }
        }
        let isForAndroid = platform == .android || platform == nil && application.bundleID == nil
        let alert = Self.alert(&checks, isRequired: !isForAndroid)
        let deepLink = Self.deepLink(&checks)
        let now = now()
        let expiration = checks.optional("expiration") { value throws(FieldProblem) in try Self.expiration(value, now: now) }
        try checks.refuseIfAnythingIsWrong()
        guard let profile, let type, let attributes, let contentState else {
            preconditionFailure("a required field is neither there nor reported")
        }
        return InstanceStart(
            profile: profile, notificationType: type, pushToken: token, platform: platform, attributes: attributes,
            contentState: contentState, alert: alert, deepLink: deepLink,
            expiresAt: (expiration ?? nil) ?? now + AdmissionLimits.instanceSeconds)
    }

    /// The platforms on which the app has that identifier, of those that may be meant.
    private static func platforms(
        of identifier: String, _ application: Application, within platform: DevicePlatform?
    ) throws(FieldProblem) -> [DevicePlatform] {
        let names: [(DevicePlatform, String?)] = [(.ios, application.bundleID), (.android, application.androidPackageName)]
        let platforms = names.filter { name in
            (platform ?? name.0) == name.0 && name.1?.utf8.elementsEqual(identifier.utf8) == true
        }
        guard !platforms.isEmpty else { throw .unknownApp }
        return platforms.map(\.0)
    }

    /// Reads an update or an end.
    func update(_ request: HTTPRequest, event: ActivityEvent) throws(Refusal) -> InstanceUpdate {
        var checks = try request.bodyChecks()
        let instance = checks.required("instance_id") { value throws(FieldProblem) in
            try FieldRule.instanceID(try FieldRule.string(value))
        }
        // An update must show something. An end that shows nothing shows what was told last.
        let contentState =
            event == .update
            ? checks.required("content_state", FieldRule.rawObject) : checks.optional("content_state", Self.object) ?? nil
        let attributes = checks.optional("attributes", Self.object) ?? nil
        let alert = Self.alert(&checks, isRequired: false)
        let deepLink = Self.deepLink(&checks)
        try checks.refuseIfAnythingIsWrong()
        guard let instance else { preconditionFailure("a required field is neither there nor reported") }
        return InstanceUpdate(
            instance: instance, event: event, attributes: attributes, contentState: contentState, alert: alert, deepLink: deepLink
        )
    }

    /// Reads a new friendly name; nil removes it.
    func friendlyName(_ request: HTTPRequest) throws(Refusal) -> String? {
        var checks = try request.bodyChecks()
        if checks.isNull("friendly_name") { return nil }
        let name = checks.required("friendly_name", FieldRule.name)
        try checks.refuseIfAnythingIsWrong()
        return name
    }

    // MARK: Parts

    private static func profile(_ checks: inout FieldChecks) -> [AliasReference]? {
        guard let value = checks.present("identifiers") else {
            checks.report("identifiers", .missing)
            return nil
        }
        guard value.kind == .object else {
            checks.report("identifiers", .wrongKind(expected: "an object"))
            return nil
        }
        var members = FieldChecks(value)
        let given = ProfileName.allCases.filter { members.present($0.rawValue) != nil }
        guard let name = given.first, given.count == 1 else {
            checks.report("identifiers", .notExactlyOne(of: ProfileName.allCases.map(\.rawValue).joined(separator: ", ")))
            return nil
        }
        let profile = members.required(name.rawValue) { value throws(FieldProblem) in
            try name.references(to: try FieldRule.string(value))
        }
        checks.report(members, under: "identifiers")
        return profile
    }

    private static func alert(_ checks: inout FieldChecks, isRequired: Bool) -> InstanceAlert? {
        let path = "push_payload.alert"
        let payload = checks.present("push_payload")
        if let payload, payload.kind != .object {
            checks.report("push_payload", .wrongKind(expected: "an object"))
            return nil
        }
        guard let value = payload?["alert"], !value.isNull else {
            if isRequired { checks.report(path, .missing) }
            return nil
        }
        guard value.kind == .object else {
            checks.report(path, .wrongKind(expected: "an object"))
            return nil
        }
        var members = FieldChecks(value)
        let title = members.required("title", text)
        let body = members.required("body", text)
        let sound = members.optional("sound", FieldRule.string)
        checks.report(members, under: path)
        guard let title, let body else { return nil }
        return InstanceAlert(title: title, body: body, sound: sound.flatMap { $0.isEmpty ? nil : $0 })
    }

    private static func text(_ value: JSONValue) throws(FieldProblem) -> String {
        let text = try FieldRule.string(value)
        guard !text.isEmpty else { throw .empty }
        return text
    }

    /// An empty one is none.
    private static func deepLink(_ checks: inout FieldChecks) -> String? {
        let link = checks.optional("deep_link") { value throws(FieldProblem) in
            let text = try FieldRule.string(value)
            // PostgreSQL cannot store it.
            guard !text.utf8.contains(0) else { throw .controlCharacter }
            return text
        }
        return link.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The bytes of an object; nil for one without members.
    private static func object(_ value: JSONValue) throws(FieldProblem) -> [UInt8]? {
        guard value.kind == .object else { throw .wrongKind(expected: "an object") }
        return value.isEmpty ? nil : Array(value.rawBytes)
    }

    /// Seconds since 1970; nil for 0, which names none.
    private static func expiration(_ value: JSONValue, now: Int64) throws(FieldProblem) -> Int64? {
        guard value.kind == .number else { throw .wrongKind(expected: "a whole number of seconds since 1970") }
        if value.integer == 0 { return nil }
        guard let seconds = value.integer, (now...now + AdmissionLimits.instanceSeconds).contains(seconds) else {
            throw .notOneOf("0, or whole seconds since 1970 within the next 6 hours")
        }
        return seconds
    }
}

/// What names a profile on Customer.io's wire.
enum ProfileName: String, CaseIterable {
    case id
    case email
    case phone
    case `internal`

    /// What Customer.io's own identifiers begin with; letters and digits follow. Source: its specification.
    private static let internalPrefix = "cio_"

    /// The aliases of a device that is the profile's: what an SDK calls its user is an `external_id`, be it an e-mail address or not.
    func references(to identifier: String) throws(FieldProblem) -> [AliasReference] {
        let identifier = try FieldRule.identifier(identifier)
        let externalID = AliasReference(label: DeviceProfile.externalIDLabel.text, identifier: identifier)
        switch self {
        case .id: return [externalID]
        case .email, .phone: return [AliasReference(label: rawValue, identifier: identifier), externalID]
        case .internal:
            let rest = identifier.utf8.dropFirst(Self.internalPrefix.utf8.count)
            guard identifier.utf8.starts(with: Self.internalPrefix.utf8), !rest.isEmpty,
                rest.allSatisfy(FieldRule.isLetterOrDigit)
            else {
                throw .notOneOf("\(Self.internalPrefix) followed by letters and digits")
            }
            return [AliasReference(label: "cio_id", identifier: identifier)]
        }
    }
}

extension FieldRule {
    /// A ULID in either case.
    static func instanceID(_ text: String) throws(FieldProblem) -> InstanceID {
        guard let id = InstanceID(text) else { throw .notULID }
        return id
    }
}
