import APNsSimulator
import Gateway
import Networking
import Observability
import Security
import Synchronization
import TestSupport
import Testing

@testable import FCM
@testable import HTTP

/// Tests with sockets and threads take turns: each of them measures nothing but its own.
@Suite(.serialized, .timeLimit(.minutes(3))) enum FCMSenderTests {}

/// Batches as the tests send them.
enum SampleBatch {
    static let notification = NotificationID(rawValue: 7)

    static func application(number: Int32 = 1, account: FCMAccount? = SampleAccount.account) -> Application {
        Application(
            id: ApplicationID(rawValue: number), publicID: UUID(high: 1, low: UInt64(number)), name: "Match", bundleID: nil,
            providerKey: nil, androidPackageName: "org.example.match", fcmAccount: account, defaultEnvironment: .production)
    }

    /// A batch to those registration tokens.
    static func make(
        _ tokens: [String], application: Application = application(), bodies: [String] = [#"{"event":"update"}"#],
        bodyIndexes: [UInt8]? = nil, cancellation: Cancellation = Cancellation(), onFirstAccepted: (@Sendable () -> Void)? = nil
    ) -> PushBatch {
        make(
            stored: tokens.map { Array($0.utf8) }, service: .fcm, application: application, bodies: bodies,
            bodyIndexes: bodyIndexes, cancellation: cancellation, onFirstAccepted: onFirstAccepted)
    }

    static func make(
        stored: [[UInt8]], service: PushService, application: Application = application(),
        bodies: [String] = [#"{"event":"update"}"#], bodyIndexes: [UInt8]? = nil, cancellation: Cancellation = Cancellation(),
        onFirstAccepted: (@Sendable () -> Void)? = nil
    ) -> PushBatch {
        var list = TokenList()
        for token in stored { list.append(token) }
        return PushBatch(
            application: application, service: service, notification: notification, collapseID: nil, priority: 10,
            expiresAt: 4_000_000_000, bodies: bodies.map { Array($0.utf8) }, devices: stored.indices.map { Int64($0) },
            tokens: list,
            bodyIndexes: bodyIndexes ?? stored.map { _ in 0 }, cancellation: cancellation, onFirstAccepted: onFirstAccepted)
    }
}

/// Lines that were logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
    func contains(_ text: String) -> Bool { all.contains { $0.contains(text) } }
}

/// A sender on a loop of its own, and a simulator of Google behind real TLS.
final class FCMRig: Sendable {
    let simulator: Simulator
    let loop: EventLoop
    let sender: FCMSender
    let vault: MemoryVault
    let log: LogLines

    private init(simulator: Simulator, loop: EventLoop, sender: FCMSender, vault: MemoryVault, log: LogLines) {
        self.simulator = simulator
        self.loop = loop
        self.sender = sender
        self.vault = vault
        self.log = log
    }

    /// Starts both, runs the body and stops both.
    static func run(
        _ change: @Sendable (inout FCMConfiguration) -> Void = { _ in }, vault: MemoryVault = MemoryVault(),
        _ body: (FCMRig) async throws -> Void
    ) async throws {
        let simulator = try await Simulator.start()
        simulator.google.register(try #require(GoogleAccount(serviceAccount: SampleAccount.json())))
        var configuration = FCMConfiguration()
        configuration.messages = HTTPOrigin(host: "127.0.0.1", port: simulator.googleAddress.port)
        configuration.tokens = configuration.messages
        configuration.tickInterval = .milliseconds(20)
        configuration.refusalRest = .milliseconds(5)
        configuration.client.tickInterval = .milliseconds(20)
        configuration.client.firstBackOff = .milliseconds(5)
        configuration.client.longestBackOff = .milliseconds(50)
        configuration.client.connectionSpacing = .zero
        change(&configuration)
        let loop = try EventLoop.start(name: "fcm")
        let log = LogLines()
        let sender = FCMSender(
            loop: loop, configuration: configuration,
            tls: try TLSContext.client(
                extraRootsPEM: simulator.certificateAuthority.certificatePEM, applicationProtocols: ["h2"]),
            minters: AccessTokenMinters(vault: vault), logger: Logger(level: .debug, sink: { log.add($0) }), metrics: Metrics())
        let rig = FCMRig(simulator: simulator, loop: loop, sender: sender, vault: vault, log: log)
        do { try await body(rig) } catch {
            await rig.stop()
            throw error
        }
        await rig.stop()
    }

    private func stop() async {
        simulator.google.release()
        await sender.drain(timeout: .seconds(2))
        await simulator.stop()
        let loop = loop
        try? await onThread { loop.stop() }
    }

    var google: GoogleService { simulator.google }

    /// Waits until so many messages are held.
    func waitForHeld(_ count: Int) async { while google.heldCount < count { await Task.yield() } }
}

/// A page of a journal that keeps what it is told.
final class MarkPage: JournalPage {
    private let marks = Mutex<[[PushMark]]>([])
    init(count: Int) { marks.withLock { $0 = Array(repeating: [], count: count) } }
    func mark(_ index: Int, _ mark: PushMark) { marks.withLock { $0[index].append(mark) } }
    func close() {}
    var all: [[PushMark]] { marks.withLock { $0 } }
}
