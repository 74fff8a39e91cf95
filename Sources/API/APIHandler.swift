package import Gateway
package import HTTP
package import Observability

/// What the API needs of the rest of the daemon.
package struct APIPorts: Sendable {
    /// Finds who is asking.
    package var directory: any PrincipalDirectory
    /// Admits starts, updates and ends.
    package var admission: Admission
    /// Waits for the first accepted push of an update or end.
    package var waiter: any FanOutWaiter
    /// Keeps what devices tell.
    package var registry: any DeviceRegistry
    /// Keeps devices as the users of OneSignal's wire.
    package var users: any UserRegistry
    /// Puts devices on channels.
    package var channels: any ChannelSubscriptions
    /// Counts taps.
    package var taps: any TapCounter
    /// Keeps stored audiences.
    package var segments: any SegmentDirectory
    /// Counts audiences.
    package var audiences: any AudienceCounter
    /// Renders what a preview shows.
    package var renderer: any PayloadRenderer
    /// Reads what dashboards show.
    package var reader: any NotificationReader
    /// Reads single devices, lists and statistics.
    package var dashboards: any DashboardReader
    /// Starts, updates and ends live notifications, and keeps them.
    package var liveNotifications: LiveNotifications
    package var instances: any InstanceLedger
    /// Starts, updates and ends instances of broadcast campaigns, and keeps them.
    package var broadcasts: Broadcasts
    package var campaigns: Campaigns
    /// Feeds streams of events; one for the whole process.
    package var events: EventHub

    /// Puts the ports together.
    package init(
        directory: any PrincipalDirectory, admission: Admission, waiter: any FanOutWaiter, registry: any DeviceRegistry,
        users: any UserRegistry, channels: any ChannelSubscriptions, taps: any TapCounter, segments: any SegmentDirectory,
        audiences: any AudienceCounter, renderer: any PayloadRenderer, reader: any NotificationReader,
        dashboards: any DashboardReader, liveNotifications: LiveNotifications, instances: any InstanceLedger,
        broadcasts: Broadcasts, campaigns: Campaigns, events: EventHub
    ) {
        self.directory = directory
        self.admission = admission
        self.waiter = waiter
        self.registry = registry
        self.users = users
        self.channels = channels
        self.taps = taps
        self.segments = segments
        self.audiences = audiences
        self.renderer = renderer
        self.reader = reader
        self.dashboards = dashboards
        self.liveNotifications = liveNotifications
        self.instances = instances
        self.broadcasts = broadcasts
        self.campaigns = campaigns
        self.events = events
    }
}

/// How long the API waits.
package struct APISettings: Sendable {
    /// How long an update or end waits for its first accepted push; then it is answered and goes on. Default 5 s.
    package var firstAcceptanceTimeout: Duration = .seconds(5)
    /// Pause between two looks for the push a tap belongs to, while it is being recorded. Default 100 ms.
    package var clickPollInterval: Duration = .milliseconds(100)
    /// Most such looks after the first: 2 s by default.
    package var clickPollCount = 20
    /// Most bytes of batches of events that one event loop holds, after inflating, until they are stored; further ones are refused with
    /// 503, and their senders keep them. Default 64 MiB.
    package var heldEventByteCount = 64 << 20
    /// The defaults.
    package init() {}
}

/// What the API asks of the world outside.
package struct APIClock: Sendable {
    /// Seconds since 1970.
    package var now: @Sendable () -> Int64
    /// Returns after that time, on any executor.
    package var sleep: @Sendable (Duration) async -> Void
    /// Puts both together.
    package init(now: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (Duration) async -> Void) {
        self.now = now
        self.sleep = sleep
    }
}

/// Answers every request of every dialect: finds the route, finds out who asks, and lets the dialect do the rest.
package struct APIHandler: HTTPHandler {
    private let authentication: Authentication
    private let activities: ActivityRoutes
    private let segments: SegmentRoutes
    private let audiences: AudienceRoutes
    private let devices: DeviceRoutes
    private let users: UserRoutes
    private let liveActivities: LiveActivityRoutes
    private let clientParameters: ClientParameterRoutes
    private let reading: ReadingRoutes
    private let events: EventRoutes
    private let messages: MessageRoutes
    private let dashboards: DashboardRoutes
    private let deviceReading: DeviceReadingRoutes
    private let liveNotifications: LiveNotificationRoutes
    private let ingestion: IngestionRoutes
    private let broadcasts: BroadcastRoutes
    private let operations: OperationsRoutes
    private let now: @Sendable () -> Int64
    private let meters: RequestMeters
    private let logger: Logger

    /// Wires the routes.
    ///
    /// - Parameter readiness: looks at every part the daemon needs; asked on each `/readyz`.
    package init(
        ports: APIPorts, settings: APISettings = APISettings(), clock: APIClock,
        readiness: @escaping @Sendable () async -> [ReadinessPart], metrics: Metrics, logger: Logger
    ) {
        authentication = Authentication(directory: ports.directory)
        activities = ActivityRoutes(
            requests: ActivityRequests(now: clock.now), admission: ports.admission, waiter: ports.waiter,
            firstAcceptanceTimeout: settings.firstAcceptanceTimeout, logger: logger)
        segments = SegmentRoutes(segments: ports.segments)
        audiences = AudienceRoutes(counter: ports.audiences, renderer: ports.renderer, now: clock.now)
        let reports = TapReports(
            taps: ports.taps, interval: settings.clickPollInterval, lookCount: settings.clickPollCount, sleep: clock.sleep)
        devices = DeviceRoutes(registry: ports.registry, channels: ports.channels, reports: reports, now: clock.now)
        users = UserRoutes(users: ports.users)
        liveActivities = LiveActivityRoutes(registry: ports.registry, reports: reports)
        clientParameters = ClientParameterRoutes(directory: ports.directory)
        dashboards = DashboardRoutes(deliveries: ports.dashboards)
        reading = ReadingRoutes(reader: ports.reader, dashboards: dashboards)
        events = EventRoutes(reader: ports.reader, directory: ports.directory, hub: ports.events)
        deviceReading = DeviceReadingRoutes(reader: ports.dashboards, now: clock.now)
        messages = MessageRoutes(reader: ports.reader)
        liveNotifications = LiveNotificationRoutes(
            requests: LiveNotificationRequests(now: clock.now), liveNotifications: ports.liveNotifications,
            reading: LiveNotificationReading(instances: ports.instances))
        ingestion = IngestionRoutes(
            authentication: authentication,
            keeping: EventKeeping(registry: ports.registry, users: ports.users, instances: ports.instances),
            meters: IngestionMeters(metrics: metrics), held: HeldBytes(limit: settings.heldEventByteCount), now: clock.now,
            logger: logger)
        broadcasts = BroadcastRoutes(
            authentication: WorkspaceAuthentication(directory: ports.directory), broadcasts: ports.broadcasts,
            campaigns: CampaignRoutes(campaigns: ports.campaigns))
        now = clock.now
        operations = OperationsRoutes(readiness: readiness, metrics: metrics)
        meters = RequestMeters(metrics: metrics)
        self.logger = logger
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        let begin = ContinuousClock.now
        let route: Route?
        let response: HTTPResponse
        switch Router.match(request) {
        case .notFound:
            route = nil
            response = Router.envelope(for: request).response(for: .noRoute)
        case .methodNotAllowed(let methods, let envelope):
            route = nil
            response = envelope.response(for: .methodNotAllowed(methods))
        case .found(let found, let parameters):
            route = found
            response = await respond(to: request, route: found, parameters: parameters)
        }
        record(response, of: route, duration: begin.duration(to: .now))
        return response
    }

    /// Counts and logs one answer. What a client may choose freely, such as a path or an id, goes into neither.
    private func record(_ response: HTTPResponse, of route: Route?, duration: Duration) {
        meters.count(route, status: response.status, duration: duration)
        logger.log(
            .debug, "Answered a request",
            [
                .route: route?.name ?? "none", .method: route?.method ?? "none", .status: "\(response.status)",
                .durationMilliseconds: "\(Int64(duration / .milliseconds(1)))",
            ])
    }

    private func respond(to request: HTTPRequest, route: Route, parameters: [String]) async -> HTTPResponse {
        do throws(Refusal) {
            return try await answer(request, route: route, parameters: parameters)
        } catch {
            if case .storage(.refused(let sqlState)) = error {
                logger.log(.error, "PostgreSQL refused a statement of a request", [.route: route.name, .sqlState: sqlState])
            }
            return route.envelope.response(for: error)
        }
    }

    private func answer(_ request: HTTPRequest, route: Route, parameters: [String]) async throws(Refusal) -> HTTPResponse {
        switch route {
        case .live: return operations.live()
        case .ready: return await operations.ready()
        case .metrics: return operations.prometheus()
        case .openAPI: return operations.description()
        case .sendBatch, .sendPublicBatch, .sendTrack, .sendIdentify, .readProjectSettings:
            return try await ingestion.respond(to: request, route: route, parameters: parameters)
        case .readClientParameters, .readAndroidParameters:
            return try await clientParameters.respond(route: route, app: parameters[0])
        case .createCampaign, .startBroadcast, .updateBroadcast, .endBroadcast:
            return try await broadcasts.respond(to: request, route: route)
        default: break
        }
        if route.need != nil { return try await answerDevice(request, route: route, parameters: parameters) }
        let (principal, keyDigest) = try await authentication.authenticated(request)
        try principal.check(for: route, parameters: parameters)
        let application = principal.application
        // Where a path has an app, the route's own parameter is the one after it.
        let parameter = parameters.last ?? ""
        switch route {
        case .startActivity:
            return try await activities.start(request, activityType: parameter, application: application)
        case .pushActivity: return try await activities.push(request, activityID: parameter, application: application)
        case .createAppSegment, .listAppSegments, .readAppSegment, .changeAppSegment, .removeAppSegment, .createSegment,
            .listSegments, .readSegment, .changeSegment, .removeSegment:
            return try await segments.respond(to: request, route: route, parameter: parameter, application: application)
        case .previewAudience: return try await audiences.preview(request, application: application)
        case .countUnsaved: return try await audiences.countUnsaved(request, application: application)
        case .registerDevice, .setUpdateToken, .setStartToken, .removeStartToken, .recordClick, .endActivity, .joinChannel:
            return try await devices.respond(
                to: request, route: route, parameter: parameter,
                caller: try Authentication.caller(of: request, for: route, principal, now: now()))
        case .readNotification: return try await reading.notification(request, id: parameter, application: application)
        case .watchNotification:
            return try await events.events(request, notification: parameter, application: application, keyDigest: keyDigest)
        case .listNotifications: return try await reading.notifications(request, application: application)
        case .readActivity: return try await reading.activity(parameter, application: application)
        case .listActivities: return try await dashboards.activities(request, application: application)
        case .listDeliveries:
            return try await dashboards.deliveries(request, notification: parameter, application: application)
        case .readDevice: return try await deviceReading.device(parameter, application: application)
        case .listPushes: return try await deviceReading.timeline(request, device: parameter, application: application)
        case .readStatistics: return try await deviceReading.statistics(request, application: application)
        case .readMessage: return try await messages.message(request, id: parameter, application: application)
        case .startLiveNotification, .updateLiveNotification, .endLiveNotification, .listLiveNotifications,
            .listNotificationTypes, .nameNotificationType, .readLiveNotification, .listInstanceDeliveries:
            return try await liveNotifications.respond(
                to: request, route: route, parameter: parameter, application: application)
        default: preconditionFailure("answered above")
        }
    }

    /// Answers a route that devices on OneSignal's wire call, with a key or without.
    private func answerDevice(_ request: HTTPRequest, route: Route, parameters: [String]) async throws(Refusal) -> HTTPResponse {
        let caller = try await authentication.caller(of: request, for: route, parameters: parameters, now: now())
        switch route {
        case .setTypeToken, .removeTypeToken, .setActivityToken, .setUserActivityToken, .removeActivityToken, .confirmReceipt,
            .reportClick:
            return try await liveActivities.respond(to: request, route: route, parameters: parameters, caller: caller)
        default:
            return try await users.respond(
                to: request, route: route, parameters: Array(parameters.dropFirst()), caller: caller)
        }
    }
}
