import HTTP
import JSON

/// The answers of Google's two services, in their shapes.
enum GoogleAnswer {
    static func accepted(name: String) -> HTTPResponse {
        json(200) { writer in
            writer.member("name", name)
        }
    }

    static func accessToken(_ token: String, seconds: Int64) -> HTTPResponse {
        json(200) { writer in
            writer.member("access_token", token)
            writer.member("expires_in", seconds)
            writer.member("token_type", "Bearer")
        }
    }

    static func refusal(_ refusal: GoogleGrant.Refusal) -> HTTPResponse {
        json(400) { writer in
            writer.member("error", refusal.error)
            writer.member("error_description", refusal.description)
        }
    }

    /// An error of FCM, with its code as a detail.
    static func error(
        _ status: Int, _ name: String, _ message: String, errorCode: String? = nil, complaint: GoogleComplaint? = nil,
        retryAfter: Int64? = nil
    ) -> HTTPResponse {
        var response = json(status) { writer in
            writer.key("error")
            writer.beginObject()
            writer.member("code", status)
            writer.member("message", message)
            writer.member("status", name)
            writer.key("details")
            writer.beginArray()
            if let complaint, let field = complaint.field {
                writer.beginObject()
                writer.member("@type", "type.googleapis.com/google.rpc.BadRequest")
                writer.key("fieldViolations")
                writer.beginArray()
                writer.beginObject()
                writer.member("field", field)
                writer.member("description", complaint.description)
                writer.endObject()
                writer.endArray()
                writer.endObject()
            }
            if let errorCode {
                writer.beginObject()
                writer.member("@type", "type.googleapis.com/google.firebase.fcm.v1.FcmError")
                writer.member("errorCode", errorCode)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        if let retryAfter { response.headers.append("retry-after", String(retryAfter)) }
        return response
    }

    private static func json(_ status: Int, _ write: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        return HTTPResponse(
            status: status, headers: ["content-type": "application/json; charset=UTF-8"], body: writer.bytes)
    }
}
