import APNsSimulator
import Gateway
import Glibc
import Networking
import Observability
import Security
import Synchronization
import Testing

@testable import APNs

/// Tests with sockets and threads take turns: each of them measures nothing but its own.
@Suite(.serialized) enum SenderTests {}

/// Lines that were logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func contains(_ text: String) -> Bool { lines.withLock { $0.contains { $0.contains(text) } } }
}

/// A sender on a loop of its own, and a simulator of APNs behind real TLS.
final class SenderRig: Sendable {
    static let bundleID = "org.example.match"
    static let providerKey = Gateway.ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567")
    static let otherProviderKey = Gateway.ProviderKey(teamID: "TEAM123456", keyID: "KEY7654321")

    let simulator: Simulator
    let loop: EventLoop
    let sender: APNsSender
    let vault: MemoryVault
    let log: LogLines
    private let makeSender: @Sendable (EventLoop) throws -> APNsSender

    private init(
        simulator: Simulator, loop: EventLoop, vault: MemoryVault, log: LogLines,
        makeSender: @escaping @Sendable (EventLoop) throws -> APNsSender
    ) throws {
        self.simulator = simulator
        self.loop = loop
        self.vault = vault
        self.log = log
        self.makeSender = makeSender
        sender = try makeSender(loop)
    }

    /// Starts both, runs the body and stops both.
    static func run(
        _ change: @Sendable (inout APNsConfiguration) -> Void = { _ in },
        simulator changeSettings: @Sendable (inout SimulatorSettings) -> Void = { _ in }, hasKey: Bool = true,
        clock: ProviderTokenClock = .system, _ body: (SenderRig) async throws -> Void
    ) async throws {
        let vault = MemoryVault(hasKey: hasKey)
        var simulated = SimulatorConfiguration()
        changeSettings(&simulated.settings)
        simulated.keys = [providerKey, otherProviderKey].map {
            APNsSimulator.ProviderKey(teamID: $0.teamID, keyID: $0.keyID, publicKey: vault.signingKey.publicKey)
        }
        let simulator = try await Simulator.start(simulated)
        var configuration = APNsConfiguration()
        configuration.production = APNsEndpoint(host: "127.0.0.1", port: simulator.productionAddress.port)
        configuration.sandbox = APNsEndpoint(host: "127.0.0.1", port: simulator.sandboxAddress.port)
        configuration.tickInterval = .milliseconds(20)
        configuration.firstBackOff = .milliseconds(20)
        configuration.longestBackOff = .milliseconds(200)
        configuration.connectionSpacing = .milliseconds(20)
        change(&configuration)
        let loop = try EventLoop.start(name: "sender")
        let log = LogLines()
        let logger = Logger(
            level: .debug,
            sink: {
                Logger.writeToStandardError($0); log.add($0)
            })
        let minters = ProviderTokenMinters(vault: vault, clock: clock)
        let roots = simulator.certificateAuthority.certificatePEM
        let rig = try SenderRig(simulator: simulator, loop: loop, vault: vault, log: log) { [configuration] loop in
            APNsSender(
                loop: loop, configuration: configuration,
                tls: try TLSContext.client(extraRootsPEM: roots, applicationProtocols: ["h2"]), minters: minters,
                logger: logger, metrics: Metrics())
        }
        do {
            try await body(rig)
        } catch {
            await rig.stop()
            throw error
        }
        await rig.stop()
    }

    private func stop() async {
        await simulator.release()
        await sender.drain(timeout: .seconds(2))
        await simulator.stop()
        loop.stop()
    }

    /// Lends the sender of another loop, which shares the provider tokens.
    func withOtherLoop(_ body: (APNsSender) async throws -> Void) async throws {
        let loop = try EventLoop.start(name: "other sender")
        defer { loop.stop() }
        let sender = try makeSender(loop)
        do {
            try await body(sender)
        } catch {
            await sender.drain(timeout: .seconds(2))
            throw error
        }
        await sender.drain(timeout: .seconds(2))
    }

    /// Requests the simulator has received.
    var requestCount: Int { simulator.statistics.tally.requestCount }

    static func application(
        number: Int32 = 1, bundleID: String = bundleID, providerKey: Gateway.ProviderKey = providerKey
    ) -> Application {
        Application(
            id: ApplicationID(rawValue: number), publicID: UUID(high: 1, low: UInt64(number)), name: "Match",
            bundleID: bundleID, providerKey: providerKey, defaultEnvironment: .production)
    }

    /// The token of a test's device: 32 bytes and more, all different.
    static func token(_ device: Int, byteCount: Int = 80) -> [UInt8] {
        (0..<byteCount).map { index in
            index < 8 ? UInt8(truncatingIfNeeded: device >> (8 * index)) : UInt8(truncatingIfNeeded: index &* 7 &+ device)
        }
    }

    /// A batch of updates for the devices of that range.
    static func batch(
        _ devices: Range<Int>, application: Application = application(), environment: Gateway.PushEnvironment = .production,
        notification: Int64 = 7, collapseID: String? = nil, bodyByteCount: Int = 200, cancellation: Cancellation = Cancellation(),
        onFirstAccepted: (@Sendable () -> Void)? = nil
    ) -> PushBatch {
        var tokens = TokenList()
        for device in devices { tokens.append(token(device)) }
        let state = #"{"text":""# + String(repeating: "x", count: bodyByteCount) + #""}"#
        let content = PushContent(
            event: .update, attributesType: nil, attributes: nil, contentState: Array(state.utf8), alerts: [], sound: nil,
            staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10)
        return PushBatch(
            application: application, service: PushService(apns: environment),
            notification: NotificationID(rawValue: notification),
            collapseID: collapseID, priority: 10, expiresAt: 4_000_000_000,
            bodies: [
                LiveActivityPayload().render(
                    content, form: PayloadForm(service: .apnsProduction), timestamp: Int64(time(nil)), alert: nil)
            ],
            devices: devices.map(Int64.init), tokens: tokens, bodyIndexes: devices.map { _ in 0 }, cancellation: cancellation,
            onFirstAccepted: onFirstAccepted)
    }

    /// How often each device's push was accepted, and how often it was received.
    func counts(_ devices: Range<Int>) -> (accepted: Set<Int>, received: Set<Int>) {
        let records = devices.map { simulator.record(of: Self.token($0)) }
        return (Set(records.map { $0?.acceptedCount ?? 0 }), Set(records.map { $0?.receivedCount ?? 0 }))
    }
}

extension [PushOutcome] {
    /// How often each outcome occurs; short where a list of thousands would not be.
    var tally: [PushOutcome: Int] { reduce(into: [:]) { $0[$1, default: 0] += 1 } }
}

extension APNsSender {
    /// Whether every pool has begun to drain.
    fileprivate var poolsAreDraining: Bool {
        get async {
            for pool in pools.values where await !pool.isDraining { return false }
            return isDraining
        }
    }
    /// Waits until every pool has begun to drain.
    func waitForDrain() async { while await !poolsAreDraining { await Task.yield() } }
}

extension Rule.Condition {
    /// A condition with changes.
    static func when(_ change: (inout Rule.Condition) -> Void) -> Rule.Condition {
        var condition = Rule.Condition()
        change(&condition)
        return condition
    }
}

extension Rule.Effect {
    /// An effect with changes.
    static func does(_ change: (inout Rule.Effect) -> Void) -> Rule.Effect {
        var effect = Rule.Effect()
        change(&effect)
        return effect
    }
}

extension Rule {
    /// A rule for connections.
    static func connection(_ condition: Condition = Condition(), _ change: (inout Effect) -> Void) -> Rule {
        var rule = Rule(.does(change), when: condition)
        rule.subject = .connection
        return rule
    }
}
