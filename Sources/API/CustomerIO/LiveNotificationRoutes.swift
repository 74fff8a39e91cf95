import Gateway
import HTTP
import JSON

/// Customer.io's Live Notifications: starting, updating, ending, and what dashboards read of them.
struct LiveNotificationRoutes: Sendable {
    let requests: LiveNotificationRequests
    let liveNotifications: LiveNotifications
    let reading: LiveNotificationReading

    func respond(
        to request: HTTPRequest, route: Route, parameter: String, application: Application
    ) async throws(Refusal) -> HTTPResponse {
        guard application.hasLiveNotifications else {
            throw .notFound("Live notifications are not enabled for this workspace.")
        }
        switch route {
        case .startLiveNotification: return try await start(request, application)
        case .updateLiveNotification: return try await update(request, .update, application)
        case .endLiveNotification: return try await update(request, .end, application)
        case .readLiveNotification: return try await reading.instance(parameter, application)
        case .listInstanceDeliveries: return try await reading.deliveries(request, parameter, application)
        case .listLiveNotifications: return try await reading.instances(request, application)
        case .listNotificationTypes: return try await reading.types(application)
        case .nameNotificationType:
            let identifier = try Refusal.reading(parameter, as: "identifier") { text throws(FieldProblem) in
                try FieldRule.identifier(text)
            }
            return try await reading.name(identifier, requests.friendlyName(request), application)
        default: preconditionFailure("\(route) is no route of live notifications")
        }
    }

    private func start(_ request: HTTPRequest, _ application: Application) async throws(Refusal) -> HTTPResponse {
        let start = try requests.start(request, application: application)
        let decision = try await Refusal.catching { () async throws(StorageError) in
            try await liveNotifications.start(start, application: application)
        }
        switch decision {
        case .started(let id): return Self.answer(id)
        case .rateLimited(let seconds): throw .rateLimited(retryAfterSeconds: seconds)
        case .tooLarge(let byteCount, let limit): throw .largePush(byteCount: byteCount, limit: limit)
        case .overloaded: throw .overloaded(retryAfterSeconds: AdmissionLimits.overloadRetrySeconds)
        }
    }

    private func update(
        _ request: HTTPRequest, _ event: ActivityEvent, _ application: Application
    ) async throws(Refusal) -> HTTPResponse {
        let update = try requests.update(request, event: event)
        let decision = try await Refusal.catching { () async throws(StorageError) in
            try await liveNotifications.update(update, application: application)
        }
        switch decision {
        case .accepted(let id): return Self.answer(id)
        case .unknownInstance: throw .unknownInstance
        case .over(let state): throw .fields([FieldError(field: "instance_id", problem: .over(state))])
        case .invalid(let found): throw .fields(found.errors)
        case .rateLimited(let seconds): throw .rateLimited(retryAfterSeconds: seconds)
        case .tooLarge(let byteCount, let limit): throw .largePush(byteCount: byteCount, limit: limit)
        }
    }

    private static func answer(_ id: InstanceID) -> HTTPResponse { .json(status: 200) { $0.member("instance_id", "\(id)") } }
}

extension Refusal {
    static let unknownInstance = Refusal.notFound("There is no live notification of this instance_id.")

    /// What of the push is too long only the caller knows, most often the state.
    fileprivate static func largePush(byteCount: Int, limit: Int) -> Refusal {
        .fields([FieldError(field: "content_state", problem: .tooLarge(byteCount: byteCount, limit: limit))])
    }
}
