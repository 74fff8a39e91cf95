import Gateway
import HTTP
import Networking
import Observability
import Security

extension PushPool {
    /// Opens a connection when pushes wait and it is time for one.
    func connectIfNeeded(now: ContinuousClock.Instant) {
        guard growth.shouldConnect(situation, now: now), !isDraining else { return }
        growth.attempted(at: now)
        connectTask = (Task { await connect() }, now)
    }

    private var situation: ConnectionGrowth.Situation {
        var situation = ConnectionGrowth.Situation(waitingCount: lanes.waitingCount, isConnecting: connectTask != nil)
        for connection in connections {
            switch connection.life.phase {
            case .connecting: situation.isConnecting = true
            case .open:
                situation.openCount += 1
                situation.streamCount += connection.session.streamLimit
                if !connection.life.hasAnswered { situation.hasUnproved = true }
            case .draining, .closed: break
            }
        }
        return situation
    }

    private func connect() async {
        do {
            // A fresh look-up for each connection, as Apple asks.
            let addresses = try await configuration.lookUp(endpoint)
            connectTask = nil
            guard !isDraining else { return }
            addressCount = addresses.count
            try open(to: nextAddress(of: addresses))
        } catch {
            connectTask = nil
            connectFailed(error)
        }
    }

    /// Addresses take turns; those without a connection come first.
    func nextAddress(of addresses: [SocketAddress]) -> SocketAddress {
        let used = Set(connections.map(\.address))
        addressTurn += 1
        let turned = addresses.indices.map { addresses[($0 + addressTurn) % addresses.count] }
        return turned.first { !used.contains($0) } ?? turned[0]
    }

    private func open(to address: SocketAddress) throws {
        let session = try TLSSession(client: tls, host: endpoint.host)
        let stream = try SocketStream.connect(to: address, loop: loop, tls: session)
        lastConnectionNumber += 1
        let connection = try APNsConnection(
            number: lastConnectionNumber, address: address, stream: stream, configuration: configuration, now: .now)
        try connection.activate(handler: ConnectionHandler(pool: self, number: lastConnectionNumber))
        connections.append(connection)
        metrics.connections.add(1)
        armTick()
    }

    private func connectFailed(_ error: any Error) {
        metrics.connectionFailures.add()
        growth.failed(at: .now, addressCount: addressCount, jitter: .random(in: 0..<1))
        logger.log(
            .warning, "No connection to APNs could be made",
            [.host: endpoint.host, .port: String(endpoint.port), .environment: environment.name, .reason: "\(error)"])
        scheduleFill()
    }
}
