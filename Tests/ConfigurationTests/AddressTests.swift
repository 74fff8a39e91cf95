import Testing

@testable import Configuration

@Suite("Addresses") struct AddressTests {
    @Test(
        "to listen on are IP addresses with ports",
        arguments: [
            ("127.0.0.1:8080", ["127.0.0.1:8080"]), ("[::1]:8080", ["[::1]:8080"]), ("localhost:0", ["127.0.0.1:0"]),
            ("0.0.0.0:80,[::]:80", ["0.0.0.0:80", "[::]:80"]), (" 127.0.0.1:1 , 127.0.0.1:2 ", ["127.0.0.1:1", "127.0.0.1:2"]),
            ("127.0.0.1:0,127.0.0.1:0", ["127.0.0.1:0", "127.0.0.1:0"]), ("[::ffff:10.0.0.1]:65535", ["[::ffff:10.0.0.1]:65535"]),
        ])
    func reads(text: String, addresses: [String]) {
        #expect(ListenAddress.list(text)?.map(\.description) == addresses)
    }

    @Test(
        "to listen on are refused in any other form",
        arguments: [
            "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "::1:8080", "[::1]", "[::1]8080",
            "[::1:80",
            "[127.0.0.1]:80", "example.org:80", "127.0.0.1:80,", "127.0.0.1:80,127.0.0.1:80", "127.0.0.01:80", "256.0.0.1:80",
            "1.2.3:80", "127.0.0.1:8 0", "unix:/run/x",
        ])
    func refuses(text: String) { #expect(ListenAddress.list(text) == nil) }

    @Test("to listen on are 16 at most") func boundsList() {
        let addresses = (1...17).map { "127.0.0.1:\($0)" }
        #expect(ListenAddress.list(addresses.dropLast().joined(separator: ","))?.count == 16)
        #expect(ListenAddress.list(addresses.joined(separator: ",")) == nil)
    }

    @Test(
        "of IPv6 follow RFC 4291",
        arguments: [
            ("::", true), ("::1", true), ("1::", true), ("1:2:3:4:5:6:7:8", true), ("1:2:3:4:5:6:7::", true),
            ("fe80::ABCD:1", true),
            ("::1.2.3.4", true), ("1:2:3:4:5:6:1.2.3.4", true), ("", false), (":", false), (":::", false),
            ("1:2:3:4:5:6:7", false),
            ("1:2:3:4:5:6:7:8:9", false), ("1:2:3:4:5:6:7:8::", false), ("1::2::3", false), ("1:2:", false), (":1:2", false),
            ("12345::", false), ("g::", false), ("1.2.3.4::", false), ("::1.2.3", false), ("fe80::1%eth0", false),
            ("1:2:3:4:5:6:7:1.2.3.4", false),
        ])
    func checksIPv6(text: String, isAddress: Bool) { #expect(HostAndPort.isIPv6(text) == isAddress) }

    @Test(
        "of servers are https URLs",
        arguments: [
            ("https://api.push.apple.com", "https://api.push.apple.com"),
            ("https://API.Push.apple.com:443/", "https://api.push.apple.com"),
            ("https://127.0.0.1:2197", "https://127.0.0.1:2197"), ("HTTPS://[::1]:2197", "https://[::1]:2197"),
            ("https://[::1]", "https://[::1]"),
        ])
    func readsURL(text: String, url: String) { #expect(Endpoint(url: text)?.description == url) }

    @Test(
        "of servers are refused with another scheme or more than a host and a port",
        arguments: [
            "", "api.push.apple.com", "http://api.push.apple.com", "https://", "https:///", "https://host/path", "https://host//",
            "https://host?x=1", "https://host#x", "https://user@host", "https://user:password@host", "https://host:",
            "https://host:0",
            "https://host:65536", "https://ho st", "https://-host", "https://host.", "https://::1", "https://[::1",
            "https://höst",
        ])
    func refusesURL(text: String) { #expect(Endpoint(url: text) == nil) }
}
