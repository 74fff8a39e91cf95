import Gateway
import HTTP
import JSON

/// Reads what OneSignal's clients say of users and their subscriptions.
///
/// Keys that are not known are passed over: these clients send much that this gateway has no use for, and more with each version.
enum UserRequests {
    /// The header by which a client says on which of its user's devices it runs.
    static let subscriptionHeader = "onesignal-subscription-id"
    /// What a subscription is here; others, such as addresses for mail, are refused.
    static let subscriptionType = "iOSPush"
    /// `device_type` of an iPhone.
    static let deviceType: Int64 = 0

    /// What a request says of a user and one of its devices.
    struct NewUser {
        var registration: DeviceRegistration
        let hasSubscription: Bool
    }

    /// `POST /apps/{app}/users`: `identity`, `properties`, and one entry of `subscriptions`.
    static func user(_ request: HTTPRequest) throws(Refusal) -> NewUser {
        var checks = try request.bodyChecks()
        var registration = DeviceRegistration()
        if let value = checks.present("identity") { registration.aliases = identity(value, &checks) }
        if let value = checks.present("properties") { properties(value, of: &registration, &checks) }
        var hasSubscription = false
        if let value = checks.present("subscriptions"), value.kind != .array || !value.isEmpty {
            let entries =
                checks.list(value, at: "subscriptions", limit: 1) { (entry) throws(FieldProblem) -> JSONValue in entry } ?? []
            for entry in entries {
                hasSubscription = true
                subscription(entry, at: "subscriptions[0]", isNew: true, of: &registration, &checks)
            }
        }
        try checks.refuseIfAnythingIsWrong()
        registration.namesWholeUser = true
        return NewUser(registration: registration, hasSubscription: hasSubscription)
    }

    /// The device that the client runs on, as far as it says so in a way that can be read.
    static func caller(of request: HTTPRequest) -> UUID? { request.headers[subscriptionHeader].flatMap { UUID($0) } }

    /// `PATCH` of a user: `properties`, and `deltas` of sessions.
    static func change(_ request: HTTPRequest) throws(Refusal) -> DeviceRegistration {
        var checks = try request.bodyChecks()
        var registration = DeviceRegistration()
        registration.subscription = caller(of: request)
        if let value = checks.present("properties") { properties(value, of: &registration, &checks) }
        if let value = checks.present("deltas") {
            nested(value, at: "deltas", &checks) { inner in
                registration.addedSessionCount = inner.optional("session_count", FieldRule.count) ?? 0
                registration.addedSessionSeconds = inner.optional("session_time", FieldRule.count) ?? 0
            }
        }
        try checks.refuseIfAnythingIsWrong()
        return registration
    }

    /// `{"identity":{...}}`: names to add and to remove.
    static func aliases(_ request: HTTPRequest) throws(Refusal) -> DeviceRegistration {
        var checks = try request.bodyChecks()
        var registration = DeviceRegistration()
        if let value = checks.present("identity") {
            registration.aliases = identity(value, &checks)
            if registration.aliases.isEmpty, checks.errors.isEmpty { checks.report("identity", .empty) }
        } else {
            checks.report("identity", .missing)
        }
        try checks.refuseIfAnythingIsWrong()
        return registration
    }

    /// `{"identity":{label:id}}`: the one name of a new owner.
    static func owner(_ request: HTTPRequest) throws(Refusal) -> DeviceAlias {
        var checks = try request.bodyChecks()
        let owner = checks.required("identity") { (value) throws(FieldProblem) -> DeviceAlias in
            let members = value.lastMembers
            guard value.kind == .object, members.count == 1 else { throw .wrongKind(expected: "an object with one label") }
            let label = try FieldRule.identifier(members[0].key)
            return DeviceAlias(label: ExactText(label), identifier: ExactText(try FieldRule.identifier(members[0].value)))
        }
        try checks.refuseIfAnythingIsWrong()
        guard let owner else { preconditionFailure("a required field is neither there nor reported") }
        return owner
    }

    /// `{"subscription":{...}}`.
    static func subscription(_ request: HTTPRequest, isNew: Bool) throws(Refusal) -> DeviceRegistration {
        var checks = try request.bodyChecks()
        var registration = DeviceRegistration()
        if let value = checks.present("subscription") {
            subscription(value, at: "subscription", isNew: isNew, of: &registration, &checks)
        } else {
            checks.report("subscription", .missing)
        }
        try checks.refuseIfAnythingIsWrong()
        return registration
    }

    /// `device_type`, which is 0 when it is there.
    static func checkDeviceType(_ checks: inout FieldChecks) {
        _ = checks.optional("device_type") { (value) throws(FieldProblem) in
            guard value.integer == deviceType else { throw .notOneOf("0 (iOS)") }
        }
    }

    private static func nested(
        _ value: JSONValue, at path: String, _ checks: inout FieldChecks, _ read: (inout FieldChecks) -> Void
    ) {
        guard value.kind == .object else { return checks.report(path, .wrongKind(expected: "an object")) }
        var inner = FieldChecks(value)
        read(&inner)
        for error in inner.errors { checks.report("\(path).\(error.field)", error.problem) }
    }

    private static func identity(_ value: JSONValue, _ checks: inout FieldChecks) -> [ExactText: String?] {
        // The user's own name and the gateway's come beside the others.
        var aliases = DeviceRequests.entries(
            of: "identity", value, limit: AdmissionLimits.aliasCount + 2, in: &checks
        ) { (value) throws(FieldProblem) in try FieldRule.identifier(value) }
        if aliases.removeValue(forKey: DeviceProfile.userIDLabel) != nil {
            checks.report("identity.\(DeviceProfile.userIDLabel)", .notAllowed("in answers: the gateway gives it"))
        }
        return aliases
    }

    private static func properties(_ value: JSONValue, of registration: inout DeviceRegistration, _ checks: inout FieldChecks) {
        nested(value, at: "properties", &checks) { inner in
            if let tags = inner.present("tags") {
                // An empty text takes a tag away, as null does.
                registration.tags = DeviceRequests.entries(
                    of: "tags", tags, limit: AdmissionLimits.tagCount, in: &inner, FieldRule.tagValue
                ).mapValues { $0 == "" ? nil : $0 }
            }
            registration.language = inner.optional("language") { value throws(FieldProblem) in try FieldRule.language(value) }
            registration.country = inner.optional("country") { value throws(FieldProblem) in try FieldRule.country(value) }
            registration.timeZone = inner.optional("timezone_id", FieldRule.shortText)
            registration.firstSession = inner.optional("first_active", FieldRule.seconds)
            registration.lastSession = inner.optional("last_active", FieldRule.seconds)
            registration.location = DeviceRequests.location(&inner)
        }
    }

    private static func subscription(
        _ value: JSONValue, at path: String, isNew: Bool, of registration: inout DeviceRegistration, _ checks: inout FieldChecks
    ) {
        nested(value, at: path, &checks) { inner in
            let readType = { (value: JSONValue) throws(FieldProblem) -> Void in
                guard value.string == subscriptionType else { throw .notOneOf("\"\(subscriptionType)\"") }
            }
            if isNew {
                _ = inner.required("type", readType)
                registration.subscription = inner.optional("id", FieldRule.uuid)
            } else {
                _ = inner.optional("type", readType)
            }
            registration.pushToken = inner.optional("token", FieldRule.token)
            registration.appVersion = inner.optional("app_version", FieldRule.shortText)
            registration.osVersion = inner.optional("device_os", FieldRule.shortText)
            registration.sessionCount = inner.optional("session_count", FieldRule.count)
            registration.sessionSeconds = inner.optional("session_time", FieldRule.count)
            let isEnabled = inner.optional("enabled", flag)
            let types = inner.optional("notification_types") { (value) throws(FieldProblem) -> Int64 in
                guard let types = value.integer else { throw .wrongKind(expected: "a whole number") }
                return types
            }
            registration.isEnabled = isEnabled ?? types.map { $0 > 0 }
            registration.environment = inner.optional("test_type", environment) ?? nil
        }
    }

    /// The SDK's kinds of builds: 0 of the App Store, 1 of a development profile, 2 ad hoc, and more that say nothing of the environment.
    private static func environment(_ value: JSONValue) throws(FieldProblem) -> PushEnvironment? {
        guard let type = value.integer else { throw .wrongKind(expected: "a whole number") }
        switch type {
        case 0, 2: return .production
        case 1: return .sandbox
        default: return nil
        }
    }

    private static func flag(_ value: JSONValue) throws(FieldProblem) -> Bool {
        switch value.kind {
        case .true: return true
        case .false: return false
        default: throw .wrongKind(expected: "true or false")
        }
    }
}
