import HTTP
import JSON

/// The shape of a family's errors; the only place that writes them.
enum Envelope: Sendable {
    /// `{"errors":["..."]}`: everything that is wrong.
    case errors
    /// `{"success":false,"errors":["..."]}`: the same, for segments.
    case success
    /// `{"errors":[{"code":"...","title":"..."}]}`: the same, for users and subscriptions.
    case objects
    /// `{"detail":"...","field":"..."}`: the first thing that is wrong, with its field if it has one.
    case detail
    /// `{"meta":{"error":"..."}}`, or `{"meta":{"errors":["..."]}}` where several things are wrong: of Customer.io's wire.
    case meta
    /// `{"error":{"code":"...","message":"...","details":[...]}}`, and `[]` where a rate is exceeded: of MoEngage's wire.
    case error

    /// The answer to a request that is refused.
    func response(for refusal: Refusal) -> HTTPResponse {
        var writer = JSONWriter()
        if self == .error {
            Self.writeError(refusal, to: &writer)
            return response(writer, refusal)
        }
        writer.beginObject()
        switch self {
        case .errors, .success:
            if self == .success { writer.member("success", false) }
            writer.key("errors")
            writer.beginArray()
            for message in refusal.messages { writer.string(message) }
            writer.endArray()
        case .objects:
            writer.key("errors")
            writer.beginArray()
            for message in refusal.messages {
                writer.beginObject()
                writer.member("code", refusal.code)
                writer.member("title", message)
                writer.endObject()
            }
            writer.endArray()
        case .detail:
            writer.member("detail", refusal.messages.first)
            if let field = refusal.field { writer.member("field", field) }
        case .meta:
            writer.key("meta")
            writer.beginObject()
            let messages = refusal.messages
            if messages.count > 1 {
                writer.key("errors")
                writer.beginArray()
                for message in messages { writer.string(message) }
                writer.endArray()
            } else {
                writer.member("error", messages.first)
            }
            writer.endObject()
        case .error: preconditionFailure("written above")
        }
        writer.endObject()
        return response(writer, refusal)
    }

    private func response(_ writer: JSONWriter, _ refusal: Refusal) -> HTTPResponse {
        var response = HTTPResponse.json(status: refusal.status, writer)
        for (name, value) in refusal.headers { response.headers.append(name, value) }
        return response
    }
}

extension HTTPResponse {
    /// An answer with a JSON body.
    static func json(status: Int, _ writer: JSONWriter) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["content-type": "application/json"], body: writer.bytes)
    }

    /// An answer with a JSON object.
    static func json(status: Int, _ writeMembers: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writeMembers(&writer)
        writer.endObject()
        return json(status: status, writer)
    }
}
