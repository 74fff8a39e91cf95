import Observability

/// How a worker keeps its place, and what it stops by the clock.
extension FanOutWorker {
    /// Extends the lease and looks for newer states, in intervals and whenever a notification was accepted.
    func keepLease() async {
        while !isRecorderDone {
            await heartbeatWakeUp.sleep { [clock, limits] in await clock.sleep(limits.pollInterval) }
            if lease.isExtensionDue(at: clock.instant()) { await extendLease() }
            await cancelSuperseded(among: jobs.notifications)
        }
    }

    /// Looks at what ends by the clock alone: the lease, whose extension may take as long as the database does not answer, and the time to live of
    /// what is being sent.
    func watchDeadlines() async {
        while !isRecorderDone {
            // One moment for both: a time that ends between them would be noticed a nap later.
            let now = clock.now()
            jobs.cancelExpired(at: now)
            let nap = jobs.timeToNextExpiry(at: now).map { min($0, limits.pollInterval) } ?? limits.pollInterval
            await deadlineWakeUp.sleep { [clock] in await clock.sleep(nap) }
            if lease.isExpired(at: clock.instant()) { jobs.cancelAll(.leaseExpired) }
        }
    }

    func extendLease() async {
        guard let worker else { return await register() }
        do {
            let beforeExtension = clock.instant()
            if try await queue.extendLease(of: worker, seconds: limits.leaseSeconds) {
                lease.extendedAt = beforeExtension
            } else {
                await loseLease()
            }
        } catch {
            logger.log(.warning, "The lease could not be extended", [.reason: "\(error)"])
        }
    }
}
