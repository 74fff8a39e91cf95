/// A response, whole or with a body that is made while it is sent. The server adds Content-Length, Date and what the connection needs; a handler sets the rest.
package struct HTTPResponse: Sendable, Equatable {
    /// A final status, 200 to 599.
    package var status: Int
    package var headers: HTTPHeaders
    /// Not sent for HEAD, 204 and 304.
    package var body: [UInt8]
    /// What follows `body`, made while it is sent; such a response has no Content-Length. Nil for one that is whole.
    package var stream: HTTPBodyStream?

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], stream: HTTPBodyStream? = nil) {
        precondition((200...599).contains(status), "a response has a final status")
        self.status = status
        self.headers = headers
        self.body = body
        self.stream = stream
    }

    /// Whether this status may carry a body and its length (RFC 9110, 8.6).
    var allowsBody: Bool { status != 204 && status != 304 }
}

extension HTTPResponse {
    /// The answer the server itself gives to a request it refuses to hand on: no route is known, so the shape is the one that most
    /// routes share.
    ///
    /// - Parameter reason: which rule was broken; one of a fixed set of texts, none of which needs escaping in JSON.
    static func refusal(_ status: Int, reason: String? = nil) -> HTTPResponse {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        if status == 503 { headers.append("retry-after", "1") }
        let text = HTTPStatus.reason(status) + (reason.map { ": \($0)" } ?? "")
        return HTTPResponse(status: status, headers: headers, body: Array("{\"errors\":[\"\(text)\"]}".utf8))
    }
}
