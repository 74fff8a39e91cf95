package import Observability

/// A ledger whose starts take broadcast channels, for apps that are switched on. Where none is free, one is made before the start is
/// accepted; where none can be, the start goes on with update tokens.
package struct ChannelLedger: NotificationLedger {
    /// How long a start waits for Apple's management, all environments together.
    static let makingTimeout = Duration.seconds(2)
    /// Times channels are made for one start: others may take what was made.
    private static let attemptCount = 3

    private let base: any ChannelStartLedger
    private let keeper: ChannelKeeper
    private let clock: FanOutClock
    private let logger: Logger
    private let withoutChannel: Counter

    /// Wraps the stored ledger.
    package init(
        base: any ChannelStartLedger, keeper: ChannelKeeper, clock: FanOutClock, logger: Logger, metrics: Metrics
    ) {
        self.base = base
        self.keeper = keeper
        self.clock = clock
        self.logger = logger
        withoutChannel = metrics.counter(
            "openpush_channel_starts_without_total", help: "Starts of apps with broadcast channels that got none somewhere.")
    }

    package func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance {
        // A live notification is one person's.
        guard application.usesChannels, start.content.instance == nil else {
            return try await base.accept(start, application: application)
        }
        let deadline = clock.instant() + Self.makingTimeout
        var demand = ChannelDemand.required
        for attempt in 1...Self.attemptCount + 1 {
            if attempt > Self.attemptCount { demand = .asAvailable }
            switch try await base.accept(start, application: application, channels: demand) {
            case .decided(let acceptance, let without):
                if case .accepted = acceptance { noteAcceptance(application, without: without) }
                return acceptance
            case .lacking(let environments):
                for environment in environments {
                    let place = ChannelPlace(application: application, environment: environment)
                    let left = clock.instant().duration(to: deadline)
                    let isMade = left > .zero ? try await keeper.makeNow(in: place, timeout: left) : false
                    if !isMade { demand = .asAvailable }
                }
            }
        }
        preconditionFailure("a start that takes what is available is decided about")
    }

    private func noteAcceptance(_ application: Application, without environments: [PushEnvironment]) {
        keeper.wake()
        guard !environments.isEmpty else { return }
        withoutChannel.add()
        logger.log(
            .warning, "A start goes on with update tokens only: no broadcast channel could be had",
            [
                .appID: application.publicID.description,
                .environment: environments.map(\.name).joined(separator: " "),
            ])
    }

    package func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try await base.admitCall(of: application)
    }

    package func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance? {
        try await base.replay(of: key, application: application)
    }

    package func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance {
        try await base.accept(update, application: application)
    }

    package func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress {
        try await base.progress(of: notification)
    }
}
