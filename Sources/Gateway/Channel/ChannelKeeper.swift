package import Observability

/// Looks after the channels of all apps: keeps free ones ready, deletes those whose activity is over, and compares with Apple's list, so that
/// none is lost. One in a process; among all daemons one at a time looks after a place.
package actor ChannelKeeper {
    /// Time between two looks; a start that took a channel calls for one at once.
    static let interval = Duration.seconds(5)
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
    /// How long after a refusal that only the operator can change nothing more is asked of Apple for the place.
    static let refusalPause = Duration.seconds(60)

    private let executor: any SerialExecutor
    private let directory: any ChannelDirectory
    private let service: any ChannelService
    private let clock: FanOutClock
    private let logger: Logger
    private let metrics: ChannelMetrics
    private let wakeUp = WakeUp()
    /// Places that this process has compared with Apple's list.
    private var listed: Set<ChannelPlace> = []
    /// Places where Apple refused for a reason that lasts.
    private var paused: [ChannelPlace: ContinuousClock.Instant] = [:]

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
        let censuses = try await directory.channelCensus()
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
        for task in tasks {
            // What cannot be done now keeps the tasks behind it from being done in vain.
            guard clock.instant() < end, try await perform(task, in: place, until: end) else { break }
        }
        try await directory.leave(place)
    }

    private func perform(_ task: ChannelTask, in place: ChannelPlace, until end: ContinuousClock.Instant)
        async throws(StorageError) -> Bool
    {
        switch task {
        case .list: return try await list(place, timeout: Self.requestTimeout) != .failed
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
        guard !isPaused(place) else { return false }
        return try await make(in: place, timeout: timeout)
    }

    /// Makes the channel of a campaign; false when it could not be made in that time.
    package func makeNow(ofCampaign campaign: Int64, in place: ChannelPlace, timeout: Duration) async throws(StorageError) -> Bool
    {
        guard !isPaused(place) else { return false }
        return try await make(ofCampaign: campaign, in: place, timeout: timeout)
    }

    private func make(ofCampaign campaign: Int64? = nil, in place: ChannelPlace, timeout: Duration)
        async throws(StorageError) -> Bool
    {
        let deadline = clock.instant() + timeout
        for _ in 0..<Self.listingAttemptCount {
            switch try await intend(ofCampaign: campaign, in: place) {
            case .notNeeded: return true
            case .stored(let request):
                return try await make(request, in: place, timeout: clock.instant().duration(to: deadline))
            case .needsListing:
                // Somebody else's comparison, or ours; either way it is asked again.
                if try await list(place, timeout: clock.instant().duration(to: deadline)) == .notNow {
                    await clock.sleep(Self.listingPause)
                }
            case .isListing: await clock.sleep(Self.listingPause)
            }
            guard clock.instant() < deadline else { return false }
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

    private func make(_ request: UUID, in place: ChannelPlace, timeout: Duration) async throws(StorageError) -> Bool {
        let result = await service.createChannel(
            .mostRecent, request: request, for: place.application, in: place.environment, timeout: max(timeout, .zero))
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

    private func list(_ place: ChannelPlace, timeout: Duration) async throws(StorageError) -> Listing {
        guard let listing = try await directory.beginListing(of: place, seconds: Self.requestSeconds) else { return .notNow }
        let result = await service.channels(of: place.application, in: place.environment, timeout: max(timeout, .zero))
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

    // MARK: Deleting

    /// Whether Apple can be asked for more at the moment.
    private func deleteLeaving(in place: ChannelPlace) async throws(StorageError) -> Bool {
        // The claim outlasts the last request that begins before.
        let end = clock.instant() + .seconds(Self.requestSeconds) - Self.requestTimeout
        let leaving = try await directory.claimLeavingChannels(
            of: place, limit: Self.deletionCount, seconds: Self.requestSeconds)
        var refusalCount = 0
        for (index, channel) in leaving.enumerated() {
            guard clock.instant() < end else {
                try await postpone(leaving[index...], seconds: 0)
                return true
            }
            let result = await service.deleteChannel(
                channel.identifier, of: place.application, in: place.environment, timeout: Self.requestTimeout)
            switch result {
            // Without the capability Apple has deleted all channels.
            case .done, .refused(.notEnabled), .refused(.unknownChannel):
                metrics.deleted.add()
                try await directory.channelIsGone(request: channel.request)
                refusalCount = 0
            case .refused(.other(let reason)) where refusalCount < Self.deletionRefusalCount - 1:
                // It may be about this channel only: the others are tried.
                refusalCount += 1
                metrics.failed.add()
                logger.log(.error, "A broadcast channel could not be deleted", fields(place, reason.name))
                try await postpone(leaving[index...index], seconds: ChannelRefusal.other(reason).pauseSeconds)
            case .refused(let refusal):
                note("A broadcast channel could not be deleted", refusal, in: place)
                try await postpone(leaving[index...], seconds: refusal.pauseSeconds)
                return false
            case .unclear(let reason):
                metrics.failed.add()
                logger.log(
                    .warning, "It is not known whether a broadcast channel was deleted; it is tried again", fields(place, reason))
                return false
            }
        }
        return true
    }

    private func postpone(_ channels: ArraySlice<LeavingChannel>, seconds: Int) async throws(StorageError) {
        for channel in channels { try await directory.postponeDeletion(request: channel.request, seconds: seconds) }
    }

    // MARK: Refusals

    private func isPaused(_ place: ChannelPlace) -> Bool {
        guard let until = paused[place] else { return false }
        if clock.instant() < until { return true }
        paused[place] = nil
        return false
    }

    private func note(_ message: StaticString, _ refusal: ChannelRefusal, in place: ChannelPlace) {
        metrics.failed.add()
        if refusal.lasts { paused[place] = clock.instant() + Self.refusalPause }
        // Others have made some: what is left is known after the next comparison.
        if refusal == .full { listed.remove(place) }
        logger.log(refusal.lasts ? .error : .warning, message, fields(place, refusal.text))
    }

    private func fields(_ place: ChannelPlace, _ reason: String) -> [LogKey: String] {
        [.appID: place.application.publicID.description, .environment: place.environment.name, .reason: reason]
    }
}
