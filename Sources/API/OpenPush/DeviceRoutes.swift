import Gateway
import HTTP
import JSON

/// What devices tell: tokens, taps and ends.
struct DeviceRoutes: Sendable {
    /// How a tap waits for a push that is still being recorded.
    struct ClickPolling: Sendable {
        /// Pause between two looks.
        let interval: Duration
        /// Most looks after the first.
        let count: Int
    }

    let registry: any DeviceRegistry
    let taps: any TapCounter
    let clickPolling: ClickPolling
    let sleep: @Sendable (Duration) async -> Void
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    func register(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        let registration = try DeviceRequests.registration(request)
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await registry.register(registration, application: application)
        }
        switch result {
        case .registered(let device):
            return .json(status: device.isNew ? 201 : 200) { $0.member("subscription_id", "\(device.subscriptionID)") }
        case .tooManyTags: throw .tooMany("tags", limit: AdmissionLimits.tagCount)
        case .tooManyAliases: throw .tooMany("aliases", limit: AdmissionLimits.aliasCount)
        }
    }

    func setUpdateToken(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let now = now()
        let pushToken = checks.required("push_token", FieldRule.token)
        let activityID = checks.required("activity_id") { value throws(FieldProblem) in try FieldRule.activityID(value) }
        let token = checks.required("token", FieldRule.token)
        let type = checks.optional("activity_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        let startedAt = checks.optional("started_at") { value throws(FieldProblem) in
            try FieldRule.pastSeconds(value, now: now)
        }
        try checks.finish()
        guard let pushToken, let activityID, let token else {
            preconditionFailure("a required field is neither there nor reported")
        }
        let registration = UpdateTokenRegistration(
            pushToken: pushToken, activityID: activityID, token: token, activityType: type, startedAt: startedAt)
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await registry.setUpdateToken(registration, application: application.id)
        }
        switch result {
        case .unknownDevice: throw .unknownDevice
        case .ended: throw .conflict("The device has reported the end of this activity.")
        case .stored(let window, _): return .json(status: 200) { window.write(to: &$0) }
        }
    }

    func setStartToken(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let pushToken = checks.required("push_token", FieldRule.token)
        let type = checks.required("activity_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        let token = checks.required("token", FieldRule.token)
        try checks.finish()
        guard let pushToken, let type, let token else {
            preconditionFailure("a required field is neither there nor reported")
        }
        let isStored = try await Refusal.catching { () async throws(StorageError) in
            try await registry.setStartToken(token, activityType: type, pushToken: pushToken, application: application.id)
        }
        guard isStored else { throw .unknownDevice }
        return .json(status: 200) { $0.member("activity_type", type) }
    }

    func removeStartToken(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let pushToken = checks.required("push_token", FieldRule.token)
        let type = checks.required("activity_type") { value throws(FieldProblem) in try FieldRule.identifier(value) }
        try checks.finish()
        guard let pushToken, let type else { preconditionFailure("a required field is neither there nor reported") }
        let isRemoved = try await Refusal.catching { () async throws(StorageError) in
            try await registry.removeStartToken(activityType: type, pushToken: pushToken, application: application.id)
        }
        guard isRemoved else { throw .notFound("The device has no start token for this activity type.") }
        return HTTPResponse(status: 204)
    }

    func endActivity(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let pushToken = checks.required("push_token", FieldRule.token)
        let activityID = checks.required("activity_id") { value throws(FieldProblem) in try FieldRule.activityID(value) }
        try checks.finish()
        guard let pushToken, let activityID else { preconditionFailure("a required field is neither there nor reported") }
        let isEnded = try await Refusal.catching { () async throws(StorageError) in
            try await registry.endActivity(activityID, pushToken: pushToken, application: application.id)
        }
        guard isEnded else { throw .notFound("The device holds no activity of this id.") }
        return HTTPResponse(status: 204)
    }

    func recordClick(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let pushToken = checks.required("push_token", FieldRule.token)
        let activityID = checks.required("activity_id") { value throws(FieldProblem) in try FieldRule.activityID(value) }
        let notification = checks.optional("notification_id", FieldRule.uuid)
        try checks.finish()
        guard let pushToken, let activityID else { preconditionFailure("a required field is neither there nor reported") }
        let tap = Tap(
            application: application.id, pushToken: pushToken, activityID: activityID, notification: notification)
        for look in 0...clickPolling.count {
            if look > 0 { await sleep(clickPolling.interval) }
            let result: ClickResult
            do throws(TapFailure) { result = try await taps.count(tap) } catch { throw Refusal(error) }
            switch result {
            case .counted(let identifier): return .json(status: 200) { $0.member("notification_id", "\(identifier)") }
            case .unknownDevice: throw .unknownDevice
            case .nothingDelivered(fanOutIsOpen: true): continue
            case .nothingDelivered(fanOutIsOpen: false): throw .nothingDelivered
            }
        }
        throw .nothingDelivered
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

extension Refusal {
    fileprivate init(_ failure: TapFailure) {
        switch failure {
        case .tooManyWaiting: self = .tooManyTaps(retryAfterSeconds: TapLimits.retrySeconds)
        case .storage(let error): self = .storage(error)
        }
    }

    fileprivate static func tooMany(_ field: String, limit: Int) -> Refusal {
        .fields([FieldError(field: field, problem: .tooManyTogether(limit: limit))])
    }
    fileprivate static let unknownDevice = Refusal.notFound("No device is registered under this push token.")
    fileprivate static let nothingDelivered = Refusal.notFound("No push of this activity was delivered to the device.")
}
