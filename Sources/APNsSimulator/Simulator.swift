package import Networking
package import Security
import Synchronization

/// Plays APNs on this machine: judges pushes as Apple does, misbehaves as told, and remembers everything.
package final class Simulator: Sendable {
    /// Where pushes for production are taken, with the real port.
    package var productionAddress: SocketAddress { production.address }
    /// Where pushes for the sandbox are taken, with the real port.
    package var sandboxAddress: SocketAddress { sandbox.address }
    /// Where Google is played, with the real port.
    package var googleAddress: SocketAddress { googlePort.address }
    /// Google's side: service accounts, registration tokens, messages.
    package var google: GoogleService { core.google }
    /// Where channels of production are managed, with the real port.
    package var productionManagementAddress: SocketAddress { productionManagement.address }
    /// Where channels of the sandbox are managed, with the real port.
    package var sandboxManagementAddress: SocketAddress { sandboxManagement.address }
    /// Where the control listener is; nil without one.
    package var controlAddress: SocketAddress? { control.withLock { $0?.address } }
    /// What a sender must trust.
    package let certificateAuthority: CertificateAuthority

    let core: SimulatorCore
    private let loops: [EventLoop]
    private let production: PushPort
    private let sandbox: PushPort
    private let googlePort: GooglePort
    private let productionManagement: PushPort
    private let sandboxManagement: PushPort
    /// It serves this simulator, and is let go by `stop`.
    private let control = Mutex<ControlListener?>(nil)

    /// Binds the listeners and serves until `stop`.
    package static func start(_ configuration: SimulatorConfiguration = SimulatorConfiguration()) async throws -> Simulator {
        let authority = try configuration.certificateAuthority ?? .generate(commonName: "APNs simulator authority")
        let stranger = try CertificateAuthority.generate(commonName: "Unknown authority")
        let core = SimulatorCore(
            tls: try context(authority, configuration.hosts), foreignTLS: try context(stranger, configuration.hosts),
            settings: configuration.settings, clock: configuration.clock)
        for key in configuration.keys { core.keys.register(key) }
        for account in configuration.googleAccounts { core.google.register(account) }
        let loops = try (0..<max(configuration.eventLoopCount, 1)).map { try EventLoop.start(name: "simulator-\($0)") }
        do {
            func open(
                _ address: SocketAddress, _ kind: PortKind, _ environment: PushEnvironment
            ) async throws -> PushPort {
                try await PushPort.open(address, kind: kind, environment: environment, loops: loops, core: core)
            }
            let simulator = Simulator(
                core: core, certificateAuthority: authority, loops: loops,
                production: try await open(configuration.productionAddress, .push, .production),
                sandbox: try await open(configuration.sandboxAddress, .push, .sandbox),
                productionManagement: try await open(configuration.productionManagementAddress, .management, .production),
                sandboxManagement: try await open(configuration.sandboxManagementAddress, .management, .sandbox),
                googlePort: try await GooglePort.open(configuration.googleAddress, loop: loops[0], core: core))
            if let address = configuration.controlAddress {
                let control = try await ControlListener.open(address, loop: loops[0], simulator: simulator)
                simulator.control.withLock { $0 = control }
            }
            return simulator
        } catch {
            for loop in loops { loop.stop() }
            throw error
        }
    }

    private init(
        core: SimulatorCore, certificateAuthority: CertificateAuthority, loops: [EventLoop], production: PushPort,
        sandbox: PushPort, productionManagement: PushPort, sandboxManagement: PushPort, googlePort: GooglePort
    ) {
        self.core = core
        self.certificateAuthority = certificateAuthority
        self.loops = loops
        self.production = production
        self.sandbox = sandbox
        self.googlePort = googlePort
        self.productionManagement = productionManagement
        self.sandboxManagement = sandboxManagement
    }

    private static func context(_ authority: CertificateAuthority, _ hosts: [String]) throws -> TLSContext {
        let issued = try authority.issue(hosts: hosts)
        return try TLSContext.server(
            certificateChainPEM: issued.certificatePEM + authority.certificatePEM, privateKeyPEM: issued.keyPEM,
            applicationProtocols: ["h2"])
    }

    /// Closes listeners and connections, and ends the threads. Those who wait are told that nothing comes.
    package func stop() async {
        core.log.close()
        let control = control.withLock { control in
            defer { control = nil }
            return control
        }
        await control?.close()
        core.google.release()
        await googlePort.close()
        for port in [production, sandbox, productionManagement, sandboxManagement] { await port.close() }
        for connection in core.openConnections { await connection.finish() }
        for loop in loops { loop.stop() }
    }

    /// Opens or closes both push listeners.
    private func listen(_ isOpen: Bool) async throws {
        for port in [production, sandbox] {
            if isOpen { try await port.reopen() } else { await port.close() }
        }
    }
}

// MARK: - Instructions

extension Simulator {
    /// Adds a public key, or replaces the one with the same identifier.
    package func register(_ key: ProviderKey) { core.keys.register(key) }

    /// Takes a public key away, as revoking it does; false when it was not there.
    @discardableResult
    package func revoke(keyID: String) -> Bool { core.keys.revoke(keyID: keyID) }

    /// Says what device tokens are from now on.
    package func declare(_ declarations: [DeviceTokenDeclaration]) {
        for one in declarations {
            core.devices.declare(one.token, environment: one.environment, state: one.state, topic: one.topic)
        }
    }

    /// Adds rules behind those in force and answers their numbers; nil when there would be too many.
    @discardableResult
    package func add(_ rules: [Rule]) -> [Int]? { core.rules.add(rules) }

    /// Adds one rule for requests.
    package func script(_ effect: Rule.Effect, when condition: Rule.Condition = Rule.Condition()) {
        _ = core.rules.add([Rule(effect, when: condition)])
    }

    /// Removes a rule; false when there is none with this number.
    @discardableResult
    package func removeRule(_ number: Int) -> Bool { core.rules.remove(number) }

    /// Removes all rules.
    package func removeRules() { core.rules.removeAll() }

    /// The settings in force.
    package var settings: SimulatorSettings { core.settings }

    /// Changes settings. Listeners open and close, and authenticated senders are told their new number of streams, before it returns.
    /// Throws what `change` throws, and what binding a port again throws.
    package func changeSettings(_ change: (inout SimulatorSettings) throws -> Void) async throws {
        let (old, new) = try core.changeSettings(change)
        if old.listens != new.listens { try await listen(new.listens) }
        if old.concurrentStreams != new.concurrentStreams {
            for connection in core.openConnections { await connection.announce(concurrentStreams: new.concurrentStreams) }
        }
    }

    /// Answers held requests, oldest first within a connection, and says how many.
    @discardableResult
    package func release(upTo limit: Int = .max, token: [UInt8]? = nil) async -> Int {
        var count = 0
        for connection in core.openConnections where count < limit {
            count += await connection.release(upTo: limit - count, token: token)
        }
        return count
    }

    /// Does something now to every open connection: the settings, the GOAWAY, the stall and the close of an effect.
    package func apply(_ effect: Rule.Effect, environment: PushEnvironment? = nil) async {
        for connection in core.openConnections where environment == nil || environment == connection.environment {
            await connection.apply(effect)
        }
    }

    /// Back to the beginning: no rules, no device tokens, no channels, no records. Keys, settings and connections stay; held requests are answered.
    package func reset() async {
        core.rules.removeAll()
        await release()
        core.devices.removeAll()
        core.channels.removeAll()
        core.keys.forgetTokens()
        core.google.reset()
        core.log.removeAll()
    }
}

// MARK: - What happened

extension Simulator {
    /// Requests that match, oldest first; at most `limit`.
    package func requests(_ query: RequestQuery = RequestQuery(), limit: Int = .max) -> [RecordedRequest] {
        core.log.select(query, limit: limit)
    }

    /// Waits until `count` requests match, for at most `timeout`, and answers the first `count` there are.
    package func waitForRequests(
        _ count: Int, matching query: RequestQuery = RequestQuery(), timeout: Duration = .seconds(10)
    ) async -> [RecordedRequest] {
        let loop = loops[0]
        let log = core.log
        _ = await log.wait(for: count, matching: query) { waiter in
            loop.perform { loop.schedule(after: timeout) { log.giveUp(waiter) } }
        }
        return core.log.select(query, limit: count)
    }

    /// Everything known of a device token; nil for one never declared or seen.
    package func record(of token: [UInt8]) -> DeviceTokenRecord? { core.devices.record(of: token) }

    /// Sums over everything since the start or the last reset.
    package var statistics: SimulatorStatistics {
        let totals = core.devices.totals
        let size = core.log.size
        return SimulatorStatistics(
            tally: core.log.tally, providerTokenCounts: core.keys.distinctTokenCounts, tokenCount: totals.tokens,
            fallingTimestampCount: totals.falling, equalTimestampCount: totals.equal, afterEndCount: totals.afterEnd,
            recordedRequestCount: size.requests, recordedByteCount: size.bytes)
    }
}
