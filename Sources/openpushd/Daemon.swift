import API
import APNs
import Configuration
import FCM
import Gateway
import Glibc
import HTTP
import Journal
import Networking
import Observability
import PostgreSQL
import Security
import Store

/// The running daemon: builds the loops, serves until a signal, then drains.
struct Daemon: Sendable {
    /// What is left at least for recording outcomes when draining has used up its time.
    private static let recordingTimeout: Duration = .seconds(2)

    private let configuration: DaemonConfiguration
    private let logger: Logger
    private let metrics = Metrics()

    init(configuration: DaemonConfiguration) {
        self.configuration = configuration
        logger = Logger(level: configuration.log.level, format: configuration.log.format)
    }

    /// Serves until a signal comes out of `stops`, then drains.
    ///
    /// - Parameter readings: certificates that were read again.
    func run(until stops: AsyncStream<Int32>, readings: AsyncStream<CertificateReading>) async throws {
        let listeners = try configuration.listen.map { try listen(on: $0) }
        defer { for listener in listeners { listener.close() } }
        let shared = try sharedServices(listeners: listeners)
        let loops = try (0..<configuration.eventLoopCount).map { try EventLoop.start(name: "loop-\($0)") }
        defer { for loop in loops { loop.stop() } }
        let (services, first) = makeServices(loops, shared)
        for service in services { shared.workers.hang(service.worker) }
        let following = Task { await Certificates(services: services, first: first, logger: logger).follow(readings) }
        defer { following.cancel() }
        try await serve(services, first, shared: shared, until: stops)
    }

    // MARK: Building

    private func listen(on address: ListenAddress) throws -> Listener {
        guard let socketAddress = SocketAddress(literal: address.host, port: address.port) else {
            throw SystemError(operation: "listen on \(address)", code: EINVAL)
        }
        do throws(SystemError) { return try Listener.bind(socketAddress) } catch {
            throw SystemError(operation: "listen on \(address)", code: error.code)
        }
    }

    private func sharedServices(listeners: [Listener]) throws -> SharedServices {
        var apns = APNs.APNsConfiguration()
        apns.production = APNsEndpoint(host: configuration.apns.production.host, port: configuration.apns.production.port)
        apns.sandbox = APNsEndpoint(host: configuration.apns.sandbox.host, port: configuration.apns.sandbox.port)
        apns.connectionCount = configuration.apns.connectionCount
        let serverTLS = try configuration.tls.map { try Certificates.server($0) }
        return SharedServices(
            databaseOptions: try DatabaseOptions(url: configuration.databaseURL.exposed),
            sealingKey: configuration.masterKey.exposed, apnsConfiguration: apns,
            broadcastConfiguration: broadcastConfiguration(),
            apnsTLS: try Certificates.client(extraRootsPEM: configuration.apns.extraRootsPEM),
            fcmConfiguration: fcmConfiguration(),
            googleTLS: try Certificates.client(extraRootsPEM: configuration.google.extraRootsPEM),
            serverTLS: serverTLS, listeners: listeners, workers: WorkerBell(), journals: journals(),
            setAside: setAsideFanOuts(),
            quarantine: TokenQuarantine(metrics: metrics, logger: logger), metrics: metrics, logger: logger,
            node: "\(ProcessEnvironment.hostName)/\(getpid())")
    }

    private func fcmConfiguration() -> FCMConfiguration {
        var fcm = FCMConfiguration()
        fcm.messages = HTTPOrigin(host: configuration.google.messages.host, port: configuration.google.messages.port)
        fcm.tokens = HTTPOrigin(host: configuration.google.tokens.host, port: configuration.google.tokens.port)
        // Each loop has its share of what the process may send.
        fcm.messagesPerSecond = Double(configuration.google.messagesPerSecond) / Double(configuration.eventLoopCount)
        return fcm
    }

    private func broadcastConfiguration() -> BroadcastConfiguration {
        let apns = configuration.apns
        func endpoint(_ endpoint: Endpoint) -> APNsEndpoint { APNsEndpoint(host: endpoint.host, port: endpoint.port) }
        var broadcast = BroadcastConfiguration()
        broadcast.production = endpoint(apns.broadcastProduction)
        broadcast.sandbox = endpoint(apns.broadcastSandbox)
        broadcast.productionManagement = endpoint(apns.channelsProduction)
        broadcast.sandboxManagement = endpoint(apns.channelsSandbox)
        return broadcast
    }

    private func journals() -> (any PushJournals)? {
        guard let path = configuration.journalDirectory else { return nil }
        guard let bootID = JournalDirectory.currentBootID() else {
            logger.log(.warning, "No journal can be written: the system does not tell its boot id")
            return nil
        }
        let limits = FanOutLimits()
        return JournalDirectory(
            path: path, slotCount: limits.openChunkCount, deviceCount: limits.chunkDeviceCount, bootID: bootID, logger: logger)
    }

    /// An operator has to know of each: it goes on by itself only when its cause goes away.
    private func setAsideFanOuts() -> SetAsideFanOuts {
        let setAside = SetAsideFanOuts(report: { [logger] notification, error in
            logger.log(
                .error, "A fan-out is set aside: what is stored of it cannot be used by this version",
                [.notificationID: "\(notification)", .reason: "\(error)"])
        })
        metrics.gauge(
            "openpush_fan_outs_set_aside", help: "Fan-outs passed over because what is stored of them cannot be used.",
            read: { setAside.count })
        return setAside
    }

    private func makeServices(_ loops: [EventLoop], _ shared: SharedServices) -> ([LoopServices], FirstLoopServices) {
        var made: FirstLoopServices?
        let first = loops[0]
        let events = EventHub(executor: first, metrics: metrics, sleep: { await first.sleep(for: $0) })
        let services = loops.enumerated().map { number, loop in
            LoopServices(loop: loop, number: number, shared: shared, events: events) { store in
                if let made { return made }
                let fresh = FirstLoopServices(loop: loop, store: store, shared: shared)
                made = fresh
                return fresh
            }
        }
        guard let made else { preconditionFailure("there is a first loop") }
        return (services, made)
    }

    // MARK: Serving

    private func serve(
        _ services: [LoopServices], _ first: FirstLoopServices, shared: SharedServices, until stops: AsyncStream<Int32>
    ) async throws {
        for service in services { await service.connect() }
        let bell = NotificationListener(loop: services[0].loop, options: shared.databaseOptions, channels: ["fan_out"]) { _ in
            shared.workers.ring()
        }
        await bell.start()
        for service in services { try await service.server.start() }
        let watch = JournalWatch(services[0], shared)
        let watching = Task { await watch.run() }
        let upkeep = Upkeep(
            loop: services[0].loop, store: services[0].store, retentionDays: configuration.retentionDays, metrics: metrics,
            logger: logger)
        let keepingUp = Task { await upkeep.run() }
        let keepingChannels = Task(executorPreference: services[0].loop) { await first.keeper.run() }
        let dismissing = Task(executorPreference: services[0].loop) { await first.dismisser.run() }
        let working = Task {
            // What a worker claims of a dead one is unknown as a whole: the journals go first.
            await watch.firstLook()
            await withDiscardingTaskGroup { group in
                // Their child tasks start on the loop too: a hop to another thread and back costs more than most of them do.
                for service in services { group.addTask(executorPreference: service.loop) { await service.worker.run() } }
            }
        }
        let scheme = shared.serverTLS == nil ? "http" : "https"
        StandardOutput.write(
            "openpushd listens on " + shared.listeners.map { "\(scheme)://\($0.address)" }.joined(separator: " "))

        for await signal in stops {
            logger.log(.info, "Stopping: finishing what is on the wire", [.signal: "\(signal)"])
            break
        }
        keepingUp.cancel()
        keepingChannels.cancel()
        dismissing.cancel()
        await bell.stop()
        let begunAt = ContinuousClock.now
        for service in services {
            await service.sender.stopSubmitting()
            await service.fcmSender.stopSubmitting()
            await service.broadcastSender.stopSubmitting()
        }
        // Whoever comes now is refused at once and turns to another daemon, instead of waiting for one that never answers.
        for service in services { await service.server.stopAccepting() }
        for listener in shared.listeners { listener.close() }
        await drain(services, first)
        watching.cancel()
        let left = configuration.drainTimeout - begunAt.duration(to: .now)
        await Deadline.wait(for: working, atMost: max(left, Self.recordingTimeout), on: services[0].loop)
        for service in services { await service.disconnect() }
        logger.log(.info, "Stopped")
    }

    /// Stops taking requests and chunks; what is on the wire to APNs and FCM is answered or given up.
    private func drain(_ services: [LoopServices], _ first: FirstLoopServices) async {
        let timeout = configuration.drainTimeout
        let begunAt = ContinuousClock.now
        await withDiscardingTaskGroup { group in
            for service in services {
                group.addTask { await service.broadcastSender.drain(timeout: timeout) }
                group.addTask { await service.worker.stop() }
                group.addTask { await service.server.drain(timeout: timeout) }
                group.addTask { await service.sender.drain(timeout: timeout) }
                group.addTask { await service.fcmSender.drain(timeout: timeout) }
            }
        }
        // Behind the servers: a start that they still answer may be waiting for a channel.
        await first.channelManager.drain(timeout: max(timeout - begunAt.duration(to: .now), .zero))
    }
}
