import Observability
import Synchronization

/// The instruments of answered requests, each looked up once: by route and status.
final class RequestMeters: Sendable {
    private struct Series: Hashable {
        let route: Route?
        let status: Int
    }

    private struct Instruments {
        let requests: Counter
        let seconds: Histogram
    }

    private let metrics: Metrics
    /// At most as many as there are routes with their statuses.
    private let known = Mutex<[Series: Instruments]>([:])

    init(metrics: Metrics) { self.metrics = metrics }

    /// Counts one answer; nil is a path that is no route.
    func count(_ route: Route?, status: Int, duration: Duration) {
        let instruments = instruments(Series(route: route, status: status))
        instruments.requests.add()
        instruments.seconds.observe(duration)
    }

    private func instruments(_ series: Series) -> Instruments {
        if let found = known.withLock({ $0[series] }) { return found }
        let labels = ["route": series.route?.name ?? "none", "method": series.route?.method ?? "none"]
        let made = Instruments(
            requests: metrics.counter(
                "openpush_http_requests_total", help: "Requests answered, by route and status.",
                labels: labels.merging(["status": "\(series.status)"]) { $1 }),
            seconds: metrics.histogram(
                "openpush_http_request_seconds", help: "Time from a whole request to its answer, by route.", labels: labels))
        // Whoever else made them got the same ones.
        known.withLock { $0[series] = made }
        return made
    }
}
