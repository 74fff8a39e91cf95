package import Observability

/// Claims chunks, sends them and records what happened; one on each event loop, all of all daemons alike.
///
/// Its life: register, then claim while there is room, sleep while there is nothing, and extend the lease beside that.
/// Every chunk is a child task; outcomes are recorded by one child task, several chunks in one transaction.
package actor FanOutWorker {
    private let executor: any SerialExecutor
    let queue: any DeliveryQueue
    let journals: (any PushJournals)?
    private let chunkSending: ChunkSending
    private let renderer: any PayloadRenderer
    private let board: ProgressBoard
    let clock: FanOutClock
    let node: String
    let limits: FanOutLimits
    let logger: Logger
    private let claimWakeUp = WakeUp()
    private let recordWakeUp = WakeUp()
    let heartbeatWakeUp = WakeUp()
    let deadlineWakeUp = WakeUp()
    var worker: WorkerID?
    /// The registered worker's journal; nil when it works without.
    var journal: (any WorkerJournal)?
    var lease: LeaseClock
    private(set) var isStopping = false
    /// What waits before it is tried again.
    var pauses: [Int: WakeUp] = [:]
    var pauseCount = 0
    var jobs: JobTable
    private var openChunks: OpenChunks
    /// Chunks whose pushes are on their way.
    private var sending: Set<ChunkID> = []
    private var finished: [FinishedChunk] = []
    private var isClaimingDone = false
    /// Whether a chunk may be on its way from the queue.
    private var isClaiming = false
    private(set) var isRecorderDone = false
    /// By the number under which they were made: until when claims that were not answered may still be committed, without this worker
    /// knowing their chunks.
    private var unansweredClaims: [WorkerID: ContinuousClock.Instant] = [:]

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// A worker that has not begun.
    ///
    /// - Parameters:
    ///   - journals: where it notes which pushes it put on the wire; nil to do without.
    ///   - node: what the operator sees in `worker.node`; no meaning beyond that.
    package init(
        executor: any SerialExecutor, queue: any DeliveryQueue, journals: (any PushJournals)? = nil, sender: any PushSender,
        renderer: any PayloadRenderer, board: ProgressBoard, jobs: ActiveJobs, clock: FanOutClock, node: String,
        limits: FanOutLimits = FanOutLimits(), logger: Logger, counters: FanOutCounters, quarantine: TokenQuarantine
    ) {
        self.executor = executor
        self.queue = queue
        self.journals = journals
        chunkSending = ChunkSending(sender: sender, board: board, clock: clock, counters: counters, quarantine: quarantine)
        self.renderer = renderer
        self.board = board
        self.jobs = JobTable(announcedIn: jobs)
        self.clock = clock
        self.node = node
        self.limits = limits
        self.logger = logger
        lease = LeaseClock(extendedAt: clock.instant(), limits: limits)
        openChunks = OpenChunks(limits)
    }

    /// Tells the worker that a notification was accepted somewhere: there is something to claim, and perhaps something to stop.
    package nonisolated func wake() {
        claimWakeUp.call()
        heartbeatWakeUp.call()
    }

    /// Stops claiming; `run` returns when what is open is recorded. Drain the sender as well, or it may take long.
    package func stop() {
        isStopping = true
        claimWakeUp.call()
        endPauses()
    }

    /// Works until `stop`.
    package func run() async {
        await register()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepLease() }
            group.addTask { await self.watchDeadlines() }
            group.addTask { await self.recordOutcomes() }
            await self.claimChunks(&group)
            isClaimingDone = true
            recordWakeUp.call()
        }
        await leave()
    }

    // MARK: Claiming

    private func claimChunks(_ group: inout DiscardingTaskGroup) async {
        var backOff = BackOff(limits)
        while !isStopping {
            guard openChunks.count < limits.openChunkCount, let worker, !lease.isExpired(at: clock.instant()) else {
                await claimWakeUp.sleep { [clock, limits] in await clock.sleep(limits.pollInterval) }
                continue
            }
            do {
                try await giveBackUnheldChunks()
                let busy = openChunks.fullApplications
                let chunk = try await claimChunk(for: worker, excluding: busy)
                backOff.succeeded()
                if let chunk {
                    guard mayStillSend(as: worker) else { continue }
                    openChunks.open(chunk.application)
                    sending.insert(chunk.id)
                    group.addTask { await self.process(chunk, of: worker) }
                } else {
                    try await sleepUntilWork(excluding: busy)
                }
            } catch {
                logger.log(.warning, "No chunk could be claimed", [.reason: "\(error)"])
                let pause = backOff.next()
                await claimWakeUp.sleep { [clock] in await clock.sleep(pause) }
            }
        }
    }

    private func claimChunk(for worker: WorkerID, excluding busy: [ApplicationID]) async throws(StorageError) -> Chunk? {
        isClaiming = true
        var chunk: Chunk?
        defer {
            isClaiming = false
            jobs.forgetUnused(except: sending.map(\.notification) + [chunk?.id.notification].compactMap { $0 })
            recordWakeUp.call()
        }
        do throws(StorageError) {
            chunk = try await queue.claimChunk(for: worker, deviceCount: limits.chunkDeviceCount, excluding: busy)
            return chunk
        } catch {
            // No statement runs longer than a lease lasts.
            unansweredClaims[worker] = clock.instant() + .seconds(limits.leaseSeconds)
            throw error
        }
    }

    private func sleepUntilWork(excluding busy: [ApplicationID]) async throws(StorageError) {
        let due = try await queue.millisecondsUntilNextRetry(excluding: busy)
        let nap = min(limits.pollInterval, max(limits.shortestNap, due.map { .milliseconds($0) } ?? limits.pollInterval))
        await claimWakeUp.sleep { [clock] in await clock.sleep(nap) }
    }

    /// Whether a chunk that was claimed under this number may be sent, whatever took so long meanwhile; else it is given back.
    private func mayStillSend(as owner: WorkerID) -> Bool {
        let now = clock.instant()
        if worker == owner, !lease.isExpired(at: now) { return true }
        unansweredClaims[owner] = max(unansweredClaims[owner] ?? now, now)
        return false
    }

    /// A claim may be committed although its answer was lost, even some time afterwards, and after its worker was taken for dead; nothing
    /// of it was sent.
    private func giveBackUnheldChunks() async throws(StorageError) {
        for (owner, end) in unansweredClaims {
            let isOver = clock.instant() >= end
            try await queue.giveBackChunks(of: owner, except: finished.map(\.record.chunk) + Array(sending))
            // Meanwhile another claim may have come to be given back.
            if isOver, unansweredClaims[owner] == end { unansweredClaims[owner] = nil }
        }
    }

    // MARK: Sending

    private func process(_ chunk: Chunk, of owner: WorkerID) async {
        let sent = await send(chunk, of: owner)
        sending.remove(chunk.id)
        if let sent {
            openChunks.notice(sent.sign, of: chunk.application)
            finished.append(sent)
        } else {
            openChunks.close(chunk.application)
        }
        recordWakeUp.call()
    }

    /// Nil when the worker stops, or loses its lease, before it knows what to send; the chunk goes to another worker.
    private func send(_ chunk: Chunk, of owner: WorkerID) async -> FinishedChunk? {
        guard let active = await beginJob(of: chunk) else { return nil }
        defer { jobs.release(active, isKept: isClaiming) }
        await jobs.announcements.waitForOlderUpdates(than: active.job, limit: limits.orderWait, clock: clock)
        guard mayStillSend(as: owner) else { return nil }
        if active.isExpired(at: clock.now()) { active.cancellation.cancel(.expired) }
        return await chunkSending.send(chunk, of: owner, as: active, journal: journal)
    }

    private func beginJob(of chunk: Chunk) async -> ActiveJob? {
        let notification = chunk.id.notification
        if let known = jobs.retain(notification) { return known }
        guard let fresh = await loadJob(notification) else { return nil }
        // Another chunk of the notification may have loaded it meanwhile.
        if let known = jobs.retain(notification) { return known }
        jobs.insert(fresh)
        deadlineWakeUp.call()
        let job = jobs.retain(notification)
        await cancelSuperseded(among: [notification])
        return job
    }

    private func loadJob(_ notification: NotificationID) async -> ActiveJob? {
        var backOff = BackOff(limits)
        while !isStopping {
            do {
                guard let job = try await queue.job(for: notification) else { return nil }
                return ActiveJob(job: job, renderer: renderer)
            } catch {
                logger.log(.warning, "A notification could not be read yet", [.reason: "\(error)"])
                await pause(backOff.next())
            }
        }
        return nil
    }

    /// Stops what is unsent of them where a newer state, or the end, was accepted, by whichever daemon.
    func cancelSuperseded(among notifications: [NotificationID]) async {
        guard !notifications.isEmpty else { return }
        do {
            for notification in try await queue.superseded(among: notifications) {
                jobs.cancellation(of: notification)?.cancel(.superseded)
            }
        } catch {
            // Asked again before long; until then the device orders states by their timestamps.
            logger.log(.debug, "Whether notifications are superseded is not known", [.reason: "\(error)"])
        }
    }

    // MARK: Recording

    private func recordOutcomes() async {
        var backOff = BackOff(limits)
        while true {
            // A worker without a number that stops has no database to record in.
            guard !finished.isEmpty, worker != nil || !isClaimingDone else {
                if isClaimingDone, openChunks.count == 0 || worker == nil { break }
                await recordWakeUp.sleep { [clock, limits] in await clock.sleep(limits.pollInterval) }
                continue
            }
            await gatherOutcomes()
            // Under the number they were claimed by: what nobody took meanwhile counts, also after the lease was lost.
            let owner = finished[0].owner
            let batch = Array(finished.prefix(limits.recordChunkCount).prefix { $0.owner == owner })
            do {
                let lostCount = try await ChunkRecorder(queue: queue, logger: logger).record(batch.map(\.record), worker: owner)
                backOff.succeeded()
                finishRecording(batch, lostCount: lostCount)
            } catch {
                logger.log(.warning, "Outcomes could not be recorded yet", [.reason: "\(error)"])
                await clock.sleep(backOff.next())
            }
        }
        isRecorderDone = true
        heartbeatWakeUp.call()
        deadlineWakeUp.call()
    }

    /// Waits a moment for outcomes that are on their way.
    private func gatherOutcomes() async {
        let end = clock.instant() + limits.recordDelay
        while finished.reduce(0, { $0 + $1.deviceCount }) < limits.recordDeviceCount,
            !sending.isEmpty || isClaiming
        {
            let left = clock.instant().duration(to: end)
            guard left > .zero else { return }
            await recordWakeUp.sleep { [clock] in await clock.sleep(left) }
        }
    }

    private func finishRecording(_ batch: [FinishedChunk], lostCount: Int) {
        finished.removeFirst(batch.count)
        for chunk in batch {
            openChunks.close(chunk.application)
            chunk.page?.close()
        }
        if lostCount > 0 {
            logger.log(.warning, "Another daemon took over chunks before they were recorded", [.count: "\(lostCount)"])
        }
        for notification in Set(batch.map(\.record.chunk.notification)) { board.outcomesRecorded(of: notification) }
        claimWakeUp.call()
    }
}
