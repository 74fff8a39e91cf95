/// The version of HTTP a request came in.
package enum HTTPVersion: Sendable, Equatable {
    case http10, http11, http2
}

/// A whole request, its body included; framing headers have been checked and obeyed by whoever made it.
package struct HTTPRequest: Sendable, Equatable {
    /// Longest method in bytes; a longer one is answered 501.
    package static let methodByteCount = 32

    /// The method as it came: case-sensitive, a token of at most 32 bytes, never CONNECT.
    package var method: String
    /// Path and query as they came, still percent-encoded: begins with "/", or is "*" for OPTIONS.
    package var target: String
    /// Every header field in order, duplicates included. The pseudo header fields of HTTP/2 are not among them.
    package var headers: HTTPHeaders
    package var body: [UInt8]
    package var version: HTTPVersion
    /// `:authority`, else the authority of an absolute-form target, else the Host field; nil when there is none.
    package var authority: String?
    /// `:scheme` as it came over HTTP/2; nil over HTTP/1.
    package var scheme: String?

    package init(
        method: String, target: String, headers: HTTPHeaders = [:], body: [UInt8] = [], version: HTTPVersion = .http11,
        authority: String? = nil, scheme: String? = nil
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.version = version
        self.authority = authority
        self.scheme = scheme
    }

    /// The target up to its first "?", still percent-encoded.
    package var path: String {
        guard let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target }
        return String(target[..<end])
    }

    /// The segments of the path: split at "/" first, then percent-decoded, so that "%2F" stays inside its segment.
    ///
    /// "/" has none, a trailing "/" ends in an empty one. Nil when a segment is no valid percent-encoded UTF-8, holds NUL, or
    /// when the target is "*".
    package var pathSegments: [String]? {
        let path = self.path
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        if path.utf8.count == 1 { return [] }
        var segments: [String] = []
        // By bytes: characters would be put together first.
        for segment in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let decoded = PercentEncoding.decode(Substring(segment)) else { return nil }
            segments.append(decoded)
        }
        return segments
    }

    /// The parameters of the query in order, decoded ("+" is a space, a name without "=" has an empty value); nil when one is
    /// not valid percent-encoded UTF-8.
    package var queryItems: [(name: String, value: String)]? {
        guard let start = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        var items: [(name: String, value: String)] = []
        for item in target.utf8[target.utf8.index(after: start)...].split(separator: UInt8(ascii: "&")) {
            let pair = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { Substring($0) }
            guard let name = PercentEncoding.decode(pair[0], plusIsSpace: true),
                let value = PercentEncoding.decode(pair.count == 2 ? pair[1] : "", plusIsSpace: true)
            else { return nil }
            items.append((name, value))
        }
        return items
    }

    /// The first decoded value of a query parameter; nil when it is absent or the query cannot be decoded.
    package func queryValue(_ name: String) -> String? {
        queryItems?.first { $0.name == name }?.value
    }
}
