/// Bounds of one fan-out worker.
package struct FanOutLimits: Sendable {
    /// Devices of one chunk. Without a journal a crash leaves at most this many times the open chunks in doubt.
    package var chunkDeviceCount = 1_000
    /// Chunks a worker holds at once, from claim to record.
    package var openChunkCount = 32
    /// Chunks of one app a worker holds at once, so that an app whose APNs is slow leaves room for the others; and no more than this
    /// many times those that are free, so that several such apps do.
    package var openChunkCountPerApplication = 24
    package var shareOfFreeChunks = 3
    /// Chunks a worker holds at once of apps whose push services are down, one of each app at most.
    package var openChunkCountOfDown = 8
    /// Outcomes that make a record transaction worth its cost; fewer wait for `recordDelay`.
    package var recordDeviceCount = 10_000
    /// Chunks of one record transaction.
    package var recordChunkCount = 16
    /// How long outcomes wait for company while more are on their way.
    package var recordDelay: Duration = .milliseconds(250)
    /// How long a newer state waits for answers to pushes of older ones of its activity.
    package var orderWait: Duration = .milliseconds(500)
    /// How long the worker sleeps when there is nothing to claim; a new notification wakes it before.
    package var pollInterval: Duration = .seconds(1)
    /// Shortest such sleep, also when a retry is due that cannot be claimed now.
    package var shortestNap: Duration = .milliseconds(20)
    /// How long a worker that stopped answering keeps its chunks, in seconds.
    package var leaseSeconds = 15
    /// A worker stops sending this long before its lease runs out.
    package var leaseMargin: Duration = .seconds(3)
    /// How often the lease is extended.
    package var heartbeatInterval: Duration = .seconds(4)
    /// First pause after the database failed, doubled up to `longestPause`.
    package var firstPause: Duration = .milliseconds(100)
    package var longestPause: Duration = .seconds(5)
    /// The defaults.
    package init() {}
}

/// Time as the fan-out sees it, a parameter so that tests can move it.
package struct FanOutClock: Sendable {
    /// Wall clock.
    package let now: @Sendable () -> UnixMilliseconds
    /// Monotonic clock.
    package let instant: @Sendable () -> ContinuousClock.Instant
    /// Sleeps; returns early when the task is cancelled.
    package let sleep: @Sendable (Duration) async -> Void
    /// Puts the three together.
    package init(
        now: @escaping @Sendable () -> UnixMilliseconds, instant: @escaping @Sendable () -> ContinuousClock.Instant,
        sleep: @escaping @Sendable (Duration) async -> Void
    ) {
        self.now = now
        self.instant = instant
        self.sleep = sleep
    }
}
