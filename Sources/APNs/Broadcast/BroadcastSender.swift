package import Gateway
import Glibc
import HTTP
package import Networking
package import Observability
package import Security

/// Sends pushes to broadcast channels: each is one request, however many devices are on the channel.
///
/// Source: Apple, "Sending broadcast push notification requests to APNs".
package actor BroadcastSender: PushSender {
    private nonisolated let loop: EventLoop
    private let configuration: BroadcastConfiguration
    private let logger: Logger
    private let metrics: BroadcastMetrics
    private var clients: ProviderClients
    private var isDraining = false
    /// Apps whose set-up Apple refused, with when that was logged last.
    private var refusedApplications: [ApplicationID: ContinuousClock.Instant] = [:]
    /// Time between two log lines about the same app.
    private static let logPause = Duration.seconds(60)

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// A sender without connections; they are made as pushes come.
    ///
    /// - Parameters:
    ///   - tls: a client context that verifies APNs, with ALPN `h2`.
    ///   - minters: shared with the senders of all loops.
    package init(
        loop: EventLoop, configuration: BroadcastConfiguration, tls: TLSContext, minters: ProviderTokenMinters, logger: Logger,
        metrics: Metrics, trust: APNsTrust = APNsTrust()
    ) {
        self.loop = loop
        self.configuration = configuration
        self.logger = logger
        self.metrics = BroadcastMetrics(metrics: metrics)
        clients = ProviderClients(loop: loop, minters: minters, logger: logger, trust: trust, tls: tls)
    }

    package func send(_ batch: PushBatch) async -> [PushOutcome] {
        guard !isDraining else { return [PushOutcome](repeating: .notSent, count: batch.devices.count) }
        guard let environment = batch.service.environment, batch.service.isBroadcast,
            let providerKey = batch.application.providerKey, let bundleID = batch.application.bundleID
        else { return [PushOutcome](repeating: .rejected(.credentialsRefused), count: batch.devices.count) }
        let client = clients.client(
            ProviderClients.Key(environment: environment, providerKey: providerKey),
            endpoint: configuration.publishingEndpoint(of: environment), configuration: configuration.publishing)
        // An activity has one channel in an environment: a batch is one push.
        var outcomes: [PushOutcome] = []
        for index in batch.devices.indices {
            let outcome = await send(index, of: batch, bundleID: bundleID, through: client)
            batch.marks?.ended(index, outcome)
            if outcome == .accepted { batch.onFirstAccepted?() }
            outcomes.append(outcome)
        }
        return outcomes
    }

    /// Verifies APNs by another context from the next connection on, after the file of roots was replaced.
    package func replaceTLS(_ context: TLSContext) async {
        clients.use(context)
        for client in clients.clients.values { await client.replaceTLS(context) }
    }

    /// Takes nothing new and hands back what waits as not sent.
    package func stopSubmitting() async {
        isDraining = true
        for client in clients.clients.values { await client.stopSubmitting() }
    }

    /// Stops submitting and waits for what is on the wire, up to the timeout.
    package func drain(timeout: Duration) async {
        isDraining = true
        let draining = Array(clients.clients.values)
        await withTaskGroup(of: Void.self) { group in
            for client in draining { group.addTask { await client.drain(timeout: timeout) } }
        }
    }

    private func send(
        _ index: Int, of batch: PushBatch, bundleID: String, through client: ProviderClient
    ) async -> PushOutcome {
        let channelID = String(decoding: batch.tokens[index], as: UTF8.self)
        let (marks, cancellation) = (batch.marks, batch.cancellation)
        let request = ProviderClient.Request(
            method: "POST", path: "/4/broadcasts/apps/\(bundleID)",
            fields: [
                HTTP2Field("apns-channel-id", channelID),
                HTTP2Field("apns-request-id", "\(UUID.ofPush(notification: batch.notification, device: batch.devices[index]))"),
                HTTP2Field("apns-push-type", "liveactivity"), HTTP2Field("apns-priority", String(batch.priority)),
                HTTP2Field("apns-expiration", String(batch.expiresAt)),
            ],
            body: batch.bodies[Int(batch.bodyIndexes[index])],
            mayLeave: {
                guard !cancellation.isCancelled else { return false }
                marks?.submitted(index)
                return true
            })
        switch await client.send(request, timeout: configuration.answerTimeout) {
        case .answered(let answer, _): return judge(answer, of: batch)
        case .held(let reason, let delay): return .deferred(reason, delayMilliseconds: delay)
        case .notSent(.withdrawn), .notSent(.draining): return .notSent
        case .notSent: return .deferred(.connectionFailed, delayMilliseconds: configuration.unreachableDelayMilliseconds)
        case .unanswered:
            metrics.unanswered.add()
            return .unknown
        }
    }

    private func judge(_ answer: PushResponse, of batch: PushBatch) -> PushOutcome {
        let verdict = ResponseClass.verdict(on: answer, wallSeconds: Int64(time(nil)))
        if verdict.outcome == .accepted {
            metrics.accepted.add()
            refusedApplications[batch.application.id] = nil
            return .accepted
        }
        metrics.refused.add()
        if verdict.consequence == .countApplicationRefusal, case .rejected(let reason) = verdict.outcome {
            noteRefusal(reason, of: batch)
        }
        return verdict.outcome
    }

    private func noteRefusal(_ reason: DeliveryReason, of batch: PushBatch) {
        let now = ContinuousClock.now
        if let last = refusedApplications[batch.application.id], now - last < Self.logPause { return }
        refusedApplications[batch.application.id] = now
        logger.log(
            .error, "Apple refuses the app's set-up for broadcast channels: check its broadcast capability, bundle id and key",
            [
                .appID: batch.application.publicID.description, .reason: reason.name,
                .environment: batch.service.environment?.name ?? "",
            ])
    }
}

/// What senders to channels count. One for all of a process.
struct BroadcastMetrics: Sendable {
    /// Pushes to channels that APNs accepted, refused, and never answered.
    let accepted: Counter
    let refused: Counter
    let unanswered: Counter

    init(metrics: Metrics) {
        let name = "openpush_broadcast_answers_total"
        let help = "Answers of APNs to pushes to broadcast channels; one reaches all devices of a channel"
        accepted = metrics.counter(name, help: help, labels: ["outcome": "accepted"])
        refused = metrics.counter(name, help: help, labels: ["outcome": "refused"])
        unanswered = metrics.counter(name, help: help, labels: ["outcome": "unanswered"])
    }
}
