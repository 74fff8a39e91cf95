import HTTP
import Observability

/// Turns what the HTTP servers tell into metrics and log lines.
struct ServerReports: Sendable {
    private let openConnections: Gauge
    private let refusals: Counter
    private let acceptPauses: Counter
    private let logger: Logger

    init(metrics: Metrics, logger: Logger) {
        openConnections = metrics.gauge("openpush_http_connections", help: "Open connections of clients.")
        refusals = metrics.counter(
            "openpush_http_refusals_total", help: "Requests that broke a rule or limit of HTTP and reached no route.")
        acceptPauses = metrics.counter(
            "openpush_http_accept_pauses_total", help: "Times that no further connection could be taken for a moment.")
        self.logger = logger
    }

    func note(_ event: HTTPServerEvent) {
        switch event {
        case .connectionOpened: openConnections.add(1)
        case .connectionClosed(let end):
            openConnections.add(-1)
            logger.log(.debug, "A client's connection ended", [.reason: "\(end)"])
        case .acceptingPaused(let count):
            acceptPauses.add()
            logger.log(.warning, "The connection limit is reached; clients wait", [.count: "\(count)"])
        case .acceptFailed(let error):
            acceptPauses.add()
            logger.log(.error, "No connection can be accepted for a moment", [.reason: "\(error)"])
        // The API measures each route itself.
        case .responded: break
        case .refused(let status, let reason):
            refusals.add()
            logger.log(.debug, "A request was refused", [.status: "\(status)", .reason: reason])
        }
    }
}
