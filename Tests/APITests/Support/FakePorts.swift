import Gateway
import Security
import Synchronization

/// Every port of the API in memory: answers what a test sets, and notes what it was asked.
final class FakePorts: PrincipalDirectory, NotificationLedger, PayloadRenderer, FanOutWaiter, DeviceRegistry, UserRegistry,
    TapCounter,
    SegmentDirectory, AudienceCounter, NotificationReader, DashboardReader, ChannelSubscriptions
{
    /// What the ports answer and what they were asked.
    struct State {
        /// Thrown by every method of every port when it is set.
        var failure: StorageError?
        /// Thrown by every method but the directory's.
        var failureBehindDirectory: StorageError?
        var rate = RateDecision.admitted
        var earlier: StartAcceptance?
        var start = StartAcceptance.accepted(FakePorts.accepted)
        var update = UpdateAcceptance.accepted(FakePorts.accepted)
        var firstAcceptance = FirstAcceptance.accepted
        var timeouts: [Duration] = []
        var bodyByteCount = 0
        /// The body itself; nil for one of `bodyByteCount` bytes.
        var bodyText: String?
        /// In which bodies were rendered.
        var forms: [PayloadForm] = []
        var starts: [StartCommand] = []
        var updates: [UpdateCommand] = []
        var admittedCalls = 0

        var registration = FakePorts.registered(isNew: true)
        var isKnown = true
        var isEndedOnDevice = false
        var membership = ChannelMembership.noChannel
        /// The activities whose channels devices asked for.
        var joined: [String] = []
        var registrations: [DeviceRegistration] = []
        var updateTokens: [UpdateTokenRegistration] = []
        var startTokens: [StartTokenRegistration] = []
        /// What named the device of each start token.
        var devices: [DeviceName] = []
        /// How many further tokens come from a device that is not known yet.
        var unknownTokenCount = 0
        var ends: [String] = []
        /// The aliases that calls asked for, and whether devices have them.
        var askedAliases: [DeviceAlias] = []
        var hasAlias = true
        var access = DeviceAccess()
        var hasLiveNotifications = true
        var hasBroadcastChannels = false
        /// What the app is for.
        var platforms: [DevicePlatform] = [.ios]
        var userRegistration = UserRegistration.registered(FakePorts.userDevice, isNew: true)
        var userChange = UserChange.changed([FakePorts.userDevice])
        var userRegistrations: [DeviceRegistration] = []
        var mayBeNew: [Bool] = []
        var users: [UserSelector] = []
        var userChanges: [DeviceRegistration] = []
        var taps: [Tap] = []
        /// One a look; the last is repeated.
        var clicks: [ClickResult] = [.counted(notification: FakePorts.accepted.publicID)]
        var clickRequests: [UUID?] = []
        var areTapsRefused = false
        var sleeps: [Duration] = []

        var segment = SegmentCreation.created(FakePorts.accepted.publicID)
        var definitions: [String] = []
        var segmentPage = SegmentPage(segments: [], totalCount: 0, next: nil)
        var segmentChange = SegmentChangeResult.changed
        var segmentRequests: [String] = []
        var preview = PreviewResult.counted(
            AudiencePreview(
                matchedCount: 21, productionCount: 6, sandboxCount: 1, androidCount: 3, relayedCount: 2,
                wrongEnvironmentCount: 1, removedCount: 2, disabledCount: 3, unknownEntryCount: 2))
        var previewTypes: [String?] = []

        var summary: NotificationSummary?
        /// How often one notification was read.
        var looks = 0
        /// Kinds of keys that are no longer in force.
        var revoked: Set<KeyKind> = []
        var page: [NotificationSummary]? = []
        var pageRequests: [String] = []
        var activity: ActivitySummary?
        var deliveries: DeliveryPage?
        var minutes: [NotificationMinute] = []
        var activities: [ListedActivity] = []
        var device: DeviceDetails?
        var timeline: TimelinePage?
        var statistics: [StatisticsRow] = []
    }

    static let accepted = AcceptedNotification(
        id: NotificationID(rawValue: 7), publicID: UUID(high: 0x0123_4567_89AB_4DEF, low: 0x8123_4567_89AB_CDEF))
    static let application = Application(
        id: ApplicationID(rawValue: 1), publicID: UUID(high: 0xAAAA_BBBB_CCCC_4DDD, low: 0x8EEE_FFFF_0000_1111), name: "Score",
        bundleID: "com.example.score", providerKey: ProviderKey(teamID: "TEAM000001", keyID: "KEY0000001"),
        defaultEnvironment: .production)
    static func registered(isNew: Bool) -> RegistrationResult {
        .registered(RegisteredDevice(subscriptionID: accepted.publicID, isNew: isNew))
    }
    static let userDevice: UserDevice = {
        var profile = DeviceProfile(environment: .sandbox)
        profile.aliases = ["onesignal_id": "os-1", "external_id": "fan-1", "crm": "7"]
        profile.tags = ["club": "home"]
        profile.language = "de"
        profile.timeZone = "Europe/Berlin"
        profile.sessionCount = 3
        profile.firstSession = 1_700_000_000
        profile.lastSession = 1_800_000_000
        profile.location = DeviceLocation(latitude: 52.5, longitude: -13.25)
        return UserDevice(subscriptionID: accepted.publicID, profile: profile)
    }()
    static let keys: [KeyKind: String] = [.rest: "op-rest-secret", .client: "op-client-secret", .read: "op-read-secret"]

    private let state = Mutex(State())

    func with<Value: Sendable>(_ body: (inout sending State) -> sending Value) -> Value { state.withLock(body) }

    private func check() throws(StorageError) {
        let failure = state.withLock { $0.failure ?? $0.failureBehindDirectory }
        if let failure { throw failure }
    }

    // Who is asking.
    func principal(forKeyDigest digest: [UInt8]) async throws(StorageError) -> Principal? {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        let match = Self.keys.first { SHA256.digest(Array($0.value.utf8)) == digest }
        if let match, state.withLock({ $0.revoked.contains(match.key) }) { return nil }
        let application = application
        return match.map { Principal(application: application, kind: $0.key) }
    }
    func application(named publicID: UUID) async throws(StorageError) -> Application? {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return publicID == Self.application.publicID ? application : nil
    }
    private var application: Application {
        let base = Self.application
        return state.withLock {
            Application(
                id: base.id, publicID: base.publicID, name: base.name,
                bundleID: $0.platforms.contains(.ios) ? base.bundleID : nil, providerKey: base.providerKey,
                androidPackageName: $0.platforms.contains(.android) ? "com.example.score" : nil,
                defaultEnvironment: base.defaultEnvironment, deviceAccess: $0.access,
                hasLiveNotifications: $0.hasLiveNotifications, hasBroadcastChannels: $0.hasBroadcastChannels)
        }
    }

    // Admission.
    func admitCall(of application: ApplicationID) async throws(StorageError) -> RateDecision {
        try check()
        return state.withLock {
            $0.admittedCalls += 1
            return $0.rate
        }
    }
    func replay(of key: IdempotencyKey, application: ApplicationID) async throws(StorageError) -> StartAcceptance? {
        state.withLock { $0.earlier }
    }
    func accept(_ start: StartCommand, application: Application) async throws(StorageError) -> StartAcceptance {
        state.withLock {
            $0.starts.append(start)
            return $0.start
        }
    }
    func accept(_ update: UpdateCommand, application: Application) async throws(StorageError) -> UpdateAcceptance {
        state.withLock {
            $0.updates.append(update)
            return $0.update
        }
    }
    func progress(of notification: NotificationID) async throws(StorageError) -> FanOutProgress {
        FanOutProgress(acceptedCount: 0, isFinished: false)
    }
    func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
        state.withLock { state in
            state.forms.append(form)
            return state.bodyText.map { Array($0.utf8) } ?? Array(repeating: 0, count: state.bodyByteCount)
        }
    }
    func waitForFirstAcceptance(of notification: AcceptedNotification, timeout: Duration) async -> FirstAcceptance {
        state.withLock {
            $0.timeouts.append(timeout)
            return $0.firstAcceptance
        }
    }

    // Devices.
    func register(_ device: DeviceRegistration, application: Application) async throws(StorageError) -> RegistrationResult {
        try check()
        return state.withLock {
            $0.registrations.append(device)
            return $0.registration
        }
    }
    func setStartToken(_ registration: StartTokenRegistration) async throws(StorageError) -> Bool {
        try check()
        return state.withLock {
            $0.devices.append(registration.device)
            if let owner = registration.owner {
                $0.askedAliases.append(owner)
                guard $0.hasAlias else { return false }
            }
            $0.startTokens.append(registration)
            $0.unknownTokenCount -= 1
            return $0.isKnown && $0.unknownTokenCount < 0
        }
    }
    func removeStartToken(activityType: String, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool
    {
        try check()
        return state.withLock { $0.isKnown }
    }
    func setUpdateToken(_ registration: UpdateTokenRegistration, application: ApplicationID)
        async throws(StorageError) -> UpdateTokenResult
    {
        try check()
        return state.withLock {
            $0.updateTokens.append(registration)
            if $0.isEndedOnDevice { return .ended }
            $0.unknownTokenCount -= 1
            return $0.isKnown && $0.unknownTokenCount < 0
                ? .stored(ActivityWindow(startedAt: registration.startedAt ?? TestAPI.now), catchUp: false) : .unknownDevice
        }
    }
    func joinChannel(of activityID: String, device pushToken: [UInt8], application: ApplicationID)
        async throws(StorageError) -> ChannelMembership
    {
        try check()
        return state.withLock {
            $0.joined.append(activityID)
            return $0.membership
        }
    }
    func endActivity(_ activityID: String, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool {
        try check()
        return state.withLock {
            $0.ends.append(activityID)
            return $0.isKnown
        }
    }
    func has(_ alias: DeviceAlias, device: DeviceName, application: ApplicationID) async throws(StorageError) -> Bool {
        try check()
        return state.withLock {
            $0.askedAliases.append(alias)
            return $0.hasAlias
        }
    }
    func registerUser(_ device: DeviceRegistration, mayBeNew: Bool, application: Application)
        async throws(StorageError) -> UserRegistration
    {
        try check()
        return state.withLock {
            $0.userRegistrations.append(device)
            $0.mayBeNew.append(mayBeNew)
            return $0.userRegistration
        }
    }
    func readUser(_ user: UserSelector, application: ApplicationID) async throws(StorageError) -> UserChange {
        try check()
        return state.withLock {
            $0.users.append(user)
            return $0.userChange
        }
    }
    func changeUser(_ user: UserSelector, by change: DeviceRegistration, application: ApplicationID)
        async throws(StorageError) -> UserChange
    {
        try check()
        return state.withLock {
            $0.users.append(user)
            $0.userChanges.append(change)
            return $0.userChange
        }
    }
    func removeUser(_ user: UserSelector, application: ApplicationID) async throws(StorageError) -> UserChange {
        try await readUser(user, application: application)
    }
    func count(_ tap: Tap) async throws(BatchFailure) -> ClickResult {
        do throws(StorageError) { try check() } catch { throw .storage(error) }
        if state.withLock({ $0.areTapsRefused }) { throw .tooManyWaiting }
        return state.withLock {
            $0.clickRequests.append(tap.notification)
            $0.taps.append(tap)
            return $0.clicks.count > 1 ? $0.clicks.removeFirst() : $0.clicks[0]
        }
    }

    // Segments and reading.
    func createSegment(_ segment: NewSegment, application: ApplicationID) async throws(StorageError) -> SegmentCreation {
        try check()
        return state.withLock {
            $0.definitions.append(String(decoding: segment.definition, as: UTF8.self))
            return $0.segment
        }
    }
    func segments(from start: SegmentPageStart, limit: Int, application: ApplicationID) async throws(StorageError) -> SegmentPage
    {
        try check()
        return state.withLock {
            $0.segmentRequests.append("\(start) \(limit)")
            return $0.segmentPage
        }
    }
    func segment(_ id: UUID, application: ApplicationID) async throws(StorageError) -> StoredSegment? {
        try check()
        return state.withLock { $0.segmentPage.segments.first }
    }
    func countDevices(in segment: StoredSegment, application: ApplicationID) async throws(StorageError) -> Int64 { 12 }
    func changeSegment(_ id: UUID, _ change: SegmentChange, application: ApplicationID)
        async throws(StorageError) -> SegmentChangeResult
    {
        try check()
        return state.withLock {
            $0.segmentRequests.append("\(change.name ?? "-") \(change.note ?? "-") \(change.definition?.count ?? 0)")
            return $0.segmentChange
        }
    }
    func removeSegment(_ id: UUID, application: ApplicationID) async throws(StorageError) -> Bool {
        try check()
        return state.withLock { $0.isKnown }
    }
    func preview(_ audience: Audience, activityType: String?, application: ApplicationID)
        async throws(StorageError) -> PreviewResult
    {
        try check()
        return state.withLock {
            $0.previewTypes.append(activityType)
            return $0.preview
        }
    }
    func notification(_ publicID: UUID, application: ApplicationID) async throws(StorageError) -> NotificationSummary? {
        try check()
        return state.withLock {
            $0.looks += 1
            return $0.summary
        }
    }
    func notifications(
        activityID: String?, from start: NotificationListStart, limit: Int, application: ApplicationID
    ) async throws(StorageError) -> [NotificationSummary]? {
        try check()
        return state.withLock {
            let place =
                switch start {
                case .newest: "-"
                case .behind(let identifier): "\(identifier)"
                case .behindPlace(let number): "#\(number)"
                }
            $0.pageRequests.append("\(activityID ?? "-") \(place) \(limit)")
            return $0.page
        }
    }
    func activity(_ activityID: String, application: ApplicationID) async throws(StorageError) -> ActivitySummary? {
        try check()
        return state.withLock { $0.activity }
    }
    func deliveries(of notification: UUID, behind device: Int64, limit: Int, application: ApplicationID)
        async throws(StorageError) -> DeliveryPage?
    {
        try check()
        return state.withLock {
            $0.pageRequests.append("\(device) \(limit)")
            return $0.deliveries
        }
    }
    func minutes(of notification: UUID, limit: Int, application: ApplicationID) async throws(StorageError) -> [NotificationMinute]
    {
        try check()
        return state.withLock { $0.minutes }
    }
    func activities(before number: Int64, limit: Int, application: ApplicationID) async throws(StorageError) -> [ListedActivity] {
        try check()
        return state.withLock {
            $0.pageRequests.append("\(number) \(limit)")
            return $0.activities
        }
    }
    func device(_ subscription: UUID, application: ApplicationID) async throws(StorageError) -> DeviceDetails? {
        try check()
        return state.withLock { $0.device }
    }
    func timeline(of subscription: UUID, before notification: NotificationID, limit: Int, application: ApplicationID)
        async throws(StorageError) -> TimelinePage?
    {
        try check()
        return state.withLock {
            $0.pageRequests.append("\(notification) \(limit)")
            return $0.timeline
        }
    }
    func statistics(
        in seconds: Range<Int64>, by grouping: StatisticsGrouping, limit: Int, application: ApplicationID
    ) async throws(StorageError) -> [StatisticsRow] {
        try check()
        return state.withLock {
            $0.pageRequests.append("\(seconds) \(grouping)")
            return $0.statistics
        }
    }
}
