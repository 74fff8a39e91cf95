import HTTP
import JSON
import Networking
import Security

/// What the control requests that read answer, and the envelope of all answers.
extension ControlHandler {
    static func json(_ request: HTTPRequest) throws(ControlError) -> JSONValue {
        do throws(JSONError) {
            return try JSONDocument(parsing: request.body).root
        } catch { throw ControlError("the body is \(error)") }
    }

    static func success(_ status: Int = 200, _ write: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter()
        write(&writer)
        return HTTPResponse(status: status, headers: ["content-type": "application/json"], body: writer.bytes)
    }

    static func failure(_ status: Int, _ sentence: String) -> HTTPResponse {
        success(status) { writer in
            writer.beginObject()
            writer.member("error", sentence)
            writer.endObject()
        }
    }

    static var notFound: HTTPResponse { failure(404, "there is nothing here") }

    /// Where pushes are taken, and what their senders must trust.
    func addresses() -> HTTPResponse {
        ControlHandler.success { writer in
            writer.beginObject()
            writer.member("production", simulator.productionAddress.description)
            writer.member("sandbox", simulator.sandboxAddress.description)
            writer.member("google", simulator.googleAddress.description)
            writer.member("production_channels", simulator.productionManagementAddress.description)
            writer.member("sandbox_channels", simulator.sandboxManagementAddress.description)
            writer.member("ca", String(decoding: simulator.certificateAuthority.certificatePEM, as: UTF8.self))
            writer.endObject()
        }
    }

    /// Requests that match, after waiting for them when asked to.
    func requests(_ parameters: RequestParameters) async -> HTTPResponse {
        if let wait = parameters.waitMilliseconds {
            _ = await simulator.waitForRequests(parameters.count, matching: parameters.query, timeout: .milliseconds(wait))
        }
        let requests = simulator.requests(parameters.query, limit: parameters.limit)
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.key("requests")
            writer.beginArray()
            for request in requests { RecordWriter.write(request, to: &writer) }
            writer.endArray()
            writer.endObject()
        }
    }

    /// What was sent to each device token, or to one.
    func tokens(_ parameters: RequestParameters) -> HTTPResponse {
        let records =
            if let token = parameters.query.token {
                simulator.record(of: token).map { [$0] } ?? []
            } else {
                simulator.core.devices.records(limit: parameters.limit)
            }
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.key("tokens")
            writer.beginArray()
            for record in records { RecordWriter.write(record, to: &writer) }
            writer.endArray()
            writer.endObject()
        }
    }

    /// The rules in force, and how often each was met and applied.
    func rules() -> HTTPResponse {
        ControlHandler.success { writer in
            writer.beginObject()
            writer.key("rules")
            writer.beginArray()
            for rule in simulator.core.rules.applicationCounts {
                writer.beginObject()
                writer.member("id", rule.id)
                writer.member("matched", rule.matches)
                writer.member("applied", rule.applications)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
    }
}
