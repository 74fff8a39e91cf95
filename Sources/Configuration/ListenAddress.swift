/// An address to listen on.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// Most addresses of one process.
    static let count = 16
    /// What the text must look like.
    static let expected = "1 to \(count) different addresses such as 127.0.0.1:8080 or [::1]:8080, separated by commas"

    /// An IPv4 or IPv6 address, without brackets.
    package let host: String
    /// The port; 0 takes a free one.
    package let port: UInt16

    /// Puts host and port together; the host must be an address.
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Reads `address:port`; `localhost` stands for 127.0.0.1. Nil for anything else.
    init?(_ text: some StringProtocol) {
        guard let (host, port) = HostAndPort.split(text), let port else { return nil }
        let address = host == "localhost" ? "127.0.0.1" : host
        guard HostAndPort.isIPv4(address) || HostAndPort.isIPv6(address) else { return nil }
        self.init(host: address, port: port)
    }

    /// Reads a list separated by commas, with spaces around them or not; nil when one is wrong, when one comes twice with a port other
    /// than 0, or for too many.
    static func list(_ text: String) -> [ListenAddress]? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count <= count else { return nil }
        var addresses: [ListenAddress] = []
        for part in parts {
            var part = part.drop { $0 == " " }
            while part.last == " " { part.removeLast() }
            guard let address = ListenAddress(part) else { return nil }
            guard address.port == 0 || !addresses.contains(address) else { return nil }
            addresses.append(address)
        }
        return addresses
    }
}
