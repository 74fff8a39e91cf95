/// Lays responses out for HTTP/1.1.
enum HTTP1ResponseWriter {
    /// The interim answer to `expect: 100-continue`.
    static let continueResponse: [UInt8] = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Appends a whole response.
    ///
    /// - Parameters:
    ///   - method: of the request: HEAD has no body, but the length it would have had.
    ///   - closes: whether the connection ends after it.
    static func append(
        _ response: HTTPResponse, method: String, closes: Bool, date: String, to output: inout [UInt8]
    ) {
        output.append(contentsOf: "HTTP/1.1 \(response.status) \(HTTPStatus.reason(response.status))\r\n".utf8)
        var hasDate = false
        for field in response.headers {
            switch field.name {
            // These belong to the connection, and are written below.
            case "connection", "keep-alive", "transfer-encoding", "upgrade", "content-length": continue
            case "date": hasDate = true
            default: break
            }
            append(field.name, field.value, to: &output)
        }
        if response.allowsBody { append("content-length", String(response.body.count), to: &output) }
        if !hasDate { append("date", date, to: &output) }
        if closes { append("connection", "close", to: &output) }
        output.append(contentsOf: "\r\n".utf8)
        if response.allowsBody, method != "HEAD" { output.append(contentsOf: response.body) }
    }

    private static func append(_ name: String, _ value: String, to output: inout [UInt8]) {
        output.append(contentsOf: name.utf8)
        output.append(contentsOf: ": ".utf8)
        output.append(contentsOf: value.utf8)
        output.append(contentsOf: "\r\n".utf8)
    }
}
