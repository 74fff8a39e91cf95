/// A whole response. The server adds Content-Length, Date and what the connection needs; a handler sets the rest.
package struct HTTPResponse: Sendable, Equatable {
    /// A final status, 200 to 599.
    package var status: Int
    package var headers: HTTPHeaders
    /// Not sent for HEAD, 204 and 304.
    package var body: [UInt8]

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        precondition((200...599).contains(status), "a response has a final status")
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Whether this status may carry a body and its length (RFC 9110, 8.6).
    var allowsBody: Bool { status != 204 && status != 304 }
}

extension HTTPResponse {
    /// The answer the server itself gives to a request it refuses to hand on.
    static func refusal(_ status: Int) -> HTTPResponse {
        let text = HTTPStatus.reason(status)
        var headers: HTTPHeaders = ["content-type": "text/plain; charset=utf-8"]
        if status == 503 { headers.append("retry-after", "1") }
        return HTTPResponse(status: status, headers: headers, body: Array("\(text)\n".utf8))
    }
}
