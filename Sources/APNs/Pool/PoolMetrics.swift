package import Observability

/// What the pools count. One for all pools of a process.
package struct PoolMetrics: Sendable {
    /// Connections to APNs that exist.
    let connections: Gauge
    /// Connections that ended before APNs answered a push on them.
    let connectionFailures: Counter
    /// Pushes APNs accepted, refused, and never answered.
    let accepted: Counter
    let refused: Counter
    let unanswered: Counter
    /// Times an app was held back.
    let applicationHolds: Counter

    /// Finds or makes the instruments.
    package init(metrics: Metrics) {
        connections = metrics.gauge("openpush_apns_connections", help: "Connections to APNs")
        connectionFailures = metrics.counter(
            "openpush_apns_connection_failures_total", help: "Connections that ended before APNs answered a push")
        let help = "Answers of APNs"
        accepted = metrics.counter("openpush_apns_answers_total", help: help, labels: ["outcome": "accepted"])
        refused = metrics.counter("openpush_apns_answers_total", help: help, labels: ["outcome": "refused"])
        unanswered = metrics.counter("openpush_apns_answers_total", help: help, labels: ["outcome": "unanswered"])
        applicationHolds = metrics.counter(
            "openpush_apns_app_holds_total",
            help: "Times an app's pushes were rejected for a while because APNs refuses its set-up")
    }
}
