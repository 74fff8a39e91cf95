package import Observability

/// What the senders count. One for all senders of a process.
package struct FCMMetrics: Sendable {
    /// Messages FCM accepted, refused, and never answered.
    let accepted: Counter
    let refused: Counter
    let unanswered: Counter
    /// Connections to Google that could not be made, or ended other than in order.
    let connectionFailures: Counter
    /// Looks for an access token that found none.
    let tokenFailures: Counter

    /// Finds or makes the instruments.
    package init(metrics: Metrics) {
        let help = "Answers of FCM"
        accepted = metrics.counter("openpush_fcm_answers_total", help: help, labels: ["outcome": "accepted"])
        refused = metrics.counter("openpush_fcm_answers_total", help: help, labels: ["outcome": "refused"])
        unanswered = metrics.counter("openpush_fcm_answers_total", help: help, labels: ["outcome": "unanswered"])
        connectionFailures = metrics.counter(
            "openpush_fcm_connection_failures_total", help: "Connections to Google that could not be made or broke")
        tokenFailures = metrics.counter(
            "openpush_fcm_token_failures_total", help: "Looks for an access token of Google's that found none")
    }
}
