import Gateway
import HTTP
import JSON

/// MoEngage's Live Activities for everybody: campaigns, and starting, updating and ending their instances.
struct BroadcastRoutes: Sendable {
    /// Names the workspace on the broadcast routes.
    static let header = "X-MOE-APPKEY"

    let authentication: WorkspaceAuthentication
    let broadcasts: Broadcasts
    let campaigns: CampaignRoutes

    func respond(to request: HTTPRequest, route: Route) async throws(Refusal) -> HTTPResponse {
        if route == .createCampaign { return try await campaigns.create(request, authentication) }
        let application = try await authentication.application(of: request, header: Self.header)
        switch route {
        case .startBroadcast:
            let start = try BroadcastRequests.start(request)
            let decision = try await Refusal.catching { () async throws(StorageError) in
                try await broadcasts.start(start, application: application)
            }
            return try Self.answer(decision, campaign: start.campaign)
        case .updateBroadcast: return try await update(request, .update, application)
        case .endBroadcast: return try await update(request, .end, application)
        default: preconditionFailure("\(route) is no route of broadcasts")
        }
    }

    private func update(
        _ request: HTTPRequest, _ event: ActivityEvent, _ application: Application
    ) async throws(Refusal) -> HTTPResponse {
        let update = try BroadcastRequests.update(request, event: event)
        let decision = try await Refusal.catching { () async throws(StorageError) in
            try await broadcasts.update(update, application: application)
        }
        return try Self.answer(decision, campaign: update.campaign)
    }

    private static func answer(_ decision: BroadcastDecision, campaign: String) throws(Refusal) -> HTTPResponse {
        switch decision {
        case .accepted(let instanceID):
            return .json(status: 200) { writer in
                writer.key("data")
                writer.beginObject()
                writer.member("instance_id", instanceID)
                writer.member("message", "success")
                writer.endObject()
            }
        case .refused(let refusal): throw .broadcast(BroadcastProblem(refusal, campaign: campaign))
        case .rateLimited(let seconds): throw .rateLimited(retryAfterSeconds: seconds)
        case .tooLarge(let limit): throw .broadcast(.tooLarge(limit: limit))
        case .overloaded: throw .overloaded(retryAfterSeconds: AdmissionLimits.overloadRetrySeconds)
        }
    }
}
