/// Lays responses out for HTTP/1.1.
enum HTTP1ResponseWriter {
    /// The interim answer to `expect: 100-continue`.
    static let continueResponse: [UInt8] = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// The chunk that ends a streamed body.
    private static let lastChunk: [UInt8] = Array("0\r\n\r\n".utf8)

    /// Appends a whole response; of one whose body is streamed the head, with the part that is there.
    ///
    /// - Parameters:
    ///   - method: of the request: HEAD has no body, but the length it would have had.
    ///   - closes: whether the connection ends after it.
    ///   - isChunked: how a streamed body is framed: by chunks, or for HTTP/1.0 by the end of the connection.
    static func append(
        _ response: HTTPResponse, method: String, closes: Bool, isChunked: Bool = true, date: String, to output: inout [UInt8]
    ) {
        let isStreamed = response.stream != nil
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
        if isStreamed {
            if isChunked { append("transfer-encoding", "chunked", to: &output) }
        } else if response.allowsBody {
            append("content-length", String(response.body.count), to: &output)
        }
        if !hasDate { append("date", date, to: &output) }
        if closes { append("connection", "close", to: &output) }
        output.append(contentsOf: "\r\n".utf8)
        guard response.allowsBody, method != "HEAD" else { return }
        if isStreamed {
            appendPiece(HTTPBodyStream.Piece(bytes: response.body, isLast: false), isChunked: isChunked, to: &output)
        } else {
            output.append(contentsOf: response.body)
        }
    }

    /// Appends a piece of a streamed body, and its end behind the last one.
    static func appendPiece(_ piece: HTTPBodyStream.Piece, isChunked: Bool, to output: inout [UInt8]) {
        guard isChunked else { return output.append(contentsOf: piece.bytes) }
        // A chunk without content would be the last.
        if !piece.bytes.isEmpty {
            output.append(contentsOf: "\(String(piece.bytes.count, radix: 16))\r\n".utf8)
            output.append(contentsOf: piece.bytes)
            output.append(contentsOf: "\r\n".utf8)
        }
        if piece.isLast { output.append(contentsOf: lastChunk) }
    }

    private static func append(_ name: String, _ value: String, to output: inout [UInt8]) {
        output.append(contentsOf: name.utf8)
        output.append(contentsOf: ": ".utf8)
        output.append(contentsOf: value.utf8)
        output.append(contentsOf: "\r\n".utf8)
    }
}
