/// Decides when a pool opens a connection.
///
/// The first one at once; more only while pushes wait for streams that are seldom free, at a distance; after failures with growing
/// pauses.
/// Apple blocks hosts that open and close connections in quick succession.
struct ConnectionGrowth {
    /// What the decision is made from.
    struct Situation {
        /// Pushes that wait for a stream.
        var waitingCount = 0
        /// Connections that take pushes, and their streams in sum.
        var openCount = 0
        var streamCount = 0
        /// Whether any open connection has not answered a push yet; its limit of streams says nothing then.
        var hasUnproved = false
        /// Whether a connection is being made.
        var isConnecting = false
    }

    private let configuration: APNsConfiguration
    private var backOff: Duration?
    private var notBefore: ContinuousClock.Instant?
    private var lastAttempt: ContinuousClock.Instant?
    /// Addresses tried since the last success; another address is tried at once.
    private var triedAddressCount = 0
    /// Which share of the streams was free when the pool came to fill them, a mean of about the last four times.
    private var freeShare = 0.0
    /// From which share on the streams are not what pushes wait for: answers come faster than the pool submits, and another
    /// connection would only take memory.
    private static let ampleFreeShare = 0.5
    private static let newestWeight = 0.25

    init(configuration: APNsConfiguration) { self.configuration = configuration }

    /// Whether to connect now.
    func shouldConnect(_ situation: Situation, now: ContinuousClock.Instant) -> Bool {
        guard situation.waitingCount > 0, !situation.isConnecting, now >= notBefore ?? now else { return false }
        guard situation.openCount > 0 else { return true }
        guard situation.openCount < configuration.connectionCount, !situation.hasUnproved else { return false }
        guard situation.waitingCount > situation.streamCount, freeShare < Self.ampleFreeShare else { return false }
        return lastAttempt.map { now - $0 >= configuration.connectionSpacing } ?? true
    }

    /// The pool filled its streams, and pushes are left over.
    ///
    /// - Parameters:
    ///   - freeCount: pushes that the open connections could take before.
    ///   - busyCount: pushes that were on the wire.
    mutating func filled(freeCount: Int, busyCount: Int) {
        guard freeCount + busyCount > 0 else { return }
        freeShare += (Double(freeCount) / Double(freeCount + busyCount) - freeShare) * Self.newestWeight
    }

    mutating func attempted(at now: ContinuousClock.Instant) { lastAttempt = now }

    /// A connection could not be made, or ended before it answered anything.
    ///
    /// - Parameters:
    ///   - addressCount: how many addresses the host has.
    ///   - jitter: a random number, 0 up to 1.
    mutating func failed(at now: ContinuousClock.Instant, addressCount: Int, jitter: Double) {
        // Connections that end together cost one pause.
        if let notBefore, now < notBefore { return }
        triedAddressCount += 1
        let wasQuick = lastAttempt.map { now - $0 < .seconds(1) } ?? false
        // The host's other addresses are tried first, once, unless failing takes long.
        guard triedAddressCount >= addressCount || !wasQuick else { return }
        triedAddressCount = 0
        let pause = min(backOff ?? configuration.firstBackOff, configuration.longestBackOff)
        notBefore = now + pause * (0.75 + 0.5 * jitter)
        backOff = min(pause * 2, configuration.longestBackOff)
    }

    /// A connection takes no more pushes. One on which APNs took or judged a push says nothing against the next one, however short its life was:
    /// APNs may send clients away after a few pushes. One on which it only turned pushes away, or said nothing, counts as a failure.
    mutating func ended(_ life: ConnectionLife, at now: ContinuousClock.Instant, addressCount: Int, jitter: Double) {
        guard !life.hasAnswered else { return forgetFailures() }
        // Another address is tried at once for one that cannot be reached, not for a service that turns pushes away.
        failed(at: now, addressCount: life.hasTurnedAway ? 1 : addressCount, jitter: jitter)
    }

    /// A connection answered a push for the first time: others may join it.
    mutating func succeeded() {
        notBefore = nil
        triedAddressCount = 0
    }

    /// What made connections fail may be gone: the next one is tried at once.
    mutating func forgetFailures() {
        backOff = nil
        notBefore = nil
        triedAddressCount = 0
    }
}
