package import Gateway
package import HTTP
package import Networking
package import Observability
package import Security

/// Sends batches through FCM over the connections of one event loop: to Android devices, and to Live Activities behind FCM.
///
/// FCM takes one message a request. All projects share the connections, which FCM binds to nobody; a project whose account is broken
/// waits by itself.
package actor FCMSender: PushSender {
    nonisolated let loop: EventLoop
    let configuration: FCMConfiguration
    let clock: FCMClock
    let minters: AccessTokenMinters
    let messages: HTTPClient
    let tokens: HTTPClient
    let logger: Logger
    let metrics: FCMMetrics

    var lanes = FCMLaneRing()
    var holds = ApplicationHolds()
    /// By project. Bounded by the projects in the database.
    var paces: [String: MessagePace] = [:]
    /// Messages that are with the client.
    var inFlightCount = 0
    var refreshing: Set<FCMAccount> = []
    /// Accounts of which it was said that no token can be had.
    var saidFailed: Set<FCMAccount> = []
    var isFillScheduled = false
    var fillTimer: TimerID?
    var tickTimer: TimerID?
    /// After a refused stream nothing is submitted before this moment.
    var resumesAt: ContinuousClock.Instant?
    /// When FCM last answered anything.
    var lastAnswerAt: ContinuousClock.Instant?
    var isDraining = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// A sender without connections; they are made as pushes come.
    ///
    /// - Parameters:
    ///   - tls: a client context that verifies Google's servers, with ALPN `h2`.
    ///   - minters: shared by the senders of all loops.
    package init(
        loop: EventLoop, configuration: FCMConfiguration, tls: TLSContext, minters: AccessTokenMinters, logger: Logger,
        metrics: Metrics, clock: FCMClock = .system
    ) {
        self.loop = loop
        self.configuration = configuration
        self.clock = clock
        self.minters = minters
        self.logger = logger
        let counters = FCMMetrics(metrics: metrics)
        self.metrics = counters
        func client(_ origin: HTTPOrigin, _ client: HTTPClientConfiguration) -> HTTPClient {
            HTTPClient(
                loop: loop, origin: origin, tls: tls, configuration: client,
                report: { Self.note($0, origin: origin, logger: logger, metrics: counters) })
        }
        var forMessages = configuration.client
        forMessages.connectionCount = configuration.connectionCount
        forMessages.waitingCount = configuration.inFlightCount
        messages = client(configuration.messages, forMessages)
        tokens = client(configuration.tokens, configuration.client)
    }

    package func send(_ batch: PushBatch) async -> [PushOutcome] {
        let count = batch.devices.count
        guard let account = batch.application.fcmAccount else {
            return [PushOutcome](repeating: .rejected(.credentialsRefused), count: count)
        }
        guard count > 0, !isDraining, !batch.cancellation.isCancelled, lanes.count < configuration.batchCount else {
            return [PushOutcome](repeating: .notSent, count: count)
        }
        return await withCheckedContinuation { finish in
            guard !isDraining else { return finish.resume(returning: [PushOutcome](repeating: .notSent, count: count)) }
            let lane = FCMLane(batch: batch, account: account, number: lanes.nextNumber(), enqueuedAt: .now, finish: finish)
            lane.completeTooLarge()
            lanes.add(lane)
            scheduleFill()
            armTick()
        }
    }

    /// Verifies Google's servers by another context from the next connection on.
    package func replaceTLS(_ context: TLSContext) async {
        await messages.replaceTLS(context)
        await tokens.replaceTLS(context)
    }

    /// Takes nothing new and hands back what waits as not sent: no push leaves after this returns. The sender cannot be used afterwards.
    package func stopSubmitting() async {
        isDraining = true
        for lane in lanes.all { lane.completeWaiting(.notSent) }
        lanes.removeFinished()
        await messages.stopSubmitting()
    }

    /// Stops submitting and waits for what is on the wire, up to the timeout. What has no answer by then is unknown.
    package func drain(timeout: Duration) async {
        await stopSubmitting()
        await messages.drain(timeout: timeout)
        await tokens.drain(timeout: .zero)
        if let timer = tickTimer { loop.cancel(timer) }
        if let timer = fillTimer { loop.cancel(timer) }
    }

    private static func note(_ event: HTTPClientEvent, origin: HTTPOrigin, logger: Logger, metrics: FCMMetrics) {
        switch event {
        case .connectionOpened: break
        case .connectionClosed(let address, let goAway):
            logger.log(
                .info, "connection to Google replaced",
                [.host: origin.host, .address: address, .errorCode: goAway.map { String($0.errorCode) } ?? "none"])
        case .connectionFailed(let address, let failure, let unansweredCount):
            metrics.connectionFailures.add()
            var level = LogLevel.warning
            if case .certificateRejected = failure { level = .error }
            logger.log(
                level, "connection to Google ended",
                [
                    .host: origin.host, .address: address, .reason: failure.description,
                    .unknownCount: String(unansweredCount),
                ])
        }
    }
}

/// The token endpoint as one loop reaches it.
package struct HTTPTokenEndpoint: TokenEndpoint {
    private let client: HTTPClient
    private let timeout: Duration

    /// Asks over this client, so long at most.
    package init(client: HTTPClient, timeout: Duration) {
        self.client = client
        self.timeout = timeout
    }

    /// Sends the grant.
    package func send(_ grant: HTTPClientRequest) async -> HTTPClientResult { await client.send(grant, timeout: timeout) }
}
