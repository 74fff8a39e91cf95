/// Why a HTTP/1 message is refused. After any of them the connection is closed: where the next message begins is not known.
enum HTTP1Violation: String, Error, Equatable, Sendable, CaseIterable {
    case malformedRequestLine = "malformed request line"
    case requestLineTooLong = "request line too long"
    case invalidMethod = "invalid method"
    case unsupportedMethod = "unsupported method"
    case invalidTarget = "invalid request target"
    case unsupportedVersion = "unsupported version"
    case bareLineFeed = "line feed without carriage return"
    case foldedHeader = "folded header line"
    case invalidHeaderName = "invalid header name"
    case invalidHeaderValue = "invalid header value"
    case headersTooLarge = "header section too large"
    case tooManyHeaders = "too many header fields"
    case missingHost = "missing Host"
    case duplicateHost = "more than one Host"
    case invalidHost = "invalid Host"
    case invalidContentLength = "invalid Content-Length"
    case duplicateContentLength = "more than one Content-Length"
    case contentLengthWithTransferEncoding = "both Content-Length and Transfer-Encoding"
    case duplicateTransferEncoding = "more than one Transfer-Encoding"
    case unexpectedTransferEncoding = "Transfer-Encoding in HTTP/1.0"
    case unsupportedTransferEncoding = "unsupported Transfer-Encoding"
    case unsupportedExpectation = "unsupported Expect"
    case bodyTooLarge = "body too large"
    case invalidChunk = "invalid chunk"
    case chunkOverheadTooLarge = "chunk extensions or trailers too large"

    /// The status that tells the client.
    var status: Int {
        switch self {
        case .requestLineTooLong: 414
        case .headersTooLarge, .tooManyHeaders: 431
        case .bodyTooLarge: 413
        case .unsupportedExpectation: 417
        case .unsupportedMethod, .unsupportedTransferEncoding: 501
        case .unsupportedVersion: 505
        default: 400
        }
    }
}
