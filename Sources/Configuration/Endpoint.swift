/// A server that is spoken to over TLS.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// What the text must look like.
    static let expected = "an https URL of a host and perhaps a port, such as https://api.push.apple.com"

    /// A DNS name in lower case, or an IP address without brackets; the server's certificate must carry it.
    package let host: String
    /// The port, 1 to 65535.
    package let port: UInt16

    /// Puts host and port together.
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// The URL, such as `https://localhost:2197`.
    package var description: String {
        "https://" + (host.contains(":") ? "[\(host)]" : host) + (port == 443 ? "" : ":\(port)")
    }

    /// Reads `https://host` or `https://host:port`, perhaps with `/` behind it. Nil for another scheme, a user, a path, a query or a
    /// fragment.
    init?(url text: String) {
        let scheme = "https://"
        guard text.prefix(scheme.count).lowercased() == scheme else { return nil }
        var authority = text.dropFirst(scheme.count)
        if authority.hasSuffix("/") { authority = authority.dropLast() }
        guard let (host, port) = HostAndPort.split(authority), port != 0 else { return nil }
        guard HostAndPort.isName(host) || HostAndPort.isIPv6(host) else { return nil }
        self.init(host: host.lowercased(), port: port ?? 443)
    }
}
