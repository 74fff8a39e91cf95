import Observability

/// Counts the events of Customer.io's SDKs by what became of them.
struct IngestionMeters: Sendable {
    private let counters: [EventOutcome: Counter]

    /// Registers a counter for each outcome.
    init(metrics: Metrics) {
        counters = Dictionary(
            uniqueKeysWithValues: EventOutcome.allCases.map { outcome in
                let counter = metrics.counter(
                    "openpush_customerio_events_total", help: "Events of Customer.io's SDKs by what became of them.",
                    labels: ["outcome": outcome.rawValue])
                return (outcome, counter)
            })
    }

    /// Counts the events of one request.
    func count(_ outcomes: [EventOutcome]) {
        for outcome in outcomes { counters[outcome]?.add() }
    }
}
