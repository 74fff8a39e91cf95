import Observability
import Synchronization

/// Says once a minute of each app and service how many tokens the service called wrong: one is nobody's fault, and where they come from
/// is what an operator needs to know.
final class WrongTokenReports: Sendable {
    /// The shortest time between two lines about an app and service.
    static let interval = Duration.seconds(60)

    private struct Key: Hashable {
        let application: ApplicationID
        let service: Int16
    }
    private struct Report {
        /// Since the last line.
        var count = 0
        var nextAt: ContinuousClock.Instant
    }
    /// Bounded by the number of apps and services.
    private let reports = Mutex<[Key: Report]>([:])
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    func note(_ outcomes: [PushOutcome], services: [Int16], of application: Application, now: ContinuousClock.Instant) {
        var counts: [Int16: (count: Int, reason: DeliveryReason)] = [:]
        for (outcome, service) in zip(outcomes, services) where TokenQuarantine.blamesSetUp(outcome) {
            guard case .tokenDead(let reason, _) = outcome else { continue }
            counts[service, default: (0, reason)].count += 1
        }
        for (service, told) in counts.sorted(by: { $0.key < $1.key }) {
            let due: Int? = reports.withLock { reports in
                let key = Key(application: application.id, service: service)
                var report = reports[key] ?? Report(nextAt: now)
                report.count += told.count
                let due = now >= report.nextAt ? report.count : nil
                if due != nil { report = Report(nextAt: now + Self.interval) }
                reports[key] = report
                return due
            }
            if let due { log(due, told.reason, service: PushService(rawValue: service), application) }
        }
    }

    private func log(_ count: Int, _ reason: DeliveryReason, service: PushService?, _ application: Application) {
        var fields: [LogKey: String] = [
            .appID: application.publicID.description, .count: "\(count)", .reason: reason.name,
        ]
        if let environment = service?.environment { fields[.environment] = environment.name }
        logger.log(.warning, "A push service calls tokens of an app wrong", fields)
    }
}
