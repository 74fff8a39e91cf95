import JSON
import Testing

/// What the examples of MoEngage's routes speak of: a campaign to be started, one whose instance is updated, and one whose is ended.
extension Description {
    func prepareBroadcasts(on gateway: Deployment) async throws {
        for name in ["startBroadcast", "updateBroadcast", "endBroadcast"] {
            let success = try #require(operation(name).successes.first)
            let campaign = try #require(Self.member("broadcast_live_activity_id", of: success.body))
            if name == "startBroadcast" {
                let create = try #require(operation("createCampaign").successes.first)
                let answer = try await send(create)
                #expect(answer.status == 200, "\(answer.text)")
                continue
            }
            try await gateway.createCampaign(campaign)
            // An instance by the name that the example of a duplicate uses again.
            let duplicate = try operation("startBroadcast").errors.first {
                Self.member("broadcast_live_activity_id", of: $0.request.body) == campaign
            }
            let instance = duplicate.flatMap { Self.member("instance_id", of: $0.request.body) }
            let start = try await gateway.broadcast(
                "start", Deployment.broadcastBody(campaign, instance: instance, isStart: true))
            #expect(start.status == 200, "\(start.text)")
        }
    }

    private func operation(_ name: String) throws -> OpenAPIOperation {
        try #require(operations.first { $0.node["operationId"]?.string == name }, "\(name)")
    }

    private static func member(_ name: String, of body: String) -> String? {
        (try? JSONDocument(parsing: Array(body.utf8)))?.root[name]?.string
    }
}
