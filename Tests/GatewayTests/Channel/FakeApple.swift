import Networking
import Observability
import Synchronization
import Testing

@testable import Gateway

/// Apple's management and the store in memory: what a keeper and a ledger see of both.
final class FakeApple: ChannelService, ChannelDirectory, ChannelStartLedger {
    struct State {
        var there: [String] = []
        var createResult: ChannelResult<String>?
        var listResult: ChannelResult<[String]>?
        var deleteResult: ChannelResult<Bool>?
        var deleteResults: [String: ChannelResult<Bool>] = [:]
        /// How long a deletion takes, by the rig's clock.
        var deletionTime = Duration.zero
        /// How many looks after a place PostgreSQL refuses.
        var refusedKeeps = 0
        /// Whether each census was to look for channels whose activity is over.
        var countsOver: [Bool] = []
        /// How many ends of a comparison PostgreSQL refuses.
        var refusedFinishes = 0
        /// Happens once, while an intent is stored.
        var onIntend: (@Sendable () async -> Void)?
        var census: [ChannelCensus] = []
        var intents: [ChannelIntent] = []
        var isKeptElsewhere = false
        var listing: UUID? = UUID(high: 7, low: 7)
        var report = ChannelListingReport()
        var leaving: [LeavingChannel] = []
        /// What was asked for, in order.
        var calls: [String] = []
        var starts: [ChannelStart] = []
        var demands: [ChannelDemand] = []
        var plainStarts = 0
        var isStorageAway = false
    }
    private let state = Mutex(State())
    /// What the clock of the rig shows.
    let time = SharedDuration()
    func with<Value: Sendable>(_ body: (inout sending State) -> sending Value) -> Value { state.withLock(body) }
    var calls: [String] { with { $0.calls } }

    static let request = UUID(high: 1, low: 2)
    static let notification = AcceptedNotification(id: NotificationID(rawValue: 5), publicID: UUID(high: 5, low: 5))

    // Apple.
    func createChannel(
        _ policy: ChannelStoragePolicy, request: UUID, for application: Application, in environment: PushEnvironment,
        timeout: Duration
    ) async -> ChannelResult<String> {
        state.withLock { state in
            state.calls.append("create")
            if let result = state.createResult { return result }
            state.there.append("channel-\(state.there.count)")
            return .done(state.there[state.there.count - 1])
        }
    }
    func policy(ofChannel identifier: String, of application: Application, in environment: PushEnvironment, timeout: Duration)
        async -> ChannelResult<ChannelStoragePolicy>
    { .done(.mostRecent) }
    func deleteChannel(_ identifier: String, of application: Application, in environment: PushEnvironment, timeout: Duration)
        async -> ChannelResult<Bool>
    {
        state.withLock { state in
            state.calls.append("delete \(identifier)")
            time.add(state.deletionTime)
            return state.deleteResults[identifier] ?? state.deleteResult ?? .done(true)
        }
    }
    func channels(of application: Application, in environment: PushEnvironment, timeout: Duration) async -> ChannelResult<
        [String]
    > {
        state.withLock { state in
            state.calls.append("list")
            return state.listResult ?? .done(state.there)
        }
    }

    // The store.
    private func note(_ call: String) throws(StorageError) {
        let isAway = state.withLock { state in
            state.calls.append(call)
            return state.isStorageAway
        }
        if isAway { throw .unavailable }
    }
    func channelCensus(countsOver: Bool) async throws(StorageError) -> [ChannelCensus] {
        with { $0.countsOver.append(countsOver) }
        if with({ $0.isStorageAway }) { throw .unavailable }
        return with { $0.census }
    }
    func keep(_ place: ChannelPlace, seconds: Int) async throws(StorageError) -> Bool {
        try note("keep")
        let isRefused = state.withLock { state in
            state.refusedKeeps -= 1
            return state.refusedKeeps >= 0
        }
        if isRefused { throw .refused(sqlState: "23514") }
        return !with { $0.isKeptElsewhere }
    }
    func leave(_ place: ChannelPlace) async throws(StorageError) { try note("leave") }
    func intendChannel(_ policy: ChannelStoragePolicy, in place: ChannelPlace, seconds: Int) async throws(StorageError)
        -> ChannelIntent
    {
        try note("intend")
        let meanwhile = with { state in
            defer { state.onIntend = nil }
            return state.onIntend
        }
        await meanwhile?()
        return with { $0.intents.isEmpty ? .stored(Self.request) : $0.intents.removeFirst() }
    }
    func intendChannel(_ policy: ChannelStoragePolicy, ofCampaign campaign: Int64, in place: ChannelPlace, seconds: Int)
        async throws(StorageError) -> ChannelIntent
    {
        try note("intend of \(campaign)")
        return with { $0.intents.isEmpty ? .stored(Self.request) : $0.intents.removeFirst() }
    }
    func channelWasMade(_ identifier: String, request: UUID, in place: ChannelPlace) async throws(StorageError) {
        try note("made \(identifier)")
    }
    func channelWasNotMade(request: UUID) async throws(StorageError) { try note("not made") }
    func beginListing(of place: ChannelPlace, seconds: Int) async throws(StorageError) -> UUID? {
        try note("begin")
        return with { $0.listing }
    }
    func finishListing(_ listing: UUID, of place: ChannelPlace, found identifiers: [String]) async throws(StorageError)
        -> ChannelListingReport?
    {
        try note("finish \(identifiers.count)")
        let isRefused = state.withLock { state in
            state.refusedFinishes -= 1
            return state.refusedFinishes >= 0
        }
        if isRefused { throw .refused(sqlState: "23514") }
        return with { $0.report }
    }
    func abandonListing(_ listing: UUID, of place: ChannelPlace) async throws(StorageError) { try note("abandon") }
    func retireFreeChannels(of place: ChannelPlace) async throws(StorageError) { try note("retire free") }
    func retireChannels(of place: ChannelPlace, overForSeconds seconds: Int64) async throws(StorageError) {
        try note("retire \(seconds)")
    }
    func claimLeavingChannels(of place: ChannelPlace, limit: Int, seconds: Int) async throws(StorageError) -> [LeavingChannel] {
        try note("claim")
        return with { $0.leaving }
    }
    func channelIsGone(request: UUID) async throws(StorageError) { try note("gone") }
    func postponeDeletion(request: UUID, seconds: Int) async throws(StorageError) { try note("postpone \(seconds)") }

    // The ledger.
    func accept(_ start: StartCommand, application: Application, channels: ChannelDemand) async throws(StorageError)
        -> ChannelStart
    {
        with {
            $0.demands.append(channels)
            return $0.starts.isEmpty ? .decided(.accepted(Self.notification), without: []) : $0.starts.removeFirst()
        }
    }
    func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance {
        with {
            $0.plainStarts += 1
            return .accepted(Self.notification)
        }
    }
    func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance { .nobody }
    func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision { .admitted }
    func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance? { nil }
    func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress {
        FanOutProgress(acceptedCount: 0, isFinished: false)
    }
}

/// A keeper over both, with a clock that a sleep moves.
struct KeeperRig {
    static let loop: EventLoop = {
        do { return try EventLoop.start(name: "keeper-tests") } catch { preconditionFailure("no event loop: \(error)") }
    }()

    let apple = FakeApple()
    let keeper: ChannelKeeper
    let clock: FanOutClock
    let lines = LoggedLines()
    let logger: Logger
    let metrics = Metrics()
    let place = ChannelPlace(application: ChannelPlanTests.application(), environment: .production)

    init() {
        let shared = apple.time
        let begin = ContinuousClock.now
        clock = FanOutClock(
            now: { UnixMilliseconds(rawValue: 0) }, instant: { begin + shared.value }, sleep: { shared.add($0) })
        let lines = lines
        logger = Logger(level: .debug, sink: { lines.add($0) })
        keeper = ChannelKeeper(
            executor: Self.loop, directory: apple, service: apple, clock: clock, logger: logger, metrics: metrics)
    }

    /// Looks once at a place that stands so; answers what was asked for.
    func look(_ change: (inout ChannelCensus) -> Void = { _ in }) async throws -> [String] {
        let census = ChannelPlanTests.census(change)
        apple.with {
            $0.census = [census]
            $0.calls = []
        }
        try await keeper.look()
        return apple.calls
    }

    func metric(_ line: String) -> Bool { String(decoding: metrics.prometheusText(), as: UTF8.self).contains(line) }
}

final class SharedDuration: Sendable {
    private let state = Mutex(Duration.zero)
    var value: Duration { state.withLock { $0 } }
    func add(_ more: Duration) { state.withLock { $0 += more } }
}

final class LoggedLines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func contains(_ text: String) -> Bool { lines.withLock { $0.contains { $0.contains(text) } } }
}
