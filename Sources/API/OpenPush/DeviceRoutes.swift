import Gateway
import HTTP
import JSON

/// What devices tell: tokens, taps and ends.
struct DeviceRoutes: Sendable {
    let registry: any DeviceRegistry
    let channels: any ChannelSubscriptions
    let reports: TapReports
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    func respond(
        to request: HTTPRequest, route: Route, parameter: String, caller: Caller
    ) async throws(Refusal) -> HTTPResponse {
        switch route {
        case .registerDevice: try await register(request, caller: caller)
        case .setUpdateToken: try await setUpdateToken(request, caller: caller)
        case .setStartToken: try await setStartToken(request, caller: caller)
        case .removeStartToken: try await removeStartToken(request, caller: caller)
        case .recordClick: try await recordClick(request, caller: caller)
        case .endActivity: try await endActivity(request, caller: caller)
        case .joinChannel: try await joinChannel(request, activityID: parameter, caller: caller)
        default: preconditionFailure("no route of devices")
        }
    }

    private func register(_ request: HTTPRequest, caller: Caller) async throws(Refusal) -> HTTPResponse {
        var told = try caller.admitting(try DeviceRequests.registration(request, of: caller.application))
        if case .user(let claims) = caller.standing { told = claims.applied(to: told) }
        let registration = told
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await registry.register(registration, application: caller.application)
        }
        switch result {
        case .registered(let device):
            return .json(status: device.isNew ? 201 : 200) { $0.member("subscription_id", "\(device.subscriptionID)") }
        case .tooManyTags: throw .tooMany("tags", limit: AdmissionLimits.tagCount)
        case .tooManyAliases: throw .tooMany("aliases", limit: AdmissionLimits.aliasCount)
        }
    }

    private func setUpdateToken(_ request: HTTPRequest, caller: Caller) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let now = now()
        let (platform, pushToken) = checks.device(of: caller.application)
        let activityID = checks.required("activity_id") { value throws(FieldProblem) in try FieldRule.activityID(value) }
        let token = checks.activityToken(of: platform)
        let type = checks.optional("activity_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        let startedAt = checks.optional("started_at") { value throws(FieldProblem) in
            try FieldRule.pastSeconds(value, now: now)
        }
        try checks.finish()
        guard let pushToken, let activityID, let token else {
            preconditionFailure("a required field is neither there nor reported")
        }
        let device = try await self.device(pushToken, caller)
        let registration = UpdateTokenRegistration(
            device: device, activityID: activityID, token: token, activityType: type, startedAt: startedAt,
            owners: caller.proof.map { [$0] } ?? [])
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await registry.setUpdateToken(registration, application: caller.application.id)
        }
        switch result {
        case .unknownDevice: throw .unknownDevice
        case .ended: throw .conflict("The device has reported the end of this activity.")
        case .stored(let window, _): return .json(status: 200) { window.write(to: &$0) }
        }
    }

    private func setStartToken(_ request: HTTPRequest, caller: Caller) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let (platform, pushToken) = checks.device(of: caller.application)
        let type = checks.required("activity_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        let token = checks.activityToken(of: platform)
        try checks.finish()
        guard let pushToken, let type, let token else {
            preconditionFailure("a required field is neither there nor reported")
        }
        let registration = StartTokenRegistration(
            application: caller.application.id, device: .pushToken(pushToken), activityType: type, token: token,
            owner: caller.proof)
        let isStored = try await Refusal.catching { () async throws(StorageError) in
            try await registry.setStartToken(registration)
        }
        guard isStored else { throw .unknownDevice }
        return .json(status: 200) { $0.member("activity_type", type) }
    }

    private func removeStartToken(_ request: HTTPRequest, caller: Caller) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let pushToken = checks.device(of: caller.application).pushToken
        let type = checks.required("activity_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        try checks.finish()
        guard let pushToken, let type else { preconditionFailure("a required field is neither there nor reported") }
        let device = try await self.device(pushToken, caller)
        let isRemoved = try await Refusal.catching { () async throws(StorageError) in
            try await registry.removeStartToken(activityType: type, device: device, application: caller.application.id)
        }
        guard isRemoved else { throw .notFound("The device has no start token for this activity type.") }
        return HTTPResponse(status: 204)
    }

    private func endActivity(_ request: HTTPRequest, caller: Caller) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let pushToken = checks.device(of: caller.application).pushToken
        let activityID = checks.required("activity_id") { value throws(FieldProblem) in try FieldRule.activityID(value) }
        try checks.finish()
        guard let pushToken, let activityID else { preconditionFailure("a required field is neither there nor reported") }
        let device = try await self.device(pushToken, caller)
        let isEnded = try await Refusal.catching { () async throws(StorageError) in
            try await registry.endActivity(activityID, device: device, application: caller.application.id)
        }
        guard isEnded else { throw .notFound("The device holds no activity of this id.") }
        return HTTPResponse(status: 204)
    }

    private func joinChannel(
        _ request: HTTPRequest, activityID: String, caller: Caller
    ) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let activityID = checks.parameter(activityID, as: "activity_id") { text throws(FieldProblem) in
            try FieldRule.activityID(text)
        }
        let pushToken = checks.pushToken(of: .ios, caller.application)
        try checks.finish()
        guard let pushToken, let activityID else { preconditionFailure("a required field is neither there nor reported") }
        _ = try await device(pushToken, caller)
        let membership = try await Refusal.catching { () async throws(StorageError) in
            try await channels.joinChannel(of: activityID, device: pushToken, application: caller.application.id)
        }
        switch membership {
        case .joined(let channel, let window):
            return .json(status: 200) { writer in
                channel.write(to: &writer)
                window.write(to: &writer)
            }
        case .unknownDevice: throw .unknownDevice
        case .unknownActivity: throw .unknownActivity
        case .ended: throw .endedActivity
        case .noChannel: throw .withoutChannel
        case .tooOld: throw .tooOldForChannels
        }
    }

    private func recordClick(_ request: HTTPRequest, caller: Caller) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let pushToken = checks.device(of: caller.application).pushToken
        let activityID = checks.required("activity_id") { value throws(FieldProblem) in try FieldRule.activityID(value) }
        let notification = checks.optional("notification_id", FieldRule.uuid)
        try checks.finish()
        guard let pushToken, let activityID else { preconditionFailure("a required field is neither there nor reported") }
        let counted = try await reports.count(
            Tap(
                application: caller.application.id, device: .pushToken(pushToken), activityID: activityID,
                notification: notification))
        return .json(status: 200) { $0.member("notification_id", "\(counted)") }
    }

    /// The device of a push token, which is the user's where one was proven.
    private func device(_ pushToken: [UInt8], _ caller: Caller) async throws(Refusal) -> DeviceName {
        let device = DeviceName.pushToken(pushToken)
        guard let proof = caller.proof else { return device }
        let isOwner = try await Refusal.catching { () async throws(StorageError) in
            try await registry.has(proof, device: device, application: caller.application.id)
        }
        guard isOwner else { throw .unknownDevice }
        return device
    }
}

extension ActivityWindow {
    /// Writes the members that tell an activity's window, in seconds since 1970.
    func write(to writer: inout JSONWriter) {
        writer.member("started_at", startedAt)
        writer.member("updates_until", updatesUntil)
        writer.member("end_until", endUntil)
    }
}

extension ActivityChannel {
    /// Writes what a device or a dashboard has to know of a channel.
    func write(to writer: inout JSONWriter) {
        writer.member("environment", environment.name)
        writer.member("channel_id", identifier)
        writer.member("storage", policy == .mostRecent ? "most_recent" : "nothing")
    }
}

extension Refusal {
    static let endedActivity = Refusal.notFound("The activity has ended.")
    static let withoutChannel = Refusal.notFound(
        "The activity has no broadcast channel in the device's environment; an update token does as well.")
    static let tooOldForChannels = Refusal.conflict(
        "The device's iOS knows no broadcast channels, as iOS 18 and later do; an update token does as well.")

    fileprivate static func tooMany(_ field: String, limit: Int) -> Refusal {
        .fields([FieldError(field: field, problem: .tooManyTogether(limit: limit))])
    }
}
