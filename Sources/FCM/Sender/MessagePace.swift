/// Spreads the messages of one project over time, so that a loop stays under its share of the quota.
struct MessagePace {
    /// How much of a second's messages may leave at once.
    static let burstShare = 0.05
    /// Pause after FCM said that the quota is used up: longer ones are those of each message.
    static let quotaPause = Duration.seconds(1)

    /// Devices refused for a quota within the pause, from which on it is taken for the project's.
    static let refusedDeviceCount = 3

    private let perSecond: Double
    private let burst: Double
    private var permits: Double
    private var refilledAt: ContinuousClock.Instant
    private var notBefore: ContinuousClock.Instant?
    private var refusals: (count: Int, since: ContinuousClock.Instant)?

    init(perSecond: Double, now: ContinuousClock.Instant) {
        self.perSecond = perSecond
        burst = max(perSecond * Self.burstShare, 1)
        permits = burst
        refilledAt = now
    }

    /// How many messages may leave now.
    mutating func allowance(now: ContinuousClock.Instant) -> Int {
        guard now >= notBefore ?? now else { return 0 }
        permits = min(burst, permits + refilledAt.duration(to: now) / .seconds(1) * perSecond)
        refilledAt = now
        return Int(permits)
    }

    /// So many left.
    mutating func took(_ count: Int) { permits -= Double(count) }

    /// A quota is used up, perhaps only one device's: a device is sent to again much later, so each refusal is another one's.
    mutating func refused(now: ContinuousClock.Instant) {
        if let refusals, now - refusals.since < Self.quotaPause {
            self.refusals = (refusals.count + 1, refusals.since)
        } else {
            refusals = (1, now)
        }
        if let refusals, refusals.count >= Self.refusedDeviceCount { exhausted(now: now) }
    }

    /// The project's quota is used up.
    mutating func exhausted(now: ContinuousClock.Instant) {
        refusals = nil
        permits = 0
        notBefore = now + Self.quotaPause
    }

    /// When it is worth asking again, after an allowance of none.
    var wait: Duration { .seconds(max(1 / perSecond, 0.005)) }
}
