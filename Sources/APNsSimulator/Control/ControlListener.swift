import HTTP
import Networking

/// Serves the control requests of one simulator over HTTP/1.1 in clear; meant for this machine only.
final class ControlListener: Sendable {
    /// Largest control request, in bytes: room for a hundred thousand device tokens.
    static let bodyByteCountLimit = 32 << 20
    /// How long control requests may take once the simulator stops.
    private static let drainTimeout: Duration = .seconds(1)

    let address: SocketAddress
    private let listener: Listener
    private let server: HTTPServer

    static func open(_ address: SocketAddress, loop: EventLoop, simulator: Simulator) async throws -> ControlListener {
        let control = try ControlListener(address, loop: loop, simulator: simulator)
        try await control.server.start()
        return control
    }

    private init(_ address: SocketAddress, loop: EventLoop, simulator: Simulator) throws {
        listener = try Listener.bind(address)
        self.address = listener.address
        var limits = HTTPServerLimits()
        limits.bodyByteCount = ControlListener.bodyByteCountLimit
        server = HTTPServer(
            loop: loop, listeners: [listener], tls: nil, handler: ControlHandler(simulator: simulator), limits: limits)
    }

    func close() async {
        await server.drain(timeout: ControlListener.drainTimeout)
        listener.close()
    }
}
