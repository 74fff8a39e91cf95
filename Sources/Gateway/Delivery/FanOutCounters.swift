package import Observability

/// What a worker counts for `/metrics`.
package struct FanOutCounters: Sendable {
    private let accepted: Counter
    private let rejected: Counter
    private let tokenDead: Counter
    private let deferred: Counter
    private let notSent: Counter
    private let unknown: Counter

    /// Registers the counters.
    package init(metrics: Metrics) {
        func counter(_ outcome: String) -> Counter {
            metrics.counter(
                "openpush_push_outcomes_total", help: "Pushes by what became of them.", labels: ["outcome": outcome])
        }
        accepted = counter("accepted")
        rejected = counter("rejected")
        tokenDead = counter("token_dead")
        deferred = counter("deferred")
        notSent = counter("not_sent")
        unknown = counter("unknown")
    }

    /// Counts the outcomes of one chunk.
    func add(_ outcomes: [PushOutcome]) {
        var counts = (accepted: 0, rejected: 0, tokenDead: 0, deferred: 0, notSent: 0, unknown: 0)
        for outcome in outcomes {
            switch outcome {
            case .accepted: counts.accepted += 1
            case .rejected: counts.rejected += 1
            case .tokenDead: counts.tokenDead += 1
            case .deferred: counts.deferred += 1
            case .notSent: counts.notSent += 1
            case .unknown: counts.unknown += 1
            }
        }
        accepted.add(counts.accepted)
        rejected.add(counts.rejected)
        tokenDead.add(counts.tokenDead)
        deferred.add(counts.deferred)
        notSent.add(counts.notSent)
        unknown.add(counts.unknown)
    }
}
