/// Decides how long a client waits before it connects again: growing pauses after connections that failed or answered nothing.
struct ReconnectPause {
    private let first: Duration
    private let longest: Duration
    private var next: Duration
    private var notBefore: ContinuousClock.Instant?
    /// Addresses tried since the last success; another address is tried at once.
    private var triedAddressCount = 0

    init(configuration: HTTPClientConfiguration) {
        first = configuration.firstBackOff
        longest = configuration.longestBackOff
        next = first
    }

    /// Whether it is time for another attempt.
    func isOver(at now: ContinuousClock.Instant) -> Bool { now >= notBefore ?? now }

    /// A connection could not be made, or ended before it answered anything.
    ///
    /// - Parameters:
    ///   - addressCount: how many addresses the host has.
    ///   - wasQuick: whether it failed at once, so that the host's other addresses may be tried first.
    ///   - jitter: a random number, 0 up to 1.
    mutating func failed(at now: ContinuousClock.Instant, addressCount: Int, wasQuick: Bool, jitter: Double) {
        triedAddressCount += 1
        guard triedAddressCount >= addressCount || !wasQuick else { return }
        triedAddressCount = 0
        notBefore = now + next * (0.75 + 0.5 * jitter)
        next = min(next * 2, longest)
    }

    /// A connection answered a request, or what made it fail may be gone.
    mutating func forget() {
        next = first
        notBefore = nil
        triedAddressCount = 0
    }
}
