import Gateway
import HTTP
import JSON

/// Reads what a device says of itself.
enum DeviceRequests {
    /// Reads a registration of a device on a platform that the app is for.
    static func registration(_ request: HTTPRequest, of application: Application) throws(Refusal) -> DeviceRegistration {
        var checks = try request.bodyChecks()
        let platform = checks.required("platform") { value throws(FieldProblem) in
            if application.androidPackageName != nil { return try FieldRule.platform(value) }
            guard value.string == DevicePlatform.ios.name else { throw .notOneOf("\"ios\"") }
            return .ios
        }
        var device = DeviceRegistration(pushToken: checks.pushToken(of: platform ?? .ios, application) ?? [])
        device.platform = platform
        device.environment = checks.optional("environment") { value throws(FieldProblem) in
            guard let environment = value.string.flatMap(PushEnvironment.init(name:)) else {
                throw .notOneOf("\"production\" or \"sandbox\"")
            }
            return environment
        }
        device.externalID = checks.optional("external_id") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        let isLoggedOut = checks.isNull("external_id")
        if let aliases = checks.present("aliases") {
            device.aliases = entries(of: "aliases", aliases, limit: AdmissionLimits.aliasCount, in: &checks) {
                value throws(FieldProblem) in try FieldRule.identifier(value)
            }
        }
        if let tags = checks.present("tags") {
            device.tags = entries(of: "tags", tags, limit: AdmissionLimits.tagCount, in: &checks, FieldRule.tagValue)
        }
        device.language = checks.optional("language") { value throws(FieldProblem) in try FieldRule.language(value) }
        device.country = checks.optional("country") { value throws(FieldProblem) in try FieldRule.country(value) }
        device.appVersion = checks.optional("app_version", FieldRule.shortText)
        device.osVersion = checks.optional("os_version", FieldRule.shortText)
        device.timeZone = checks.optional("timezone", FieldRule.shortText)
        device.sessionCount = checks.optional("session_count", FieldRule.count)
        device.firstSession = checks.optional("first_session", FieldRule.seconds)
        device.lastSession = checks.optional("last_session", FieldRule.seconds)
        device.sessionSeconds = checks.optional("session_time", FieldRule.count)
        device.location = location(&checks)
        takeExternalID(fromAliasesOf: &device, isNull: isLoggedOut, &checks)
        try checks.finish()
        return device
    }

    /// Both coordinates or none.
    static func location(_ checks: inout FieldChecks) -> DeviceLocation? {
        let latitude = checks.optional("lat", FieldRule.latitude)
        let longitude = checks.optional("long", FieldRule.longitude)
        let isGiven = ["lat", "long"].map { checks.present($0) != nil }
        if isGiven == [true, false] { checks.report("lat", .requires("long")) }
        if isGiven == [false, true] { checks.report("long", .requires("lat")) }
        guard let latitude, let longitude else { return nil }
        return DeviceLocation(latitude: latitude, longitude: longitude)
    }

    /// Reads an object of texts; a member that is null becomes a removal.
    static func entries(
        of field: String, _ object: JSONValue, limit: Int, in checks: inout FieldChecks,
        _ read: (JSONValue) throws(FieldProblem) -> String
    ) -> [ExactText: String?] {
        guard object.kind == .object else {
            checks.report(field, .wrongKind(expected: "an object"))
            return [:]
        }
        let members = object.lastMembers
        // What is removed makes room: it is bounded by itself.
        let removedCount = members.count { $0.value.isNull }
        let count = max(members.count - removedCount, removedCount)
        guard count <= limit else {
            checks.report(field, .tooMany(actual: count, limit: limit))
            return [:]
        }
        var entries: [ExactText: String?] = [:]
        for (name, value) in members {
            let path = "\(field).\(FieldError.shortened(name))"
            guard checks.checked(value, at: path, { (_) throws(FieldProblem) in try FieldRule.identifier(name) }) != nil else {
                continue
            }
            if value.isNull {
                entries.updateValue(nil, forKey: ExactText(name))
            } else if let text = checks.checked(value, at: path, read) {
                entries.updateValue(text, forKey: ExactText(name))
            }
        }
        return entries
    }

    /// `onesignal_id` is what the gateway itself names a user by; `external_id` is an alias too, so it may come as one, and is kept in one
    /// place. Null, there or here, takes the device from its user; both must say the same.
    private static func takeExternalID(
        fromAliasesOf device: inout DeviceRegistration, isNull: Bool, _ checks: inout FieldChecks
    ) {
        let label = DeviceProfile.externalIDLabel
        if device.aliases[DeviceProfile.userIDLabel] != nil {
            checks.report("aliases.\(DeviceProfile.userIDLabel)", .notAllowed("in answers: the gateway gives it"))
        }
        if let alias = device.aliases[label] {
            let field = device.externalID.map { ExactText($0) }
            if isNull ? alias != nil : field != nil && field != alias.map({ ExactText($0) }) {
                return checks.report("aliases.external_id", .notAllowed("as external_id"))
            }
            guard let alias else { return }
            device.externalID = alias
            device.aliases[label] = nil
        } else if isNull {
            device.aliases.updateValue(nil, forKey: label)
        }
    }
}
