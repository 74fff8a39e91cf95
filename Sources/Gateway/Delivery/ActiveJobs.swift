import Synchronization

/// What all workers of this process are sending, so that a newer state stops what is unsent of an older one at once.
package final class ActiveJobs: Sendable {
    private struct Key: Hashable {
        let application: ApplicationID
        let activityID: ExactText
    }
    private struct Entry {
        let notification: NotificationID
        let event: ActivityEvent
        let cancellation: Cancellation
    }
    private let entries = Mutex<[Key: [Entry]]>([:])

    /// Nothing is being sent.
    package init() {}

    func add(_ job: PushJob, _ cancellation: Cancellation) {
        let key = Key(application: job.application.id, activityID: ExactText(job.activityID))
        let entry = Entry(notification: job.notification, event: job.content.event, cancellation: cancellation)
        entries.withLock { $0[key, default: []].append(entry) }
    }

    func remove(_ job: PushJob, _ cancellation: Cancellation) {
        let key = Key(application: job.application.id, activityID: ExactText(job.activityID))
        entries.withLock { entries in
            entries[key]?.removeAll { $0.cancellation === cancellation }
            if entries[key]?.isEmpty == true { entries[key] = nil }
        }
    }

    /// Cancels what the newer notification takes the place of: older updates, and by an end older starts as well.
    package func supersede(by newer: NotificationID, event: ActivityEvent, activityID: String, application: ApplicationID) {
        guard event != .start else { return }
        let key = Key(application: application, activityID: ExactText(activityID))
        let outdated = entries.withLock { entries in
            entries[key]?.filter { $0.notification < newer && (event == .end || $0.event == .update) } ?? []
        }
        for entry in outdated { entry.cancellation.cancel(.superseded) }
    }
}
