import HTTP
import Networking
import Security
import TestSupport
import Testing

/// A server on a port of its own, with what it reported.
final class RunningServer: Sendable {
    let loop: EventLoop
    let server: HTTPServer
    let port: UInt16
    /// PEM of the authority that issued the server's certificate; nil in clear.
    let authority: [UInt8]?
    let events = Record<HTTPServerEvent>()
    let handler = TestHandler()
    private let listener: Listener

    init(secure: Bool, limits: HTTPServerLimits) async throws {
        loop = try EventLoop.start(name: "http-test")
        listener = try Listener.bind(#require(SocketAddress(ipv4: "127.0.0.1", port: 0)))
        port = listener.address.port
        var tls: TLSContext?
        if secure {
            let authority = try CertificateAuthority.generate(commonName: "test")
            let issued = try authority.issue(hosts: ["localhost", "127.0.0.1"])
            tls = try TLSContext.server(
                certificateChainPEM: issued.certificatePEM, privateKeyPEM: issued.keyPEM,
                applicationProtocols: ["h2", "http/1.1"])
            self.authority = authority.certificatePEM
        } else {
            authority = nil
        }
        server = HTTPServer(
            loop: loop, listeners: [listener], tls: tls, handler: handler, limits: limits,
            report: { [events] in events.append($0) })
        try await server.start()
    }

    func client(_ version: TestHTTPClient.Version = .http1) -> TestHTTPClient {
        TestHTTPClient(port: port, tls: authority, version: version)
    }

    func socket() throws -> TestSocket { try TestSocket(port: port) }

    /// The end of the first connection that ended.
    func end() async -> HTTPConnectionEnd? {
        let event = await events.first { if case .connectionClosed = $0 { true } else { false } }
        guard case .connectionClosed(let end) = event else { return nil }
        return end
    }

    fileprivate func stop() async throws {
        handler.release()
        await server.drain(timeout: .seconds(5))
        listener.close()
        try await onThread { self.loop.stop() }
    }
}

/// Runs a server for the length of a test.
func withServer(
    secure: Bool = false, _ limits: HTTPServerLimits = HTTPServerLimits(), _ body: (RunningServer) async throws -> Void
) async throws {
    let running = try await RunningServer(secure: secure, limits: limits)
    do {
        try await body(running)
    } catch {
        try await running.stop()
        throw error
    }
    try await running.stop()
}

extension HTTPServerLimits {
    /// The usual limits with some of them changed.
    static func with(_ change: (inout HTTPServerLimits) -> Void) -> HTTPServerLimits {
        var limits = HTTPServerLimits()
        change(&limits)
        return limits
    }
}
