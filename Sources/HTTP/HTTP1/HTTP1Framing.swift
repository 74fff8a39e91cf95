/// How long the body of a HTTP/1 request is, and what its header fields say about the connection.
///
/// Anything two parsers could read differently is refused (RFC 9112, 6.3 and 11.2).
struct HTTP1Framing: Equatable {
    enum Body: Equatable {
        case none
        case length(Int)
        case chunked
    }

    let body: Body
    /// Whether the connection may carry another request after this one.
    let isPersistent: Bool
    let expectsContinue: Bool

    init(_ headers: HTTPHeaders, version: HTTPVersion, bodyByteCount limit: Int) throws(HTTP1Violation) {
        try Self.checkHost(headers, version: version)
        body = try Self.body(headers, version: version, limit: limit)
        isPersistent = version == .http11 && !Self.closes(headers)
        let expectations = headers.values(of: "expect")
        guard expectations.allSatisfy({ $0.lowercased() == "100-continue" }) else { throw .unsupportedExpectation }
        expectsContinue = !expectations.isEmpty && version == .http11 && body != .none && body != .length(0)
    }

    private static func checkHost(_ headers: HTTPHeaders, version: HTTPVersion) throws(HTTP1Violation) {
        let hosts = headers.values(of: "host")
        guard hosts.count <= 1 else { throw .duplicateHost }
        guard let host = hosts.first else {
            if version == .http10 { return }
            throw .missingHost
        }
        guard host.utf8.allSatisfy({ HTTPCharacters.isAuthority($0) }) else { throw .invalidHost }
    }

    private static func body(_ headers: HTTPHeaders, version: HTTPVersion, limit: Int) throws(HTTP1Violation) -> Body {
        let encodings = headers.values(of: "transfer-encoding")
        let lengths = headers.values(of: "content-length")
        if let encoding = encodings.first {
            guard lengths.isEmpty else { throw .contentLengthWithTransferEncoding }
            guard version == .http11 else { throw .unexpectedTransferEncoding }
            guard encodings.count == 1 else { throw .duplicateTransferEncoding }
            guard encoding.lowercased() == "chunked" else { throw .unsupportedTransferEncoding }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        guard lengths.count == 1 else { throw .duplicateContentLength }
        guard !length.isEmpty, length.utf8.allSatisfy({ HTTPCharacters.isDigit($0) }), let count = Int(length) else {
            throw .invalidContentLength
        }
        guard count <= limit else { throw .bodyTooLarge }
        return .length(count)
    }

    private static func closes(_ headers: HTTPHeaders) -> Bool {
        headers.values(of: "connection").contains { value in
            value.lowercased().split(separator: ",").contains { option in
                option.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" } == "close"
            }
        }
    }
}
