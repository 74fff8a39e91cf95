/// How long to wait before the n-th attempt: doubling, capped, with jitter so that daemons do not knock in step.
struct Backoff: Sendable {
    let first: Duration
    let cap: Duration

    /// Between attempts to connect: the cap keeps the time from the server's return to ours below a second.
    static let reconnecting = Backoff(first: .milliseconds(50), cap: .milliseconds(700))
    /// Between attempts at a transaction that met a conflict.
    static let transactionConflict = Backoff(first: .milliseconds(5), cap: .milliseconds(100))

    /// `attempt` counts failures from 1; `random` is in 0..<1 and takes away up to half of the delay.
    func delay(afterFailure attempt: Int, random: Double) -> Duration {
        // 2^20 exceeds every cap in use.
        let doubled = first * (1 << min(max(attempt - 1, 0), 20))
        return min(doubled, cap) * (1 - random / 2)
    }
}
