package import Observability

/// Where instances stand whose cards are to be gone at a time. Implemented by the store.
package protocol BroadcastDismissals: Sendable {
    /// Ends running instances whose dismissal date has come, so many at most: what is pushed has their last state and removes the card.
    /// Returns how many, after the commits.
    func dismissDue(limit: Int) async throws(StorageError) -> Int
    /// Seconds until the next date comes, by the database's clock; less than 0 for one that has come, nil when there is none.
    func secondsToNextDismissal() async throws(StorageError) -> Int64?
}

/// Ends instances of campaigns at their dismissal date. One in a process; of several daemons whichever comes first ends an instance, once.
package actor BroadcastDismisser {
    /// Longest time between two looks: a date may have been told to another daemon.
    static let interval = Duration.seconds(5)
    /// Campaigns whose instances are ended together; when there are so many, the next follow at once.
    static let instanceCount = 20

    private let executor: any SerialExecutor
    private let dismissals: any BroadcastDismissals
    private let clock: FanOutClock
    private let logger: Logger
    private let announce: @Sendable () -> Void

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// A dismisser that has not begun.
    ///
    /// - Parameter announce: called when something is to be pushed.
    package init(
        executor: any SerialExecutor, dismissals: any BroadcastDismissals, clock: FanOutClock, logger: Logger,
        announce: @escaping @Sendable () -> Void
    ) {
        self.executor = executor
        self.dismissals = dismissals
        self.clock = clock
        self.logger = logger
        self.announce = announce
    }

    /// Works until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            var pause = Self.interval
            do throws(StorageError) { pause = try await look() } catch {
                logger.log(.warning, "Dismissal dates of broadcasts wait for the database", [.reason: "\(error)"])
            }
            await clock.sleep(pause)
        }
    }

    /// Looks once; how long there is nothing to do then.
    package func look() async throws(StorageError) -> Duration {
        var count: Int
        repeat {
            count = try await dismissals.dismissDue(limit: Self.instanceCount)
            if count > 0 { announce() }
        } while count >= Self.instanceCount && !Task.isCancelled
        guard let seconds = try await dismissals.secondsToNextDismissal() else { return Self.interval }
        // One that could not be ended now must not make a loop.
        return min(Self.interval, max(.seconds(1), .seconds(seconds)))
    }
}
