package import Observability

/// Looks after the channels of all apps: keeps free ones ready, deletes those whose activity is over, and compares with Apple's list, so that
/// none is lost. One in a process; among all daemons one at a time looks after a place.
package actor ChannelKeeper {
    /// Time between two looks; a start that took a channel calls for one at once.
    static let interval = Duration.seconds(5)
    /// Time between two looks for channels whose activity is over: each of them costs a look at every activity that has one.
    static let overInterval = Duration.seconds(60)
    /// How long one request to Apple may take when nobody waits for it.
    static let requestTimeout = Duration.seconds(5)
    /// How long the row of a request keeps others away: longer than any request may take.
    static let requestSeconds = 15
    /// How long a place is kept by one daemon at most: some requests one after the other.
    static let keepingSeconds = 60
    /// How long the place must be kept on for another task to begin.
    static let taskSeconds = requestSeconds + 5
    /// Channels deleted in one look at a place, and refusals one after the other that are not about one channel.
    static let deletionCount = 50
    static let deletionRefusalCount = 3
    /// Times a channel is asked for anew while Apple's list is being compared, and the pause between two.
    private static let listingAttemptCount = 10
    private static let listingPause = Duration.milliseconds(100)
    /// How long after a refusal that only the operator can change nothing more is asked of Apple for the place; after one for want of room, no
    /// channel.
    static let refusalPause = Duration.seconds(60)

    private let executor: any SerialExecutor
    let directory: any ChannelDirectory
    let service: any ChannelService
    let clock: FanOutClock
    let logger: Logger
    let metrics: ChannelMetrics
    private let wakeUp = WakeUp()
    /// Places that this process has compared with Apple's list.
    private var listed: Set<ChannelPlace> = []
    private var countedOverAt: ContinuousClock.Instant?
    /// Places where Apple refused for a reason that lasts, or said when it wants to be asked again.
    private var paused: [ChannelPlace: ContinuousClock.Instant] = [:]
    /// Places that are full by Apple's count, which may differ from ours: none is made there until then.
    private var full: [ChannelPlace: ContinuousClock.Instant] = [:]

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// A keeper that has not begun.
    package init(
        executor: any SerialExecutor, directory: any ChannelDirectory, service: any ChannelService, clock: FanOutClock,
        logger: Logger, metrics: Metrics
    ) {
        self.executor = executor
        self.directory = directory
        self.service = service
        self.clock = clock
        self.logger = logger
        self.metrics = ChannelMetrics(metrics: metrics)
    }

    /// A channel was taken, or an app was switched on: there may be something to do.
    package nonisolated func wake() { wakeUp.call() }

    /// Works until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StorageError) { try await look() } catch {
                logger.log(.warning, "Broadcast channels wait for the database", [.reason: "\(error)"])
            }
            await wakeUp.sleep { [clock] in await clock.sleep(Self.interval) }
        }
    }

    /// Looks once at every place.
    package func look() async throws(StorageError) {
        let now = clock.instant()
        let countsOver = countedOverAt.map { $0.duration(to: now) >= Self.overInterval } ?? true
        let censuses = try await directory.channelCensus(countsOver: countsOver)
        if countsOver { countedOverAt = now }
        metrics.show(censuses)
        var failure: StorageError?
        for census in censuses where !Task.isCancelled {
            do throws(StorageError) { try await look(at: census) } catch {
                // Without a database there is none for the others either. What PostgreSQL refused concerns this place only.
                if case .unavailable = error { throw error }
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private func look(at census: ChannelCensus) async throws(StorageError) {
        let place = census.place
        let tasks = ChannelPlan.tasks(for: census, isFirstLook: !listed.contains(place))
        let end = clock.instant() + .seconds(Self.keepingSeconds - Self.taskSeconds)
        guard !tasks.isEmpty, !isPaused(place), try await directory.keep(place, seconds: Self.keepingSeconds) else { return }
        do throws(StorageError) {
            for task in tasks {
                // What cannot be done now keeps the tasks behind it from being done in vain.
                guard clock.instant() < end, try await perform(task, in: place, until: end) else { break }
            }
        } catch {
            // The first error says what is wrong. A place that cannot be left either is free once its time is over.
            try? await directory.leave(place)
            throw error
        }
        try await directory.leave(place)
    }

    private func perform(_ task: ChannelTask, in place: ChannelPlace, until end: ContinuousClock.Instant)
        async throws(StorageError) -> Bool
    {
        switch task {
        case .list: return try await list(place, until: clock.instant() + Self.requestTimeout) != .failed
        case .retireFree:
            try await directory.retireFreeChannels(of: place)
            return true
        case .retireOver(let seconds):
            try await directory.retireChannels(of: place, overForSeconds: seconds)
            return true
        case .delete: return try await deleteLeaving(in: place)
        case .make(let count):
            for _ in 0..<count {
                guard clock.instant() < end, try await make(in: place, timeout: Self.requestTimeout) else { return false }
            }
            return true
        case .makeOfCampaigns(let campaigns):
            for campaign in campaigns {
                guard clock.instant() < end,
                    try await make(ofCampaign: campaign, in: place, timeout: Self.requestTimeout)
                else { return false }
            }
            return true
        }
    }

    // MARK: Making

    /// Makes a channel for a start that found none; false when it could not be made in that time.
    package func makeNow(in place: ChannelPlace, timeout: Duration) async throws(StorageError) -> Bool {
        try await make(in: place, timeout: timeout)
    }

    /// Makes the channel of a campaign; false when it could not be made in that time.
    package func makeNow(ofCampaign campaign: Int64, in place: ChannelPlace, timeout: Duration) async throws(StorageError) -> Bool
    {
        try await make(ofCampaign: campaign, in: place, timeout: timeout)
    }

    private func make(ofCampaign campaign: Int64? = nil, in place: ChannelPlace, timeout: Duration)
        async throws(StorageError) -> Bool
    {
        let deadline = clock.instant() + timeout
        for _ in 0..<Self.listingAttemptCount {
            // Asked each time: others make channels here as well, and Apple may have refused theirs meanwhile.
            guard clock.instant() < deadline, mayMake(in: place) else { return false }
            switch try await intend(ofCampaign: campaign, in: place) {
            case .notNeeded: return true
            case .stored(let request): return try await make(request, in: place, until: deadline)
            case .needsListing:
                // Somebody else's comparison, or ours; either way it is asked again.
                switch try await list(place, until: deadline) {
                case .compared: continue
                case .failed: return false
                case .notNow: await clock.sleep(Self.listingPause)
                }
            case .isListing: await clock.sleep(Self.listingPause)
            }
        }
        return false
    }

    private func intend(ofCampaign campaign: Int64?, in place: ChannelPlace) async throws(StorageError) -> ChannelIntent {
        guard let campaign else {
            return try await directory.intendChannel(.mostRecent, in: place, seconds: Self.requestSeconds)
        }
        return try await directory.intendChannel(
            .mostRecent, ofCampaign: campaign, in: place, seconds: Self.requestSeconds)
    }

    private func make(_ request: UUID, in place: ChannelPlace, until deadline: ContinuousClock.Instant)
        async throws(StorageError) -> Bool
    {
        let left = clock.instant().duration(to: deadline)
        guard left > .zero else {
            try await directory.channelWasNotMade(request: request)
            return false
        }
        let result = await service.createChannel(
            .mostRecent, request: request, for: place.application, in: place.environment, timeout: left)
        switch result {
        case .done(let identifier):
            metrics.made.add()
            try await directory.channelWasMade(identifier, request: request, in: place)
            return true
        case .refused(let refusal):
            note("A broadcast channel could not be made", refusal, in: place)
            try await directory.channelWasNotMade(request: request)
        case .unclear(let reason):
            metrics.failed.add()
            // The next comparison with Apple's list tells.
            logger.log(
                .warning, "It is not known whether a broadcast channel was made; Apple's list will tell", fields(place, reason))
        }
        return false
    }

    // MARK: Comparing

    private enum Listing {
        case compared, failed
        /// Something is under way that a list cannot tell of.
        case notNow
    }

    private func list(_ place: ChannelPlace, until deadline: ContinuousClock.Instant) async throws(StorageError) -> Listing {
        guard let listing = try await directory.beginListing(of: place, seconds: Self.requestSeconds) else { return .notNow }
        let left = clock.instant().duration(to: deadline)
        guard left > .zero else {
            try await directory.abandonListing(listing, of: place)
            return .failed
        }
        let result = await service.channels(of: place.application, in: place.environment, timeout: left)
        guard case .done(let identifiers) = result else {
            switch result {
            case .refused(let refusal): note("The list of broadcast channels could not be read", refusal, in: place)
            case .unclear(let reason):
                metrics.failed.add()
                logger.log(.warning, "The list of broadcast channels could not be read", fields(place, reason))
            case .done: break
            }
            try await directory.abandonListing(listing, of: place)
            return .failed
        }
        guard let report = try await directory.finishListing(listing, of: place, found: identifiers) else { return .notNow }
        listed.insert(place)
        tell(report, of: place)
        return .compared
    }

    private func tell(_ report: ChannelListingReport, of place: ChannelPlace) {
        metrics.recovered.add(report.recoveredCount)
        metrics.lost.add(report.goneCount)
        guard report != ChannelListingReport() else { return }
        let isBad = report.goneCount > 0 || report.isAmbiguous
        logger.log(
            isBad ? .warning : .info, "Broadcast channels were compared with Apple's list",
            [
                .appID: place.application.publicID.description, .environment: place.environment.name,
                .goneChannelCount: "\(report.goneCount)", .recoveredChannelCount: "\(report.recoveredCount)",
                .foreignChannelCount: "\(report.foreignCount)",
            ])
        if report.isAmbiguous {
            logger.log(
                .warning, "Which of Apple's channels are ours cannot be told: others made some while an answer was missing",
                fields(place, "\(report.foreignCount) unknown channels"))
        }
    }

    // MARK: Refusals

    private func isPaused(_ place: ChannelPlace) -> Bool { Self.isHeld(place, in: &paused, now: clock.instant()) }

    private func mayMake(in place: ChannelPlace) -> Bool {
        !isPaused(place) && !Self.isHeld(place, in: &full, now: clock.instant())
    }

    private static func isHeld(
        _ place: ChannelPlace, in holds: inout [ChannelPlace: ContinuousClock.Instant], now: ContinuousClock.Instant
    ) -> Bool {
        guard let until = holds[place] else { return false }
        if now < until { return true }
        holds[place] = nil
        return false
    }

    func note(_ message: StaticString, _ refusal: ChannelRefusal, in place: ChannelPlace) {
        metrics.failed.add()
        let now = clock.instant()
        switch refusal {
        case .notEnabled, .other: paused[place] = now + Self.refusalPause
        case .later(_, let delay): paused[place] = max(paused[place] ?? now, now + .milliseconds(delay))
        case .full:
            // Others have made some: what is left is known after the next comparison, one for all refusals of this time.
            listed.remove(place)
            full[place] = now + Self.refusalPause
        case .unknownChannel, .notSent: break
        }
        logger.log(refusal.lasts ? .error : .warning, message, fields(place, refusal.text))
    }

    func fields(_ place: ChannelPlace, _ reason: String) -> [LogKey: String] {
        [.appID: place.application.publicID.description, .environment: place.environment.name, .reason: reason]
    }
}
