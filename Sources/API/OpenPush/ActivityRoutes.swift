import Gateway
import HTTP
import JSON
import Observability

/// The root pair: starting an activity, and pushing to one that runs.
struct ActivityRoutes: Sendable {
    let requests: ActivityRequests
    let admission: Admission
    let waiter: any FanOutWaiter
    /// How long an update waits for its first accepted push before it is answered anyway.
    let firstAcceptanceTimeout: Duration
    let logger: Logger

    func start(_ request: HTTPRequest, activityType: String, application: Application) async throws(Refusal) -> HTTPResponse {
        let command = try requests.start(request, activityType: activityType)
        let decision = try await Refusal.catching { () async throws(StorageError) in
            try await admission.start(command, application: application)
        }
        switch decision {
        case .rateLimited(let seconds): throw .rateLimited(retryAfterSeconds: seconds)
        case .tooLarge(let byteCount, let limit): throw .tooLarge(byteCount: byteCount, limit: limit)
        case .stale: throw .fields([FieldError(field: "stale_date", problem: .past)])
        case .decided(.accepted(let notification)): return Self.created(notification.publicID)
        case .decided(.replayed(let identifier, let hasSameBody)):
            if !hasSameBody {
                logger.log(
                    .warning, "An idempotency key came again with another body",
                    [.appID: "\(application.publicID)", .notificationID: "\(identifier)"])
            }
            var response = Self.created(identifier)
            response.headers.append("idempotent-replayed", "true")
            return response
        case .decided(.overloaded): throw .overloaded(retryAfterSeconds: AdmissionLimits.overloadRetrySeconds)
        case .decided(.nobody):
            let problem = FieldProblem.nobodyHoldsStartToken(activityType: command.activityType)
            throw .fields([FieldError(field: "activity_type", problem: problem)])
        case .decided(.unknownSegments(let names)): throw .unknownSegments(names, of: command.audience)
        }
    }

    func push(_ request: HTTPRequest, activityID: String, application: Application) async throws(Refusal) -> HTTPResponse {
        let command = try requests.push(request, activityID: activityID)
        let decision = try await Refusal.catching { () async throws(StorageError) in
            try await admission.update(command, application: application)
        }
        switch decision {
        case .rateLimited(let seconds): throw .rateLimited(retryAfterSeconds: seconds)
        case .tooLarge(let byteCount, let limit): throw .tooLarge(byteCount: byteCount, limit: limit)
        case .decided(.unknownActivity): throw .notFound("There is no activity of this id.")
        case .decided(.ended): throw .notFound("The activity has ended.")
        case .decided(.nobody): throw .nobodyHolds
        case .decided(.accepted(let notification)):
            switch await waiter.waitForFirstAcceptance(of: notification, timeout: firstAcceptanceTimeout) {
            case .accepted, .overtaken, .timedOut: return Self.created(notification.publicID)
            case .reachedNobody: throw .notFound("The push reached no device.")
            }
        }
    }

    private static func created(_ identifier: UUID) -> HTTPResponse {
        .json(status: 201) { writer in
            writer.member("id", "\(identifier)")
            writer.member("notification_id", "\(identifier)")
        }
    }
}

extension Refusal {
    /// Each name under every field it came in.
    static func unknownSegments(_ names: [String], of audience: Audience) -> Refusal {
        guard case .segments(let included, let excluded) = audience else {
            return .fields(names.map { FieldError(field: "excluded_segments", problem: .unknownSegment($0)) })
        }
        let lists = [("included_segments", included), ("excluded_segments", excluded)].map { field, names in
            (field: field, names: Set(names.map { ExactText($0) }))
        }
        return .fields(
            names.flatMap { name in
                lists.filter { $0.names.contains(ExactText(name)) }
                    .map { FieldError(field: $0.field, problem: .unknownSegment(name)) }
            })
    }

    /// The body would be larger than APNs takes; what of it is too long only the caller knows, most often the state.
    fileprivate static func tooLarge(byteCount: Int, limit: Int) -> Refusal {
        .fields([FieldError(field: "event_updates", problem: .tooLarge(byteCount: byteCount, limit: limit))])
    }
}
