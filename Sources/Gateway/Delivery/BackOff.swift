/// Pauses that double after each failure, and start anew after a success.
struct BackOff {
    private let first: Duration
    private let longest: Duration
    private var current: Duration

    init(_ limits: FanOutLimits) {
        first = limits.firstPause
        longest = limits.longestPause
        current = first
    }

    /// The pause after one more failure.
    mutating func next() -> Duration {
        defer { current = min(current * 2, longest) }
        return current
    }

    mutating func succeeded() { current = first }
}
