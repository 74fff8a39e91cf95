import Gateway
import JSON

/// What is wrong with a request on MoEngage's wire. Its texts are those of MoEngage's specification, where that has one.
enum BroadcastProblem: Hashable, Sendable {
    /// The header that names the workspace, beside `Authorization`.
    case missingCredentials(header: String)
    /// No workspace is called so, or the header and the credentials name different ones.
    case invalidAppKey
    /// The key is none of the workspace's, or may not do this.
    case invalidDataKey
    /// Everything that is wrong with the body; never empty.
    case payload([PayloadDetail])
    /// The limit in bytes.
    case tooLarge(limit: Int)
    case unknownCampaign(String)
    case noSigningKey
    case duplicate
    case notRunning
    case dismissed
    case tooManyInstances
    case unknownAudience
    /// Of campaigns: the request's identifier was used for something else.
    case duplicateRequest
    case tooManyCampaigns
    /// No broadcast channel could be had.
    case noChannel

    init(_ refusal: BroadcastRefusal, campaign: String) {
        switch refusal {
        case .unknownCampaign: self = .unknownCampaign(campaign)
        case .noSigningKey: self = .noSigningKey
        case .duplicate: self = .duplicate
        case .notRunning: self = .notRunning
        case .dismissed: self = .dismissed
        case .tooManyInstances: self = .tooManyInstances
        case .unknownAudience: self = .unknownAudience
        }
    }

    var status: Int {
        switch self {
        case .missingCredentials, .invalidAppKey, .invalidDataKey: 401
        case .payload: 400
        case .tooLarge: 413
        case .unknownCampaign, .noSigningKey, .duplicate, .notRunning, .dismissed, .tooManyInstances, .unknownAudience,
            .duplicateRequest, .tooManyCampaigns:
            403
        case .noChannel: 503
        }
    }

    var code: String {
        switch status {
        case 400: "PayloadError"
        case 401: "AuthError"
        case 413: "PayloadSizeError"
        case 503: BroadcastProblem.serverError
        default: "OperationNotAllowed"
        }
    }

    /// What a caller whose campaign has no channel yet is told to wait: an answer of Apple's that got lost is looked into then.
    static let channelRetrySeconds = ChannelPlan.unresolvedListingSeconds
    static let serverError = "ServerError"
    static let serverErrorText = "Internal Server Error, something went wrong"

    var message: String {
        switch self {
        case .missingCredentials(let header): "Authorization header or \(header) is missing"
        case .invalidAppKey: "Invalid App Key"
        case .invalidDataKey: "Invalid Data Key"
        case .payload: "Mandatory fields are missing or invalid"
        case .tooLarge(let limit): "Payload size exceeded for IOS. Max size is \(limit) bytes"
        case .unknownCampaign(let name): "Campaign not found for \(name)"
        case .noSigningKey: "Only IOS token auth is allowed, please upload .p8 file"
        case .duplicate: "Duplicate Request, please use different instance_id"
        case .notRunning: "Invalid Action"
        case .dismissed: "Dismissal date is already passed"
        case .tooManyInstances: "Max Instances Limit Reached"
        case .unknownAudience: "A segment of the campaign no longer exists"
        case .duplicateRequest: "Duplicate Request, please use different request_id"
        case .tooManyCampaigns: "Max Campaigns Limit Reached"
        case .noChannel: "No broadcast channel could be had from Apple, please try again"
        }
    }

    var details: [PayloadDetail] {
        guard case .payload(let details) = self else { return [] }
        return details
    }
}

/// One thing that is wrong with a body, as pydantic says it.
struct PayloadDetail: Hashable, Sendable {
    /// What kind of mistake it is.
    let code: String
    /// The path of the field, with dots.
    let target: String
    let message: String
}

extension Envelope {
    /// Writes a refusal as MoEngage does; the only place that knows how.
    static func writeError(_ refusal: Refusal, to writer: inout JSONWriter) {
        if case .rateLimited = refusal {
            writer.beginArray()
            writer.endArray()
            return
        }
        let (code, message, details) = parts(of: refusal)
        writer.beginObject()
        writer.key("error")
        writer.beginObject()
        writer.member("code", code)
        writer.member("message", message)
        if !details.isEmpty {
            writer.key("details")
            writer.beginArray()
            for detail in details {
                writer.beginObject()
                writer.member("code", detail.code)
                writer.member("target", detail.target)
                writer.member("message", detail.message)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
        writer.endObject()
    }

    private static func parts(of refusal: Refusal) -> (code: String, message: String, details: [PayloadDetail]) {
        switch refusal {
        case .broadcast(let problem): (problem.code, problem.message, problem.details)
        case .noRoute: ("NotFound", refusal.messages[0], [])
        case .methodNotAllowed: ("MethodNotAllowed", refusal.messages[0], [])
        // Everything else on these routes is the server's fault, or passes.
        default: (BroadcastProblem.serverError, BroadcastProblem.serverErrorText, [])
        }
    }
}
