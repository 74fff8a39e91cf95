import Synchronization

/// The updates all workers of this process are sending, so that a newer state leaves behind the older ones of its activity.
///
/// APNs hands on what comes over two connections in any order. A phone puts states right by their timestamps; this keeps them in
/// order in the first place, as far as one process can.
package final class ActiveJobs: Sendable {
    private struct Key: Hashable {
        let application: ApplicationID
        let activityID: ExactText
        init(_ job: PushJob) {
            application = job.application.id
            activityID = ExactText(job.activityID)
        }
    }
    private struct Activity {
        var updates: [NotificationID] = []
        var waiters: [ObjectIdentifier: WakeUp] = [:]
    }
    private let activities = Mutex<[Key: Activity]>([:])

    /// Nothing is being sent.
    package init() {}

    func add(_ job: PushJob) {
        guard job.content.event == .update else { return }
        activities.withLock { $0[Key(job), default: Activity()].updates.append(job.notification) }
    }

    func remove(_ job: PushJob) {
        guard job.content.event == .update else { return }
        let key = Key(job)
        let waiters: [WakeUp] = activities.withLock { activities in
            guard let index = activities[key]?.updates.firstIndex(of: job.notification) else { return [] }
            activities[key]?.updates.remove(at: index)
            let waiters = activities[key]?.waiters.values.map { $0 } ?? []
            Self.forgetIdle(key, &activities)
            return waiters
        }
        for waiter in waiters { waiter.call() }
    }

    /// Waits until no older update of the activity is on its way, and no longer than `limit`: a phone is to see the newest state
    /// soon, whatever APNs does with the older ones.
    func waitForOlderUpdates(than job: PushJob, limit: Duration, clock: FanOutClock) async {
        guard job.content.event != .start else { return }
        let key = Key(job)
        guard hasOlderUpdate(than: job, key) else { return }
        let wakeUp = WakeUp()
        let deadline = clock.instant() + limit
        activities.withLock { $0[key, default: Activity()].waiters[ObjectIdentifier(wakeUp)] = wakeUp }
        while hasOlderUpdate(than: job, key) {
            let left = clock.instant().duration(to: deadline)
            guard left > .zero else { break }
            await wakeUp.sleep { await clock.sleep(left) }
        }
        activities.withLock { activities in
            activities[key]?.waiters[ObjectIdentifier(wakeUp)] = nil
            Self.forgetIdle(key, &activities)
        }
    }

    private func hasOlderUpdate(than job: PushJob, _ key: Key) -> Bool {
        activities.withLock { $0[key]?.updates.contains { $0 < job.notification } == true }
    }

    private static func forgetIdle(_ key: Key, _ activities: inout [Key: Activity]) {
        if activities[key]?.updates.isEmpty == true, activities[key]?.waiters.isEmpty == true { activities[key] = nil }
    }
}
