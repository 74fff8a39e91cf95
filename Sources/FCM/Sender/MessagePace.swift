/// Spreads the messages of one project over time, so that a loop stays under its share of the quota.
struct MessagePace {
    /// How much of a second's messages may leave at once.
    static let burstShare = 0.05
    /// Pause after FCM said that the quota is used up: longer ones are those of each message.
    static let quotaPause = Duration.seconds(1)

    private let perSecond: Double
    private let burst: Double
    private var permits: Double
    private var refilledAt: ContinuousClock.Instant
    private var notBefore: ContinuousClock.Instant?

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

    /// The quota is used up.
    mutating func exhausted(now: ContinuousClock.Instant) {
        permits = 0
        notBefore = now + Self.quotaPause
    }

    /// When it is worth asking again, after an allowance of none.
    var wait: Duration { .seconds(max(1 / perSecond, 0.005)) }
}
