import HTTP
import Networking

/// Where Google is played: TLS and HTTP/2 on one port.
final class GooglePort: Sendable {
    /// How long requests may take once the simulator stops.
    private static let drainTimeout: Duration = .seconds(1)

    let address: SocketAddress
    private let listener: Listener
    private let server: HTTPServer

    static func open(_ address: SocketAddress, loop: EventLoop, core: SimulatorCore) async throws -> GooglePort {
        let port = try GooglePort(address, loop: loop, core: core)
        try await port.server.start()
        return port
    }

    private init(_ address: SocketAddress, loop: EventLoop, core: SimulatorCore) throws {
        listener = try Listener.bind(address)
        self.address = listener.address
        server = HTTPServer(loop: loop, listeners: [listener], tls: core.tls, handler: GoogleHandler(service: core.google))
    }

    func close() async {
        await server.drain(timeout: GooglePort.drainTimeout)
        listener.close()
    }
}
