import Gateway
import HTTP
import JSON

/// Tokens of Live Activities, receipts and taps, as OneSignal's client on a device tells of them.
struct LiveActivityRoutes: Sendable {
    let registry: any DeviceRegistry
    let reports: TapReports

    /// - Parameter parameters: those of the path, the app's included where there is one.
    func respond(
        to request: HTTPRequest, route: Route, parameters: [String], caller: Caller
    ) async throws(Refusal) -> HTTPResponse {
        switch route {
        case .setTypeToken: return try await setTypeToken(request, type: parameters[1], device: parameters[2], caller)
        case .removeTypeToken: return try await removeTypeToken(type: parameters[1], device: parameters[2], caller)
        case .setActivityToken: return try await setActivityToken(request, activity: parameters[1], caller)
        case .setUserActivityToken:
            let user = try caller.user(label: parameters[1], identifier: parameters[2])
            return try await setActivityToken(request, activity: parameters[3], caller, of: user)
        case .removeActivityToken: return try await removeActivityToken(activity: parameters[1], device: parameters[2], caller)
        case .confirmReceipt: return try await confirmReceipt(request, notification: parameters[0], caller)
        case .reportClick: return try await reportClick(request, activity: parameters[1], caller)
        default: preconditionFailure("no route of activities")
        }
    }

    /// OneSignal's clients take 200, 201 and 202 as success: what is answered 204 they send again.
    private static var success: HTTPResponse { .json(status: 200) { $0.member("success", true) } }

    private func setTypeToken(_ request: HTTPRequest, type: String, device: String, _ caller: Caller)
        async throws(Refusal) -> HTTPResponse
    {
        let type = try Self.activityType(type)
        var checks = try request.bodyChecks()
        let token = checks.required("activity_token", FieldRule.token)
        UserRequests.checkDeviceType(&checks)
        try checks.refuseIfAnythingIsWrong()
        guard let token else { preconditionFailure("a required field is neither there nor reported") }
        let registration = StartTokenRegistration(
            application: caller.application.id, device: try Self.name(device), activityType: type, token: token,
            owner: caller.proof)
        let isStored = try await Refusal.catching { () async throws(StorageError) in
            try await registry.setStartToken(registration)
        }
        guard isStored else { throw .unknownSubscription }
        return Self.success
    }

    private func removeTypeToken(type: String, device: String, _ caller: Caller) async throws(Refusal) -> HTTPResponse {
        let type = try Self.activityType(type)
        let name = try await self.device(device, caller)
        let isRemoved = try await Refusal.catching { () async throws(StorageError) in
            try await registry.removeStartToken(activityType: type, device: name, application: caller.application.id)
        }
        guard isRemoved else { throw .notFound("The device has no start token for this activity type.") }
        return Self.success
    }

    private func setActivityToken(
        _ request: HTTPRequest, activity: String, _ caller: Caller, of user: UserSelector? = nil
    ) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let activity = checks.parameter(activity, as: "activity_id") { text throws(FieldProblem) in
            try FieldRule.activityID(text)
        }
        let subscription = checks.required("subscription_id", FieldRule.uuid)
        let token = checks.required("push_token", FieldRule.token)
        UserRequests.checkDeviceType(&checks)
        try checks.refuseIfAnythingIsWrong()
        guard let activity, let subscription, let token else {
            preconditionFailure("a required field is neither there nor reported")
        }
        let name = DeviceName.subscription(subscription)
        var owners = caller.proof.map { [$0] } ?? []
        if case .alias(let alias)? = user?.name { owners.append(alias) }
        for owner in owners { try await check(owner, of: name, caller) }
        let registration = UpdateTokenRegistration(
            device: name, activityID: activity, token: token, activityType: nil, startedAt: nil, owners: owners)
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await registry.setUpdateToken(registration, application: caller.application.id)
        }
        switch result {
        case .unknownDevice: throw .unknownSubscription
        case .ended: throw .conflict("The device has reported the end of this activity.")
        case .stored: return Self.success
        }
    }

    private func removeActivityToken(activity: String, device: String, _ caller: Caller) async throws(Refusal) -> HTTPResponse {
        let name = try await self.device(device, caller)
        let isEnded = try await Refusal.catching { () async throws(StorageError) in
            try await registry.endActivity(activity, device: name, application: caller.application.id)
        }
        guard isEnded else { throw .notFound("The device holds no activity of this id.") }
        return Self.success
    }

    private func confirmReceipt(_ request: HTTPRequest, notification: String, _ caller: Caller)
        async throws(Refusal) -> HTTPResponse
    {
        var checks = try request.bodyChecks()
        let notification = checks.parameter(notification, as: "notification_id") { (text) throws(FieldProblem) -> UUID in
            guard let id = UUID(text) else { throw .notUUID }
            return id
        }
        let report = Report(&checks, needsActivity: true)
        try checks.refuseIfAnythingIsWrong()
        guard let notification, let activity = report.activity, let player = report.player else {
            preconditionFailure("a required field is neither there nor reported")
        }
        try report.check(caller)
        _ = try await reports.count(
            Tap(
                application: caller.application.id, device: .subscription(player), activityID: activity,
                notification: notification, kind: .receipt))
        return Self.success
    }

    private func reportClick(_ request: HTTPRequest, activity: String, _ caller: Caller) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let activity = checks.parameter(activity, as: "activity_id") { text throws(FieldProblem) in
            try FieldRule.activityID(text)
        }
        let report = Report(&checks, needsActivity: false)
        let click = checks.required("click_id", FieldRule.uuid)
        let notification = checks.optional("notificationId", FieldRule.uuid) ?? checks.optional("notification_id", FieldRule.uuid)
        if let activity, let told = report.activity, ExactText(told) != ExactText(activity) {
            checks.report("live_activity_id", .notOneOf("that of the path"))
        }
        try checks.refuseIfAnythingIsWrong()
        guard let activity, let click, let player = report.player else {
            preconditionFailure("a required field is neither there nor reported")
        }
        try report.check(caller)
        let counted = try await reports.count(
            Tap(
                application: caller.application.id, device: .subscription(player), activityID: activity,
                notification: notification, kind: .tap(click)))
        return .json(status: 200) { writer in
            writer.member("success", true)
            writer.member("notification_id", "\(counted)")
        }
    }

    /// The device of a path, which is the user's where one was proven.
    private func device(_ parameter: String, _ caller: Caller) async throws(Refusal) -> DeviceName {
        let name = try Self.name(parameter)
        if let proof = caller.proof { try await check(proof, of: name, caller) }
        return name
    }

    private static func name(_ parameter: String) throws(Refusal) -> DeviceName {
        guard let subscription = UUID(parameter) else { throw .unknownSubscription }
        return .subscription(subscription)
    }

    private func check(_ alias: DeviceAlias, of device: DeviceName, _ caller: Caller) async throws(Refusal) {
        let isOwner = try await Refusal.catching { () async throws(StorageError) in
            try await registry.has(alias, device: device, application: caller.application.id)
        }
        guard isOwner else { throw .unknownSubscription }
    }

    /// The type of a path. OneSignal's client encodes it once more than it is decoded: no name of a Swift type has a `%`.
    private static func activityType(_ parameter: String) throws(Refusal) -> String {
        let text = PercentEncoding.decode(Substring(parameter)) ?? parameter
        return try Refusal.reading(text, as: "activity_type") { text throws(FieldProblem) in try FieldRule.identifier(text) }
    }
}

/// What receipts and taps have in common.
private struct Report {
    let player: UUID?
    let activity: String?
    private let app: UUID?

    init(_ checks: inout FieldChecks, needsActivity: Bool) {
        app = checks.required("app_id", FieldRule.uuid)
        player = checks.required("player_id", FieldRule.uuid)
        let readActivity = { (value: JSONValue) throws(FieldProblem) -> String in try FieldRule.activityID(value) }
        activity =
            needsActivity
            ? checks.required("live_activity_id", readActivity) : checks.optional("live_activity_id", readActivity)
        _ = checks.optional("live_activity_type") { (value) throws(FieldProblem) in try FieldRule.identifier(value) }
        UserRequests.checkDeviceType(&checks)
    }

    func check(_ caller: Caller) throws(Refusal) {
        guard app == caller.application.publicID else { throw .wrongApplication }
    }
}
