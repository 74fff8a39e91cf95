import Gateway
import HTTP
import Networking
import Observability
import Security

/// The connections of one event loop to one of Apple's services under one key, and the batches that wait for them.
///
/// Connections belong to a team and a key because APNs binds a connection to them with its first push.
/// Everything happens on the loop: a batch costs one suspension, a push costs none.
actor PushPool {
    nonisolated let loop: EventLoop
    let endpoint: APNsEndpoint
    let environment: PushEnvironment
    let configuration: APNsConfiguration
    let minter: ProviderTokenMinter
    let logger: Logger
    let metrics: PoolMetrics
    let trust: APNsTrust
    /// What new connections verify APNs with.
    var tls: TLSContext

    var lanes = LaneRing()
    var connections: [APNsConnection] = []
    var growth: ConnectionGrowth
    var holds = ApplicationHolds()
    var lastConnectionNumber = 0
    /// The look-up and the beginning of a connection, while it goes on.
    var connectTask: (task: Task<Void, Never>, startedAt: ContinuousClock.Instant)?
    var addressCount = 1
    var addressTurn = 0
    var isRefreshingToken = false
    /// Why pushes wait for a provider token, as it was logged; nil while they do not.
    var loggedHold: DeliveryReason?
    var fillTimer: TimerID?
    var isFillScheduled = false
    var tickTimer: (id: TimerID, isIdle: Bool)?
    /// When APNs last took a push or judged one.
    var lastAnswerAt: ContinuousClock.Instant?
    /// Why APNs turned away the last push, being out of service; nil when it took or judged one since.
    var lastTurnedAway: DeliveryReason?
    /// Whether pushes were handed back for want of a connection, and none has been taken or judged since.
    var isDown = false
    var isDraining = false
    var drainWaiters: [CheckedContinuation<Void, Never>] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(
        loop: EventLoop, environment: PushEnvironment, configuration: APNsConfiguration, tls: TLSContext,
        minter: ProviderTokenMinter, logger: Logger, metrics: PoolMetrics, trust: APNsTrust
    ) {
        self.loop = loop
        self.environment = environment
        self.endpoint = configuration.endpoint(of: environment)
        self.configuration = configuration
        self.tls = tls
        self.minter = minter
        self.logger = logger
        self.metrics = metrics
        self.trust = trust
        growth = ConnectionGrowth(configuration: configuration)
    }

    /// Sends a batch; returns when each push has its outcome.
    func send(_ batch: PushBatch) async -> [PushOutcome] {
        let unsent = [PushOutcome](repeating: .notSent, count: batch.devices.count)
        guard !batch.devices.isEmpty, !isDraining, !batch.cancellation.isCancelled, lanes.count < configuration.batchCount else {
            return unsent
        }
        return await withCheckedContinuation { finish in
            guard !isDraining else { return finish.resume(returning: unsent) }
            lanes.add(BatchLane(batch: batch, number: lanes.freeNumber, enqueuedAt: .now, finish: finish))
            scheduleFill()
            armTick()
        }
    }

    /// Uses another context for new connections; those that are open stay. Pauses after failures end: they may have been for want of it.
    func replaceTLS(_ context: TLSContext) {
        tls = context
        growth.forgetFailures()
        scheduleFill()
    }

    /// Pushes on the wire.
    var inFlightCount: Int { connections.reduce(0) { $0 + $1.inFlightCount } }

    // MARK: Readiness

    /// Something happened on the socket of a connection.
    func ready(_ number: Int, _ readiness: Readiness) {
        guard let connection = connections.first(where: { $0.number == number }) else { return }
        let now = ContinuousClock.now
        let wasConnecting = connection.life.phase == .connecting
        do throws(ConnectionFailure) {
            try connection.process(readiness, now: now)
            if wasConnecting, connection.life.phase == .open { trust.verified(environment) }
            settle(connection, now: now)
        } catch {
            return lose(connection, error, now: now)
        }
        if lanes.waitingCount > 0, connection.life.phase == .open, !connection.hasManyFreeStreams {
            // A few answers at a time would make small TLS records: they gather for a moment.
            connection.pause()
            scheduleFill(after: configuration.fillInterval)
        } else {
            scheduleFill()
        }
    }

    /// Ends a connection that failed. What may have left is unknown, the rest goes out on another connection.
    func lose(_ connection: APNsConnection, _ failure: ConnectionFailure, now: ContinuousClock.Instant) {
        // Answers that came before the end count; the session has forgotten whether such a push had left.
        settle(connection, now: now)
        var unknownCount = 0
        connection.close { (push, mayHaveLeft) in
            if mayHaveLeft {
                unknownCount += 1
                lanes.lane(push.lane).complete(Int(push.index), .unknown)
            } else {
                lanes.lane(push.lane).putBack(Int(push.index))
            }
        }
        remove(connection, now: now)
        if case .stream(.security(.certificateRejected)) = failure { trust.rejected(environment) }
        logger.log(
            .warning, "connection to APNs ended",
            [
                .reason: failure.description, .address: connection.address.description, .environment: environment.name,
                .unknownCount: String(unknownCount),
            ])
        scheduleFill()
    }

    /// Ends a connection whose last answer is in.
    func finish(_ connection: APNsConnection, now: ContinuousClock.Instant) {
        let goAway = connection.session.goAway
        connection.close { (push, _) in lanes.lane(push.lane).putBack(Int(push.index)) }
        remove(connection, now: now)
        logger.log(
            .info, "connection to APNs replaced",
            [
                .address: connection.address.description, .environment: environment.name,
                .errorCode: goAway.map { String($0.errorCode) } ?? "none",
                .reason: goAway.map { GoAwayReason.text($0.debugData) } ?? "",
            ])
        scheduleFill()
    }

    private func remove(_ connection: APNsConnection, now: ContinuousClock.Instant) {
        connections.removeAll { $0 === connection }
        metrics.connections.add(-1)
        noteEnd(of: connection, now: now)
        if !connection.life.hasAnswered { metrics.connectionFailures.add() }
    }

    /// Takes no more pushes on a connection that an answer of APNs speaks against; those on the wire are awaited.
    func replace(_ connection: APNsConnection, now: ContinuousClock.Instant) {
        guard connection.life.phase == .open else { return }
        connection.life.drain()
        noteEnd(of: connection, now: now)
    }

    private func noteEnd(of connection: APNsConnection, now: ContinuousClock.Instant) {
        guard !connection.isEndNoted else { return }
        connection.isEndNoted = true
        growth.ended(connection.life, at: now, addressCount: addressCount, jitter: .random(in: 0..<1))
    }
}

/// Passes readiness on to the pool. The loop holds it until the connection is closed.
final class ConnectionHandler: ReadinessHandler {
    private let pool: PushPool
    private let number: Int

    init(pool: PushPool, number: Int) {
        self.pool = pool
        self.number = number
    }

    func ready(_ readiness: Readiness) {
        pool.assumeIsolated { $0.ready(number, readiness) }
    }
}
