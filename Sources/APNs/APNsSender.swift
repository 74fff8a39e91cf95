package import Gateway
package import Networking
package import Observability
package import Security

/// Sends batches to APNs over the connections of one event loop.
///
/// Each environment and signing key has its own pool, so that a broken key or service holds no other app back.
package actor APNsSender: PushSender {
    struct PoolKey: Hashable {
        let environment: PushEnvironment
        let providerKey: ProviderKey
    }

    private nonisolated let loop: EventLoop
    private let configuration: APNsConfiguration
    private let minters: ProviderTokenMinters
    private let logger: Logger
    private let metrics: PoolMetrics
    private let trust: APNsTrust
    private var tls: TLSContext
    private(set) var pools: [PoolKey: PushPool] = [:]
    private(set) var isDraining = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// A sender without connections; they are made as pushes come.
    ///
    /// - Parameters:
    ///   - tls: a client context that verifies APNs, with ALPN `h2`.
    ///   - minters: shared by the senders of all loops.
    ///   - trust: where it notes whether Apple's certificates are accepted; shared as well.
    package init(
        loop: EventLoop, configuration: APNsConfiguration, tls: TLSContext, minters: ProviderTokenMinters, logger: Logger,
        metrics: Metrics, trust: APNsTrust = APNsTrust()
    ) {
        self.loop = loop
        self.configuration = configuration
        self.tls = tls
        self.minters = minters
        self.logger = logger
        self.metrics = PoolMetrics(metrics: metrics)
        self.trust = trust
    }

    package func send(_ batch: PushBatch) async -> [PushOutcome] {
        guard !isDraining else { return [PushOutcome](repeating: .notSent, count: batch.devices.count) }
        guard let environment = batch.service.environment, let providerKey = batch.application.providerKey,
            batch.application.bundleID != nil
        else { return [PushOutcome](repeating: .rejected(.credentialsRefused), count: batch.devices.count) }
        return await pool(of: PoolKey(environment: environment, providerKey: providerKey)).send(batch)
    }

    /// Verifies APNs by another context from the next connection on, after the file of roots was replaced.
    package func replaceTLS(_ context: TLSContext) async {
        tls = context
        trust.rootsReplaced()
        for pool in pools.values { await pool.replaceTLS(context) }
    }

    /// Takes nothing new and hands back what waits as not sent: no push leaves after this returns. The sender cannot be used afterwards.
    package func stopSubmitting() async {
        isDraining = true
        for pool in pools.values { await pool.stopSubmitting() }
    }

    /// Stops submitting and waits for what is on the wire, up to the timeout. What has no answer by then is unknown.
    package func drain(timeout: Duration) async {
        isDraining = true
        let draining = Array(pools.values)
        await withTaskGroup(of: Void.self) { group in
            for pool in draining { group.addTask { await pool.drain(timeout: timeout) } }
        }
    }

    /// The pool of an environment and key, made on first use. Bounded by twice the number of keys in the database.
    private func pool(of key: PoolKey) -> PushPool {
        if let known = pools[key] { return known }
        let pool = PushPool(
            loop: loop, environment: key.environment, configuration: configuration, tls: tls,
            minter: minters.minter(of: key.providerKey), logger: logger, metrics: metrics,
            trust: trust)
        pools[key] = pool
        return pool
    }
}
