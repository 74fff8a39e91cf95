import HTTP
import JSON
import Security
import TestSupport

/// What callers of MoEngage's wire send.
extension Deployment {
    static let broadcastHeader = "X-MOE-APPKEY"
    static let campaignHeader = "MOE-APPKEY"

    /// Sends a body with Basic credentials and the header that names the workspace again.
    ///
    /// - Parameters:
    ///   - key: the password; nil leaves `Authorization` out.
    ///   - workspace: what the header says; nil for the app's identifier.
    func sendBroadcast(
        _ path: String, key: String?, header: String = broadcastHeader, app: App? = nil, workspace: String? = nil, body: String
    ) async throws -> Answer {
        let app = app ?? self.app
        var headers: HTTPHeaders = ["content-type": "application/json"]
        headers.append(header.lowercased(), workspace ?? app.id)
        if let key { headers.append("authorization", "Basic \(Base64.encode(Array("\(app.id):\(key)".utf8)))") }
        let response = try await client().send("POST", path, headers: headers, body: body)
        return Answer(status: response.status, headers: response.headers, text: response.text)
    }

    /// Starts, updates or ends; the answer.
    func broadcast(_ operation: String, _ body: String, app: App? = nil) async throws -> Answer {
        try await sendBroadcast(
            "/v1.0/live-activity/broadcast/\(operation)", key: (app ?? self.app).restKey, app: app, body: body)
    }

    /// Creates a campaign for everybody; its channel's identifier, if it has one.
    @discardableResult
    func createCampaign(_ name: String, app: App? = nil) async throws -> String? {
        let answer = try await sendBroadcast(
            "/core-services/v1/campaigns", key: (app ?? self.app).restKey, header: Self.campaignHeader, app: app,
            body: """
                {"request_id":"request-\(name)","channel":"PUSH","campaign_delivery_type":"BROADCAST_LIVE_ACTIVITY",\
                "created_by":"person@example.com","basic_details":{"name":"\(name)","broadcast_live_activity_id":"\(name)"},\
                "segmentation_details":{"is_all_user_campaign":true}}
                """)
        guard answer.status == 200 else { throw RunningProgram.Failure(description: answer.text) }
        return answer.json?["data"]?["apns_channel_id"]?.string
    }

    /// The body of a start, an update or an end.
    static func broadcastBody(
        _ campaign: String, instance: String? = nil, isStart: Bool = false, score: Int = 0, more: String = "", alert: String = ""
    ) -> String {
        let named = instance.map { #""instance_id":"\#($0)","# } ?? ""
        let start = isStart ? #""attribute_type":"\#(activityType)","attribute_info":{"home":"A"},"# : ""
        return #"{"broadcast_live_activity_id":"\#(campaign)",\#(named)"ios":{\#(start)"content_state":{"score":\#(score)},"#
            + #""alert":{"title":"Goal","body":"\#(score):0"\#(alert)}\#(more)}}"#
    }
}
