/// The notifications one worker is sending, each with the number of its chunks on their way, and those whose next chunk may be coming.
///
/// While a notification is here, `ActiveJobs` knows of it, so that newer states of its activity wait for what is on the wire.
struct JobTable {
    private var table: [NotificationID: ActiveJob] = [:]
    let announcements: ActiveJobs

    init(announcedIn announcements: ActiveJobs) { self.announcements = announcements }

    var notifications: [NotificationID] { Array(table.keys) }

    func cancellation(of notification: NotificationID) -> Cancellation? { table[notification]?.cancellation }

    mutating func insert(_ job: ActiveJob) {
        table[job.job.notification] = job
        announcements.add(job.job)
    }

    /// Counts one more chunk; nil when the notification is not here.
    mutating func retain(_ notification: NotificationID) -> ActiveJob? {
        table[notification]?.openChunkCount += 1
        return table[notification]
    }

    /// Counts one chunk less; after the last one the notification is forgotten.
    ///
    /// - Parameter isKept: whether it stays until `forgetUnused`: the next chunk may be on its way, and would be read for again.
    mutating func release(_ job: ActiveJob, isKept: Bool) {
        let notification = job.job.notification
        // After a lost lease the same notification may be here anew.
        guard table[notification]?.cancellation === job.cancellation else { return }
        table[notification]?.openChunkCount -= 1
        guard table[notification]?.openChunkCount == 0, !isKept else { return }
        table[notification] = nil
        announcements.remove(job.job)
    }

    /// Forgets notifications without chunks, but for those whose chunks are coming.
    mutating func forgetUnused(except notifications: [NotificationID]) {
        for job in table.values where job.openChunkCount == 0 && !notifications.contains(job.job.notification) {
            table[job.job.notification] = nil
            announcements.remove(job.job)
        }
    }

    /// Stops what is unsent of those whose time to live is over.
    func cancelExpired(at now: UnixMilliseconds) {
        for job in table.values where job.isExpired(at: now) { job.cancellation.cancel(.expired) }
    }

    /// Until the next one's time to live is over; nil when none is left whose time is not.
    func timeToNextExpiry(at now: UnixMilliseconds) -> Duration? {
        table.values.filter { !$0.isExpired(at: now) }.map { $0.job.expiry.rawValue - now.rawValue }.min().map(
            Duration.milliseconds)
    }

    /// Stops what is unsent of all of them and forgets them.
    mutating func cancelAll(_ cause: Cancellation.Cause) {
        for job in table.values {
            job.cancellation.cancel(cause)
            announcements.remove(job.job)
        }
        table.removeAll()
    }
}
