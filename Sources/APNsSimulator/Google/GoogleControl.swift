import HTTP
import JSON
import Security

/// The control requests about Google, below `/google`.
///
/// | request | does |
/// |---|---|
/// | `POST /google/accounts` | `project_id`: makes a service account and answers its JSON file; or registers the one of such a file |
/// | `DELETE /google/accounts/KEY` | takes an account away |
/// | `POST /google/tokens` | an object or an array: `token`, `state`, `retry_after` |
/// | `GET /google/messages?token=&limit=` | what was sent: `project_id`, `token`, `status`, and the `body` |
/// | `PUT /google/settings` | `access_token_seconds`, `takes_access_tokens`, `token_endpoint_status` |
/// | `POST /google/revoke` | makes all access tokens invalid |
/// | `POST /google/release` | answers held messages |
struct GoogleControl {
    private enum StateName: String {
        case valid, unregistered, invalid, quota, unavailable, held
        case senderMismatch = "sender-mismatch"
        case internalError = "internal"
        case thirdPartyAuthError = "third-party-auth-error"
    }

    let service: GoogleService

    /// The answer; nil when there is no such request. `segments` come after `google`.
    func respond(to request: HTTPRequest, _ segments: ArraySlice<String>) throws -> HTTPResponse? {
        switch (request.method, segments.first ?? "", segments.count) {
        case ("POST", "accounts", 1): return try addAccount(ControlHandler.json(request))
        case ("DELETE", "accounts", 2): service.revoke(keyID: segments.last ?? "")
        case ("POST", "tokens", 1): try declare(ControlHandler.json(request))
        case ("GET", "messages", 1): return messages(request)
        case ("PUT", "settings", 1): try change(ControlHandler.json(request))
        case ("POST", "revoke", 1): service.revokeAccessTokens()
        case ("POST", "release", 1): service.release()
        default: return nil
        }
        return HTTPResponse(status: 204)
    }

    private func addAccount(_ value: JSONValue) throws -> HTTPResponse {
        var json = Array(value.rawBytes)
        if value["private_key"] == nil {
            var object = try ControlObject(value, name: "account")
            let projectID = try object.requiredString("project_id")
            try object.finish()
            json = GoogleAccount.makeServiceAccount(projectID: projectID)
        }
        guard let account = GoogleAccount(serviceAccount: json) else {
            throw ControlError("the body is neither a service account's file nor a project_id")
        }
        service.register(account)
        return HTTPResponse(status: 201, headers: ["content-type": "application/json"], body: json)
    }

    private func declare(_ value: JSONValue) throws {
        for one in value.kind == .array ? value.elements : [value] {
            var object = try ControlObject(one, name: "token")
            let token = try object.requiredString("token")
            let retryAfter = try object.integer("retry_after", in: 0...86_400)
            let state: GoogleTokenState =
                switch try object.choice("state", StateName.self) ?? .valid {
                case .valid: .valid
                case .unregistered: .unregistered
                case .senderMismatch: .senderMismatch
                case .invalid: .invalid
                case .quota: .quota(retryAfter: retryAfter)
                case .unavailable: .unavailable(retryAfter: retryAfter)
                case .internalError: .internalError
                case .thirdPartyAuthError: .thirdPartyAuthError
                case .held: .held
                }
            try object.finish()
            service.declare(token, state)
        }
    }

    private func change(_ value: JSONValue) throws {
        var object = try ControlObject(value, name: "settings")
        if let seconds = try object.integer("access_token_seconds", in: 1...86_400) { service.setAccessTokenSeconds(seconds) }
        if let isValid = try object.bool("takes_access_tokens") { service.setAccessTokensValid(isValid) }
        if value["token_endpoint_status"] != nil {
            service.setTokenEndpointStatus(try object.integer("token_endpoint_status", in: 200...599).map { Int($0) })
        }
        try object.finish()
    }

    private func messages(_ request: HTTPRequest) -> HTTPResponse {
        let limit = request.queryValue("limit").flatMap { Int($0) } ?? ControlHandler.defaultLimit
        let messages = service.messages(to: request.queryValue("token")).suffix(max(0, min(limit, ControlHandler.largestLimit)))
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.member("access_token_count", service.accessTokenCount)
            writer.key("messages")
            writer.beginArray()
            for message in messages {
                writer.beginObject()
                writer.member("project_id", message.projectID)
                writer.member("token", message.token)
                writer.member("status", message.status)
                let isJSON = (try? JSONDocument(parsing: message.body)) != nil
                writer.key("body")
                if isJSON { writer.raw(message.body) } else { writer.null() }
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
    }
}
