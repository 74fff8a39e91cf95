import Testing

@testable import Networking

@Suite("Socket address") struct SocketAddressTests {
    @Test(
        "reads and writes literals",
        arguments: [
            ("127.0.0.1", "127.0.0.1:80"), ("255.255.255.255", "255.255.255.255:80"), ("::1", "[::1]:80"), ("[::1]", "[::1]:80"),
            ("2001:DB8:0:0::5", "[2001:db8::5]:80"), ("::ffff:1.2.3.4", "[::ffff:1.2.3.4]:80"), ("fe80::1%1", "[fe80::1%1]:80"),
        ])
    func literals(text: String, description: String) {
        #expect(SocketAddress(literal: text, port: 80)?.description == description)
    }

    @Test(
        "refuses what is not an address",
        arguments: ["", "localhost", "127.0.0.1.5", "1.2.3", "256.0.0.1", "::1::", "[]", "fe80::1%", "fe80::1%no-such-interface"])
    func refuses(text: String) {
        #expect(SocketAddress(literal: text, port: 80) == nil)
    }

    @Test("survives the system's form", arguments: ["10.1.2.3", "2001:db8::5", "fe80::1%1"]) func systemForm(text: String) throws
    {
        let address = try #require(SocketAddress(literal: text, port: 65_535))
        #expect(unsafe address.withSystemAddress { (pointer, _) in unsafe SocketAddress(system: pointer) } == address)
    }
}

@Suite("Resolver", .timeLimit(.minutes(1))) struct ResolverTests {
    @Test("takes literals as they are") func literals() async throws {
        let address = try #require(SocketAddress(ipv6: "::1", port: 443))
        #expect(try await Resolver.resolve(host: "[::1]", port: 443) == [address])
    }

    @Test("finds every address of the host itself, more often at once than it has threads") func localhost() async throws {
        let loopback = try #require(SocketAddress(ipv4: "127.0.0.1", port: 443))
        try await withThrowingTaskGroup { group in
            for _ in 0..<(10 * Resolver.concurrentLookUpLimit) {
                group.addTask { try await Resolver.resolve(host: "localhost", port: 443) }
            }
            for try await addresses in group { #expect(addresses.contains(loopback)) }
        }
    }

    @Test("names the host it does not find") func unknown() async throws {
        let error = await #expect(throws: ResolveError.self) { try await Resolver.resolve(host: "no such host", port: 443) }
        #expect(error?.host == "no such host")
    }

    @Test("does not wait once cancelled") func cancelled() async {
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await Resolver.resolve(host: "localhost", port: 443)
        }
        let expected = ResolveError(host: "localhost", reason: "cancelled", isTemporary: true)
        await #expect(throws: expected) { try await task.value }
    }
}
