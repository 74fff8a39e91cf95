import Gateway
import Networking
import Observability
import Store
import Synchronization

/// Makes partitions ahead and removes what is past its time, from time to time. Every daemon does so; the store lets one at a time.
final class Upkeep: Sendable {
    /// Time between two rounds.
    static let interval: Duration = .seconds(600)
    /// Pause after a round that failed.
    static let pauseAfterFailure: Duration = .seconds(5)

    private let loop: EventLoop
    private let store: Store
    private let retentionDays: Int
    private let metrics: Metrics
    private let logger: Logger
    /// Seconds since 1970.
    private let partitionsEndAt = Atomic<Int64>(0)

    init(loop: EventLoop, store: Store, retentionDays: Int, metrics: Metrics, logger: Logger) {
        self.loop = loop
        self.store = store
        self.retentionDays = retentionDays
        self.metrics = metrics
        self.logger = logger
    }

    /// Works until the task is cancelled.
    func run() async {
        var progress = RetentionProgress()
        while !Task.isCancelled {
            do {
                let report = try await store.maintain(retentionDays: retentionDays, resuming: progress)
                if !report.isElsewhere { progress = report.progress }
                tell(report)
                await loop.sleep(for: Self.interval)
            } catch {
                logger.log(.warning, "Upkeep of the database failed; it is tried again", [.reason: "\(error)"])
                await loop.sleep(for: Self.pauseAfterFailure)
            }
        }
    }

    private func tell(_ report: UpkeepReport) {
        show(partitionsEndAt: report.partitionsEndAt)
        if let problem = report.partitionProblem {
            logger.log(.warning, "A partition past its time could not be dropped; it is tried again", [.reason: problem])
        }
        if report.heldPartitionCount > 0 {
            logger.log(
                .warning, "Partitions past their time stay: fan-outs of their days have not finished",
                [.partitionCount: "\(report.heldPartitionCount)"])
        }
        let removed = report.removed
        guard removed != RemovedCounts() else { return }
        logger.log(
            .info, "Removed what is past its time",
            [
                .partitionCount: "\(removed.partitions)", .idempotencyKeyCount: "\(removed.keys)",
                .notificationCount: "\(removed.notifications)", .activityCount: "\(removed.activities)",
                .updateTokenCount: "\(removed.updateTokens)", .instanceCount: "\(removed.instances)",
                .retryCount: "\(removed.retries)",
                .workerCount: "\(removed.workers)",
            ])
    }

    /// Keeps falling when upkeep fails from now on: the number is made when it is asked for.
    private func show(partitionsEndAt end: Int64) {
        partitionsEndAt.store(end, ordering: .relaxed)
        metrics.gauge(
            "openpush_partition_days_ahead", help: "Whole days for which partitions are there; at 0 nothing can be stored soon.",
            read: { [self] in max(0, Int((partitionsEndAt.load(ordering: .relaxed) - SystemClocks.now().seconds) / 86_400)) })
    }
}
