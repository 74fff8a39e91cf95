import HTTP

/// Answers for the token endpoint and for FCM, on one port.
struct GoogleHandler: HTTPHandler {
    let service: GoogleService

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        let segments = request.pathSegments ?? []
        switch (request.method, segments.count) {
        case ("POST", 1) where segments[0] == "token": return token(request)
        case ("POST", 4) where segments[0] == "v1" && segments[1] == "projects" && segments[3] == "messages:send":
            return await send(request, projectID: segments[2])
        default: return GoogleAnswer.error(404, "NOT_FOUND", "The requested URL was not found on this server.")
        }
    }

    private func token(_ request: HTTPRequest) -> HTTPResponse {
        if let status = service.tokenEndpointStatus { return HTTPResponse(status: status) }
        // A form is written like a query.
        let form = HTTPRequest(method: "GET", target: "/?" + String(decoding: request.body, as: UTF8.self)).queryItems ?? []
        do {
            let (token, seconds) = try service.grant(form)
            return GoogleAnswer.accessToken(token, seconds: seconds)
        } catch { return GoogleAnswer.refusal(error) }
    }

    private func send(_ request: HTTPRequest, projectID: String) async -> HTTPResponse {
        let authorization = request.headers["authorization"] ?? ""
        let accessToken = authorization.hasPrefix("Bearer ") ? String(authorization.dropFirst(7)) : ""
        let shape: Result<GoogleMessageShape, GoogleComplaint> = Result { () throws(GoogleComplaint) in
            try GoogleMessageShape(request.body)
        }
        let token = (try? shape.get().token) ?? ""
        let number = service.note(
            GoogleMessage(projectID: projectID, token: token, accessToken: accessToken, body: request.body, status: 0))
        if service.tokenState(token) == .held { await service.hold() }
        let response = judge(shape, projectID: projectID, accessToken: accessToken, number: number)
        service.settle(number, status: response.status)
        return response
    }

    private func judge(
        _ shape: Result<GoogleMessageShape, GoogleComplaint>, projectID: String, accessToken: String, number: Int
    ) -> HTTPResponse {
        guard let project = service.project(ofAccessToken: accessToken) else {
            return GoogleAnswer.error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        }
        guard project == projectID else {
            return GoogleAnswer.error(
                403, "PERMISSION_DENIED",
                "Permission 'cloudmessaging.messages.create' denied on resource '//cloudresourcemanager.googleapis.com/projects/\(projectID)'"
            )
        }
        switch shape {
        case .failure(let complaint):
            return GoogleAnswer.error(
                400, "INVALID_ARGUMENT", complaint.description, errorCode: complaint.field == nil ? "INVALID_ARGUMENT" : nil,
                complaint: complaint)
        case .success(let shape): return answer(service.tokenState(shape.token), projectID: projectID, number: number)
        }
    }

    private func answer(_ state: GoogleTokenState, projectID: String, number: Int) -> HTTPResponse {
        switch state {
        case .valid, .held: GoogleAnswer.accepted(name: "projects/\(projectID)/messages/0:\(number)")
        case .unregistered:
            GoogleAnswer.error(404, "NOT_FOUND", "Requested entity was not found.", errorCode: "UNREGISTERED")
        case .senderMismatch: GoogleAnswer.error(403, "PERMISSION_DENIED", "SenderId mismatch", errorCode: "SENDER_ID_MISMATCH")
        case .invalid:
            GoogleAnswer.error(
                400, "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token",
                errorCode: "INVALID_ARGUMENT")
        case .quota(let retryAfter):
            GoogleAnswer.error(
                429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", errorCode: "QUOTA_EXCEEDED",
                retryAfter: retryAfter)
        case .unavailable(let retryAfter):
            GoogleAnswer.error(
                503, "UNAVAILABLE", "The service is currently unavailable.", errorCode: "UNAVAILABLE", retryAfter: retryAfter)
        case .internalError: GoogleAnswer.error(500, "INTERNAL", "Internal error encountered.", errorCode: "INTERNAL")
        case .thirdPartyAuthError:
            GoogleAnswer.error(
                401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service", errorCode: "THIRD_PARTY_AUTH_ERROR")
        }
    }
}
