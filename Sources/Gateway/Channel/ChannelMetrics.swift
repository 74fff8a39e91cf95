import Observability

/// What is counted of broadcast channels.
struct ChannelMetrics: Sendable {
    private let metrics: Metrics
    let made: Counter
    let deleted: Counter
    /// Requests to Apple's management that were refused or not answered.
    let failed: Counter
    /// Channels of ours that only Apple's list knew of.
    let recovered: Counter
    /// Channels of ours that were gone from Apple's list.
    let lost: Counter

    init(metrics: Metrics) {
        self.metrics = metrics
        made = metrics.counter("openpush_channels_made_total", help: "Broadcast channels made.")
        deleted = metrics.counter("openpush_channels_deleted_total", help: "Broadcast channels deleted.")
        failed = metrics.counter(
            "openpush_channel_failures_total",
            help: "Requests to Apple's management of channels that were refused or not answered.")
        recovered = metrics.counter(
            "openpush_channels_recovered_total", help: "Broadcast channels of ours that only Apple's list knew of.")
        lost = metrics.counter(
            "openpush_channels_lost_total", help: "Broadcast channels of ours that were gone from Apple's list.")
    }

    /// Shows what was counted last.
    func show(_ censuses: [ChannelCensus]) {
        for census in censuses {
            let labels = [
                "app_id": census.place.application.publicID.description, "environment": census.place.environment.name,
            ]
            for (state, count) in [
                ("intended", census.intendedCount), ("free", census.freeCount), ("used", census.usedCount),
                ("leaving", census.leavingCount), ("foreign", census.foreignCount),
            ] {
                metrics.gauge(
                    "openpush_channels", help: "Broadcast channels by state; foreign ones were made by other programs.",
                    labels: labels.merging(["state": state]) { first, _ in first }
                ).set(count)
            }
            metrics.gauge(
                "openpush_channels_left", help: "Broadcast channels that Apple still allows; 10,000 an app and environment.",
                labels: labels
            ).set(census.leftCount)
        }
    }
}
