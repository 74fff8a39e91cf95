import Gateway
import HTTP
import JSON

/// Users, their names and their subscriptions, as OneSignal's clients tell of them.
struct UserRoutes: Sendable {
    let users: any UserRegistry

    /// - Parameter parameters: those of the path behind the app.
    func respond(
        to request: HTTPRequest, route: Route, parameters: [String], caller: Caller
    ) async throws(Refusal) -> HTTPResponse {
        switch route {
        case .createUser: return try await create(request, caller)
        case .addSubscription:
            return try await addSubscription(request, to: caller.user(label: parameters[0], identifier: parameters[1]), caller)
        case .changeSubscription: return try await changeSubscription(request, parameters[0], caller)
        case .removeSubscription:
            try await remove(caller.device(try Self.subscription(parameters[0])), caller)
            return .json(status: 200) { _ in }
        case .moveSubscription: return try await moveSubscription(request, parameters[0], caller)
        case .readSubscriptionIdentity, .changeSubscriptionIdentity:
            let user = caller.device(try Self.subscription(parameters[0]), withUser: true)
            return try await identity(request, route, of: user, caller)
        default: break
        }
        let user = try caller.user(label: parameters[0], identifier: parameters[1])
        switch route {
        case .readIdentity, .changeIdentity: return try await identity(request, route, of: user, caller)
        case .removeAlias: return try await removeAlias(parameters[2], from: user, caller)
        case .changeUser:
            let change = try UserRequests.change(request)
            let answer = try await self.change(user, by: change, caller)
            return .json(status: 202) { answer.writeProperties(to: &$0) }
        case .readUser:
            let answer = try await read(user, caller)
            return .json(status: 200) { writer in
                answer.writeIdentity(to: &writer)
                answer.writeProperties(to: &writer)
                answer.writeSubscriptions(to: &writer)
            }
        case .removeUser:
            let identity = UserAnswer(application: caller.application, devices: try await remove(user, caller))
            return .json(status: 200) { identity.writeIdentity(to: &$0) }
        default: preconditionFailure("no route of users")
        }
    }

    private func create(_ request: HTTPRequest, _ caller: Caller) async throws(Refusal) -> HTTPResponse {
        let told = try UserRequests.user(request)
        var registration = try caller.admitting(told.registration)
        if case .user(let claims) = caller.standing { registration = claims.applied(to: registration) }
        guard told.hasSubscription else {
            registration.subscription = UserRequests.caller(of: request)
            return try await createWithoutDevice(registration, caller)
        }
        let (device, isNew) = try await register(registration, mayBeNew: true, caller)
        let answer = UserAnswer(application: caller.application, devices: [device])
        return .json(status: isNew ? 201 : 202) { writer in
            answer.writeIdentity(to: &writer)
            answer.writeProperties(to: &writer)
            answer.writeSubscriptions(toldToken: registration.pushToken, to: &writer)
        }
    }

    /// A user who is told of without a device: one that some devices belong to already, or nobody yet.
    ///
    /// A backend hears that there is nobody. A device is answered as if there were: its SDK sends nothing else before, and its
    /// subscription comes later. Nothing is stored, and who proved nothing learns nothing (decision 18).
    private func createWithoutDevice(_ registration: DeviceRegistration, _ caller: Caller) async throws(Refusal) -> HTTPResponse {
        let known = try await changeKnown(registration, caller)
        guard known != nil || caller.standing != .backend else { throw .noSubscription }
        var names = registration.toldAliases.compactMapValues { $0 }
        names[DeviceProfile.userIDLabel] = ExactText("\(UUID.random())")
        let answer = known ?? UserAnswer(application: caller.application, devices: [], names: names)
        return .json(status: 202) { writer in
            answer.writeIdentity(to: &writer)
            answer.writeProperties(to: &writer)
            answer.writeSubscriptions(to: &writer)
        }
    }

    /// Nil when no device has the name, and for who proved nothing.
    private func changeKnown(_ registration: DeviceRegistration, _ caller: Caller) async throws(Refusal) -> UserAnswer? {
        let names = registration.toldAliases.compactMapValues { $0 }
        let label = names[DeviceProfile.externalIDLabel] == nil ? names.keys.min() : DeviceProfile.externalIDLabel
        guard caller.standing != .device, let label, let identifier = names[label] else { return nil }
        let user = UserSelector(
            .alias(DeviceAlias(label: label, identifier: identifier)), isWholeUser: true, proof: caller.proof)
        var change = registration
        change.namesWholeUser = false
        do throws(Refusal) { return try await self.change(user, by: change, caller) } catch {
            guard error == .unknownUser else { throw error }
            return nil
        }
    }

    private func identity(_ request: HTTPRequest, _ route: Route, of user: UserSelector, _ caller: Caller)
        async throws(Refusal) -> HTTPResponse
    {
        let answer: UserAnswer
        if route == .readIdentity || route == .readSubscriptionIdentity {
            answer = try await read(user, caller)
        } else {
            answer = try await change(user, by: caller.admitting(UserRequests.aliases(request)), caller)
        }
        return .json(status: 200) { answer.writeIdentity(to: &$0) }
    }

    private func removeAlias(_ label: String, from user: UserSelector, _ caller: Caller) async throws(Refusal) -> HTTPResponse {
        let label = ExactText(label)
        guard label != DeviceProfile.userIDLabel else {
            throw .fields([FieldError(field: "label", problem: .notOneOf("another than \(DeviceProfile.userIDLabel)"))])
        }
        guard try await read(user, caller).identity[label] != nil else { throw .unknownAlias }
        var change = DeviceRegistration()
        change.aliases = [label: nil]
        let answer = try await self.change(user, by: change, caller)
        return .json(status: 200) { answer.writeIdentity(to: &$0) }
    }

    private func addSubscription(_ request: HTTPRequest, to user: UserSelector, _ caller: Caller)
        async throws(Refusal) -> HTTPResponse
    {
        var registration = try UserRequests.subscription(request, isNew: true)
        let owner = try await read(user, caller)
        registration.aliases = Self.names(of: owner, known: user)
        registration.namesWholeUser = true
        registration.vouchedAliases = caller.vouchedAliases
        if case .alias(let name) = user.name, name.label != DeviceProfile.userIDLabel { registration.userLabel = name.label }
        let (device, isNew) = try await register(registration, mayBeNew: true, caller)
        return Self.subscription(status: isNew ? 201 : 202, device, registration, caller)
    }

    private func changeSubscription(_ request: HTTPRequest, _ parameter: String, _ caller: Caller)
        async throws(Refusal) -> HTTPResponse
    {
        let subscription = try Self.subscription(parameter)
        var registration = try UserRequests.subscription(request, isNew: false)
        registration.subscription = subscription
        // Only whose device it is may change it.
        if caller.proof != nil { _ = try await read(caller.device(subscription), caller) }
        let (device, _) = try await register(registration, mayBeNew: false, caller)
        return Self.subscription(status: 202, device, registration, caller)
    }

    /// Who knows a subscription moves it; to whom, a user's token must vouch for.
    private func moveSubscription(_ request: HTTPRequest, _ parameter: String, _ caller: Caller)
        async throws(Refusal) -> HTTPResponse
    {
        let owner = try UserRequests.owner(request)
        var registration = DeviceRegistration()
        registration.subscription = try Self.subscription(parameter)
        registration.namesWholeUser = true
        if owner.label == DeviceProfile.userIDLabel {
            let user = try caller.user(label: owner.label.text, identifier: owner.identifier.text)
            registration.aliases = Self.names(of: try await read(user, caller), known: user)
            registration.vouchedAliases = caller.vouchedAliases
        } else {
            registration.aliases = [owner.label: owner.identifier.text]
            registration.userLabel = owner.label
            registration = try caller.admitting(registration)
        }
        let (device, _) = try await register(registration, mayBeNew: false, caller)
        let answer = UserAnswer(application: caller.application, devices: [device])
        return .json(status: 202) { answer.writeIdentity(to: &$0) }
    }

    /// The names a device takes over from a user. The gateway's own is handed on only to who named the user by it.
    private static func names(of owner: UserAnswer, known user: UserSelector) -> [ExactText: String?] {
        var names = owner.identity
        names[DeviceProfile.userIDLabel] = nil
        if case .alias(let alias) = user.name, alias.label == DeviceProfile.userIDLabel { names[alias.label] = alias.identifier }
        return names.mapValues { $0.text }
    }
}

// What the routes have in common.
extension UserRoutes {
    private func register(_ registration: DeviceRegistration, mayBeNew: Bool, _ caller: Caller)
        async throws(Refusal) -> (UserDevice, isNew: Bool)
    {
        var registration = registration
        registration.givesUserID = true
        registration.tagsBelongToUser = true
        let told = registration
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await users.registerUser(told, mayBeNew: mayBeNew, application: caller.application)
        }
        switch result {
        case .registered(let device, let isNew): return (device, isNew)
        case .unknown: throw .unknownSubscription
        case .refused(let refusal): throw Refusal(refusal)
        }
    }

    private func change(_ user: UserSelector, by change: DeviceRegistration, _ caller: Caller)
        async throws(Refusal) -> UserAnswer
    {
        var change = change
        change.givesUserID = true
        change.tagsBelongToUser = true
        change.userLabel = caller.proof?.label
        let told = change
        return try await devices(user, caller) { () async throws(StorageError) in
            try await users.changeUser(user, by: told, application: caller.application.id)
        }
    }

    private func read(_ user: UserSelector, _ caller: Caller) async throws(Refusal) -> UserAnswer {
        try await devices(user, caller) { () async throws(StorageError) in
            try await users.readUser(user, application: caller.application.id)
        }
    }

    @discardableResult
    private func remove(_ user: UserSelector, _ caller: Caller) async throws(Refusal) -> [UserDevice] {
        try await devices(user, caller) { () async throws(StorageError) in
            try await users.removeUser(user, application: caller.application.id)
        }.devices
    }

    private func devices(
        _ user: UserSelector, _ caller: Caller, _ operation: () async throws(StorageError) -> UserChange
    ) async throws(Refusal) -> UserAnswer {
        switch try await Refusal.catching(operation) {
        case .changed(let devices): return UserAnswer(application: caller.application, devices: devices)
        case .unknown:
            if case .subscription = user.name { throw .unknownSubscription }
            throw .unknownUser
        case .tooManyDevices: throw .tooManyDevices
        case .refused(let refusal): throw Refusal(refusal)
        }
    }

    private static func subscription(_ parameter: String) throws(Refusal) -> UUID {
        guard let subscription = UUID(parameter) else { throw .unknownSubscription }
        return subscription
    }

    private static func subscription(
        status: Int, _ device: UserDevice, _ registration: DeviceRegistration, _ caller: Caller
    ) -> HTTPResponse {
        let answer = UserAnswer(application: caller.application, devices: [device])
        return .json(status: status) { writer in
            writer.key("subscription")
            writer.beginObject()
            answer.writeSubscription(device, toldToken: registration.pushToken, to: &writer)
            writer.endObject()
        }
    }
}

extension Refusal {
    fileprivate init(_ refusal: DeviceRefusal) {
        self =
            switch refusal {
            case .tooManyTags: .fields([FieldError(field: "tags", problem: .tooManyTogether(limit: AdmissionLimits.tagCount))])
            case .tooManyAliases:
                .fields([FieldError(field: "identity", problem: .tooManyTogether(limit: AdmissionLimits.aliasCount))])
            }
    }

    /// Without a device there is nobody to know.
    static let noSubscription = Refusal.fields([FieldError(field: "subscriptions", problem: .missing)])
    fileprivate static let unknownUser = Refusal.notFound("There is no user of this name.")
    fileprivate static let unknownAlias = Refusal.notFound("The user has no alias of this label.")
    static let tooManyDevices = Refusal.conflict(
        "More than \(UserSelector.deviceCount) devices have this name: it is no user's.")
}
