/// The first line of a HTTP/1 request (RFC 9112, 3), read strictly: single spaces, nothing before or after.
struct HTTP1RequestLine: Equatable {
    let method: String
    /// Origin form, or "*" for OPTIONS; of an absolute form, the path and query.
    let target: String
    /// The authority of an absolute form.
    let authority: String?
    let version: HTTPVersion

    init(parsing line: ArraySlice<UInt8>) throws(HTTP1Violation) {
        let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard let first = parts.first, !first.isEmpty, first.allSatisfy({ HTTPCharacters.isToken($0) }) else {
            throw .invalidMethod
        }
        guard parts.count == 3 else { throw .malformedRequestLine }
        version = try Self.version(parts[2])
        method = String(decoding: first, as: UTF8.self)
        guard method != "CONNECT", first.count <= HTTPRequest.methodByteCount else { throw .unsupportedMethod }
        (target, authority) = try Self.target(parts[1], method: method)
    }

    private static func version(_ text: ArraySlice<UInt8>) throws(HTTP1Violation) -> HTTPVersion {
        let bytes = Array(text)
        guard bytes.count == 8, bytes[..<5].elementsEqual("HTTP/".utf8), HTTPCharacters.isDigit(bytes[5]),
            bytes[6] == UInt8(ascii: "."), HTTPCharacters.isDigit(bytes[7])
        else { throw .malformedRequestLine }
        switch (bytes[5], bytes[7]) {
        case (UInt8(ascii: "1"), UInt8(ascii: "1")): return .http11
        case (UInt8(ascii: "1"), UInt8(ascii: "0")): return .http10
        default: throw .unsupportedVersion
        }
    }

    private static func target(_ bytes: ArraySlice<UInt8>, method: String) throws(HTTP1Violation) -> (String, String?) {
        guard !bytes.isEmpty, bytes.allSatisfy({ HTTPCharacters.isTarget($0) }) else { throw .invalidTarget }
        let text = String(decoding: bytes, as: UTF8.self)
        if bytes.first == UInt8(ascii: "/") { return (text, nil) }
        if text == "*", method == "OPTIONS" { return (text, nil) }
        let lowerCased = text.lowercased()
        guard let scheme = ["http://", "https://"].first(where: { lowerCased.hasPrefix($0) }) else { throw .invalidTarget }
        let rest = bytes.dropFirst(scheme.utf8.count)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.isEmpty, authority.allSatisfy({ HTTPCharacters.isAuthority($0) }) else { throw .invalidTarget }
        let path = String(decoding: rest[end...], as: UTF8.self)
        let emptyPath = method == "OPTIONS" && path.isEmpty ? "*" : "/"
        return (path.utf8.first == UInt8(ascii: "/") ? path : emptyPath + path, String(decoding: authority, as: UTF8.self))
    }
}
