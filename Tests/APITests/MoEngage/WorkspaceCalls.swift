import Gateway
import HTTP
import JSON
import Security

@testable import API

extension TestAPI {
    /// `Authorization` of a workspace and a key.
    static func basic(_ workspace: String = Self.app, key: String? = FakePorts.keys[.rest]) -> String {
        "Basic \(Base64.encode(Array("\(workspace):\(key ?? "")".utf8)))"
    }

    /// Sends a request as MoEngage's callers do; nil leaves a header out.
    func broadcast(
        _ operation: String, _ body: String, workspace: String? = Self.app, authorization: String? = Self.basic()
    ) async -> HTTPResponse {
        await call("/v1.0/live-activity/broadcast/\(operation)", body, header: "X-MOE-APPKEY", workspace, authorization)
    }

    func createCampaign(_ body: String, workspace: String? = Self.app, authorization: String? = Self.basic()) async
        -> HTTPResponse
    {
        await call("/core-services/v1/campaigns", body, header: "MOE-APPKEY", workspace, authorization)
    }

    private func call(
        _ target: String, _ body: String, header: String, _ workspace: String?, _ authorization: String?
    ) async -> HTTPResponse {
        var headers: HTTPHeaders = [:]
        if let workspace { headers.append(header.lowercased(), workspace) }
        if let authorization { headers.append("authorization", authorization) }
        return await handler.respond(to: HTTPRequest(method: "POST", target: target, headers: headers, body: Array(body.utf8)))
    }
}

extension HTTPResponse {
    /// `code target` of each detail.
    var details: [String] {
        ((try? JSONDocument(parsing: body))?.root["error"]?["details"]?.elements ?? []).map {
            "\($0["code"]?.string ?? "") \($0["target"]?.string ?? "")"
        }
    }

    /// What MoEngage's errors without details look like.
    static func moEngageError(_ code: String, _ message: String) -> String {
        #"{"error":{"code":"\#(code)","message":"\#(message)"}}"#
    }
}

extension Body {
    static let broadcastAlert = Body([("title", #""Goal""#), ("body", #""1:0""#)])
    static let broadcastStartIOS = Body([
        ("attribute_type", #""MatchAttributes""#), ("attribute_info", #"{ "home" : 1.0 }"#), ("content_state", #"{"score":1e2}"#),
        ("alert", broadcastAlert.text),
    ])
    static let broadcastIOS = Body([("content_state", #"{"score":1e2}"#), ("alert", broadcastAlert.text)])
    static let broadcastStart = Body([
        ("broadcast_live_activity_id", #""match""#), ("ios", broadcastStartIOS.text),
    ])
    static let broadcastUpdate = Body([("broadcast_live_activity_id", #""match""#), ("ios", broadcastIOS.text)])
    static let campaignDetails = Body([("name", #""Final""#), ("broadcast_live_activity_id", #""match""#)])
    static let campaign = Body([
        ("request_id", #""r-1""#), ("channel", #""PUSH""#), ("campaign_delivery_type", #""BROADCAST_LIVE_ACTIVITY""#),
        ("created_by", #""person@example.com""#), ("basic_details", campaignDetails.text),
        ("segmentation_details", #"{"is_all_user_campaign":true}"#),
    ])
}
