import API
import APNs
import FCM
import Gateway
import HTTP
import Networking
import Observability
import PostgreSQL
import Security
import Store

/// What all loops of this process share: what must be one, and what only tells the others.
struct SharedServices: Sendable {
    let databaseOptions: DatabaseOptions
    let sealingKey: SealingKey
    let apnsConfiguration: APNs.APNsConfiguration
    let broadcastConfiguration: BroadcastConfiguration
    let apnsTLS: TLSContext
    let fcmConfiguration: FCMConfiguration
    let googleTLS: TLSContext
    let serverTLS: TLSContext?
    let listeners: [Listener]
    let servers = HTTPServerGroup()
    let board = ProgressBoard()
    let jobs = ActiveJobs()
    let workers: WorkerBell
    let database = DatabaseReadiness()
    let apnsTrust = APNsTrust()
    /// Nil when they are switched off.
    let journals: (any PushJournals)?
    let setAside: SetAsideFanOuts
    let quarantine: TokenQuarantine
    let metrics: Metrics
    let logger: Logger
    let node: String
}

/// What is one in the process and lives on the first loop and its connections to PostgreSQL.
struct FirstLoopServices: Sendable {
    /// Tokens must be one a key or account.
    let providers: ProviderTokenMinters
    let accounts: AccessTokenMinters
    let channelManager: ChannelManager
    let keeper: ChannelKeeper
    let dismisser: BroadcastDismisser

    init(loop: EventLoop, store: Store, shared: SharedServices) {
        providers = ProviderTokenMinters(vault: store, metrics: shared.metrics)
        accounts = AccessTokenMinters(vault: store)
        channelManager = ChannelManager(
            loop: loop, configuration: shared.broadcastConfiguration, tls: shared.apnsTLS, minters: providers,
            logger: shared.logger, trust: shared.apnsTrust)
        keeper = ChannelKeeper(
            executor: loop, directory: store, service: channelManager, clock: SystemClocks.fanOut(on: loop),
            logger: shared.logger, metrics: shared.metrics)
        dismisser = BroadcastDismisser(
            executor: loop, dismissals: store, clock: SystemClocks.fanOut(on: loop), logger: shared.logger,
            announce: { [workers = shared.workers] in workers.ring() })
    }
}

/// One event loop with everything that lives on it: connections of clients, to PostgreSQL, APNs and FCM, and a fan-out worker.
///
/// A second loop and a second daemon are the same thing: nothing here is shared with another loop but `SharedServices`.
struct LoopServices: Sendable {
    /// Connections to PostgreSQL of one loop: requests and the fan-out share them.
    static let databaseConnectionCount = 8
    /// Connections of one loop for what counts and adds up, which may take seconds: nothing else waits behind that.
    static let countingConnectionCount = 2
    /// How long a request waits for one of them. With it a database that has gone silent still makes a 503 within 2 s.
    static let databaseAcquireTimeout: Duration = .milliseconds(1_500)

    let loop: EventLoop
    private let pool: DatabasePool
    private let countingPool: DatabasePool
    let store: Store
    let sender: APNsSender
    let fcmSender: FCMSender
    let broadcastSender: BroadcastSender
    let worker: FanOutWorker
    let server: HTTPServer

    /// Builds the services of one loop; nothing runs yet.
    init(
        loop: EventLoop, number: Int, shared: SharedServices, events: EventHub, first: (Store) -> FirstLoopServices
    ) {
        self.loop = loop
        let logger = shared.logger
        func openPool(size: Int) -> DatabasePool {
            DatabasePool(
                loop: loop, options: shared.databaseOptions, size: size, acquireTimeout: Self.databaseAcquireTimeout
            ) { event in
                Self.log(event, logger)
            }
        }
        pool = openPool(size: Self.databaseConnectionCount)
        countingPool = openPool(size: Self.countingConnectionCount)
        store = Store(pool: pool, sealingKey: shared.sealingKey, setAside: shared.setAside)
        let counts = Store(pool: countingPool, sealingKey: shared.sealingKey, setAside: shared.setAside)
        shared.database.add(store)
        let first = first(store)
        sender = APNsSender(
            loop: loop, configuration: shared.apnsConfiguration, tls: shared.apnsTLS, minters: first.providers,
            logger: logger, metrics: shared.metrics, trust: shared.apnsTrust)
        fcmSender = FCMSender(
            loop: loop, configuration: shared.fcmConfiguration, tls: shared.googleTLS, minters: first.accounts,
            logger: logger, metrics: shared.metrics)
        broadcastSender = BroadcastSender(
            loop: loop, configuration: shared.broadcastConfiguration, tls: shared.apnsTLS, minters: first.providers,
            logger: logger, metrics: shared.metrics, trust: shared.apnsTrust)
        let senders = PushSenders(apns: sender, fcm: fcmSender, broadcast: broadcastSender)
        let renderer = PayloadRenderers(apple: LiveActivityPayload(), android: FCMData())
        let clock = SystemClocks.fanOut(on: loop)
        worker = FanOutWorker(
            executor: loop, queue: store, journals: shared.journals, sender: senders, renderer: renderer, board: shared.board,
            jobs: shared.jobs, clock: clock, node: "\(shared.node)/\(number)", logger: logger,
            counters: FanOutCounters(metrics: shared.metrics), quarantine: shared.quarantine)
        let channelLedger = ChannelLedger(
            base: store, keeper: first.keeper, clock: clock, logger: logger, metrics: shared.metrics)
        let ledger = AnnouncedLedger(base: channelLedger, board: shared.board) { [workers = shared.workers] in
            workers.ring()
        }
        let batched = BatchedServices(store: store, loop: loop)
        let handler = APIHandler(
            ports: APIPorts(
                directory: batched.principals,
                admission: Admission(ledger: ledger, renderer: renderer, now: { SystemClocks.now().seconds }),
                waiter: LedgerFanOutWaiter(ledger: ledger, board: shared.board, clock: clock), registry: batched.registry,
                users: store, channels: store, taps: batched.taps, segments: counts,
                audiences: counts, renderer: renderer, reader: store, dashboards: counts,
                liveNotifications: LiveNotifications(
                    ledger: store, renderer: renderer, nowMilliseconds: { SystemClocks.now().rawValue },
                    announce: { [workers = shared.workers] in workers.ring() }),
                instances: store,
                broadcasts: Broadcasts(
                    ledger: store, renderer: renderer, nowMilliseconds: { SystemClocks.now().rawValue },
                    announce: { [workers = shared.workers] in workers.ring() }),
                campaigns: Campaigns(ledger: store, channels: first.keeper), events: events),
            clock: SystemClocks.api(on: loop),
            readiness: { [database = shared.database, trust = shared.apnsTrust] in
                let reachability = await database.reachability()
                return [
                    ReadinessPart(
                        name: "database", isReady: reachability == .reachable,
                        reason: reachability.complaint),
                    ReadinessPart(name: "apns_certificate", isReady: trust.isComplete),
                ]
            },
            metrics: shared.metrics, logger: logger)
        let reports = ServerReports(metrics: shared.metrics, logger: logger)
        server = HTTPServer(
            loop: loop, listeners: shared.listeners, tls: shared.serverTLS, handler: handler,
            group: shared.servers, report: { reports.note($0) })
    }

    func connect() async {
        await pool.start()
        await countingPool.start()
    }

    func disconnect() async {
        await countingPool.close()
        await pool.close()
    }

    private static func log(_ event: DatabasePool.Event, _ logger: Logger) {
        switch event {
        case .connected: logger.log(.info, "PostgreSQL is reachable")
        case .connectionLost(let reason): logger.log(.warning, "A connection to PostgreSQL was lost", [.reason: reason])
        case .connectingFailed(let reason, _): logger.log(.warning, "PostgreSQL cannot be reached", [.reason: reason])
        }
    }
}
