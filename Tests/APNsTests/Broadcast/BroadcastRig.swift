import APNsSimulator
import Gateway
import Glibc
import HTTP
import Networking
import Observability
import Security
import Testing

@testable import APNs

extension SenderTests {
    /// Tests of broadcast channels; like all with sockets they take turns.
    @Suite enum Broadcasts {}
}

/// A manager and a sender of broadcast channels on a loop of their own, and a simulator of APNs behind real TLS.
final class BroadcastRig: Sendable {
    static let timeout = Duration.seconds(10)

    let simulator: Simulator
    let loop: EventLoop
    let manager: ChannelManager
    let sender: BroadcastSender
    let log: LogLines
    let vault: MemoryVault

    private init(
        simulator: Simulator, loop: EventLoop, manager: ChannelManager, sender: BroadcastSender, log: LogLines, vault: MemoryVault
    ) {
        self.simulator = simulator
        self.loop = loop
        self.manager = manager
        self.sender = sender
        self.log = log
        self.vault = vault
    }

    /// Starts all, runs the body and stops them.
    static func run(
        _ change: @Sendable (inout BroadcastConfiguration) -> Void = { _ in },
        simulator changeSimulator: @Sendable (inout SimulatorConfiguration) -> Void = { _ in }, hasKey: Bool = true,
        clock: ProviderTokenClock = .system, _ body: (BroadcastRig) async throws -> Void
    ) async throws {
        let vault = MemoryVault(hasKey: hasKey)
        var simulated = SimulatorConfiguration()
        let key = SenderRig.providerKey
        simulated.keys = [
            APNsSimulator.ProviderKey(teamID: key.teamID, keyID: key.keyID, publicKey: vault.signingKey.publicKey)
        ]
        changeSimulator(&simulated)
        let simulator = try await Simulator.start(simulated)
        let loop = try EventLoop.start(name: "broadcast")
        let tls = try TLSContext.client(
            extraRootsPEM: simulator.certificateAuthority.certificatePEM, applicationProtocols: ["h2"])
        let log = LogLines()
        let logger = Logger(level: .debug, sink: { log.add($0) })
        let minters = ProviderTokenMinters(vault: vault, clock: clock)
        var configuration = Self.configuration(for: simulator)
        change(&configuration)
        let rig = BroadcastRig(
            simulator: simulator, loop: loop,
            manager: ChannelManager(loop: loop, configuration: configuration, tls: tls, minters: minters, logger: logger),
            sender: BroadcastSender(
                loop: loop, configuration: configuration, tls: tls, minters: minters, logger: logger, metrics: Metrics()),
            log: log, vault: vault)
        do {
            try await body(rig)
        } catch {
            await rig.stop()
            throw error
        }
        await rig.stop()
    }

    private static func configuration(for simulator: Simulator) -> BroadcastConfiguration {
        func endpoint(_ address: SocketAddress) -> APNsEndpoint { APNsEndpoint(host: "127.0.0.1", port: address.port) }
        var configuration = BroadcastConfiguration()
        configuration.production = endpoint(simulator.productionAddress)
        configuration.sandbox = endpoint(simulator.sandboxAddress)
        configuration.productionManagement = endpoint(simulator.productionManagementAddress)
        configuration.sandboxManagement = endpoint(simulator.sandboxManagementAddress)
        for part in [\BroadcastConfiguration.publishing, \BroadcastConfiguration.management] {
            configuration[keyPath: part].tickInterval = .milliseconds(20)
            configuration[keyPath: part].firstBackOff = .milliseconds(20)
        }
        return configuration
    }

    private func stop() async {
        await simulator.release()
        await sender.drain(timeout: .seconds(2))
        await manager.drain(timeout: .seconds(2))
        await simulator.stop()
        loop.stop()
    }

    func create(
        _ policy: Gateway.ChannelStoragePolicy = .mostRecent, in environment: Gateway.PushEnvironment = .production,
        timeout: Duration = timeout
    ) async -> ChannelResult<String> {
        await manager.createChannel(
            policy, request: .random(), for: SenderRig.application(), in: environment, timeout: timeout)
    }

    func list(
        in environment: Gateway.PushEnvironment = .production, timeout: Duration = timeout
    ) async -> ChannelResult<[String]> {
        await manager.channels(of: SenderRig.application(), in: environment, timeout: timeout)
    }

    func delete(_ channelID: String, in environment: Gateway.PushEnvironment = .production) async -> ChannelResult<Bool> {
        await manager.deleteChannel(channelID, of: SenderRig.application(), in: environment, timeout: Self.timeout)
    }

    /// A push of an update to a channel.
    static func batch(
        _ channelID: String, environment: Gateway.PushEnvironment = .production, notification: Int64 = 7,
        expiresAt: Int64 = 4_000_000_000, bodyByteCount: Int = 100, cancellation: Cancellation = Cancellation(),
        onFirstAccepted: (@Sendable () -> Void)? = nil
    ) -> PushBatch {
        var tokens = TokenList()
        tokens.append(Array(channelID.utf8))
        let service = PushService(broadcast: environment)
        let state = #"{"text":""# + String(repeating: "x", count: bodyByteCount) + #""}"#
        let content = PushContent(
            event: .update, attributesType: nil, attributes: nil, contentState: Array(state.utf8), alerts: [], sound: nil,
            staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 5)
        return PushBatch(
            application: SenderRig.application(), service: service, notification: NotificationID(rawValue: notification),
            collapseID: nil, priority: 5, expiresAt: expiresAt,
            bodies: [
                LiveActivityPayload().render(
                    content, form: PayloadForm(service: service), timestamp: Int64(time(nil)), alert: nil)
            ],
            devices: [environment == .production ? -1 : -2], tokens: tokens, bodyIndexes: [0], cancellation: cancellation,
            onFirstAccepted: onFirstAccepted)
    }

    /// A channel that is there without a request.
    func channel(_ policy: APNsSimulator.ChannelStoragePolicy = .mostRecent) -> String {
        simulator.makeChannel(bundleID: SenderRig.bundleID, environment: .production, policy: policy)
    }

    /// A rule for requests that want this of channels.
    func script(
        _ operation: ChannelOperation, count: Int? = nil, _ change: @Sendable (inout Rule.Effect) -> Void
    ) {
        simulator.script(
            .does(change),
            when: .when {
                $0.operation = operation
                $0.count = count
            })
    }
}
