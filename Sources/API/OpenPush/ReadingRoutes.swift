import Gateway
import HTTP
import JSON

/// What dashboards read.
struct ReadingRoutes: Sendable {
    /// Entries of a list: when the request does not say, and at most.
    static let defaultLimit = 50
    static let limits = 1...300

    let reader: any NotificationReader
    let dashboards: DashboardRoutes

    /// One notification; `per=minute` adds its chart.
    func notification(_ request: HTTPRequest, id: String, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        let interval = checks.text("per")
        if let interval, interval != "minute" { checks.report("per", .notOneOf("minute")) }
        try checks.finish()
        guard let identifier = UUID(id) else { throw .unknownNotification }
        let summary = try await Refusal.catching { () async throws(StorageError) in
            try await reader.notification(identifier, application: application.id)
        }
        guard let summary else { throw .unknownNotification }
        guard interval != nil else { return .json(status: 200) { summary.write(to: &$0) } }
        let minutes = try await dashboards.minutes(of: identifier, application: application)
        return .json(status: 200) { writer in
            summary.write(to: &writer)
            writer.key("minutes")
            writer.beginArray()
            for minute in minutes { minute.write(to: &writer) }
            writer.endArray()
        }
    }

    /// Notifications of the app, the newest first.
    func notifications(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        let query = try NotificationQuery(request)
        let found = try await Refusal.catching { () async throws(StorageError) in
            // One more tells whether there is a next page.
            try await reader.notifications(
                activityID: query.activityID, from: query.start, limit: query.limit + 1, application: application.id)
        }
        guard let found else { throw .fields([FieldError(field: "before", problem: .notOneOf("the id of a notification"))]) }
        let page = found.prefix(query.limit)
        let next =
            found.count > query.limit
            ? page.last.map { Cursor(list: .notifications, words: [UInt64(bitPattern: $0.number.rawValue)]) } : nil
        return .json(status: 200) { writer in
            writer.key("notifications")
            writer.beginArray()
            for summary in page {
                writer.beginObject()
                summary.write(to: &writer)
                writer.endObject()
            }
            writer.endArray()
            writer.member("limit", query.limit)
            writer.member("next_cursor", next?.text)
        }
    }

    func activity(_ id: String, application: Application) async throws(Refusal) -> HTTPResponse {
        guard let activityID = try? FieldRule.activityID(id) else { throw .unknownActivity }
        let summary = try await Refusal.catching { () async throws(StorageError) in
            try await reader.activity(activityID, application: application.id)
        }
        guard let summary else { throw .unknownActivity }
        return .json(status: 200) { writer in
            writer.member("activity_id", summary.activityID)
            writer.member("activity_type", summary.activityType)
            writer.member("state", summary.isEnded ? "ended" : "active")
            writer.member("devices", summary.deviceCount)
            ActivityWindow(startedAt: summary.startedAt).write(to: &writer)
            writer.member("last_notification_id", summary.lastNotification.map { "\($0)" })
            writer.key("channels")
            writer.beginArray()
            for channel in summary.channels {
                writer.beginObject()
                channel.write(to: &writer)
                writer.endObject()
            }
            writer.endArray()
        }
    }
}

/// The query of a list of notifications.
private struct NotificationQuery {
    let activityID: String?
    let start: NotificationListStart
    let limit: Int

    init(_ request: HTTPRequest) throws(Refusal) {
        var checks = try QueryChecks(request)
        var activityID: String?
        if let text = checks.text("activity_id") {
            do throws(FieldProblem) { activityID = try FieldRule.activityID(text) } catch { checks.report("activity_id", error) }
        }
        limit = checks.integer("limit", default: ReadingRoutes.defaultLimit, in: ReadingRoutes.limits)
        let cursor = checks.cursor(of: .notifications)
        let before = checks.text("before")
        let identifier = before.flatMap { UUID($0) }
        if before != nil, identifier == nil { checks.report("before", .notUUID) }
        if cursor != nil, before != nil { checks.report("cursor", .notExactlyOne(of: "cursor, before")) }
        try checks.finish()
        self.activityID = activityID
        if let cursor {
            start = .behindPlace(NotificationID(rawValue: Int64(bitPattern: cursor.words[0])))
        } else {
            start = identifier.map { .behind($0) } ?? .newest
        }
    }
}

extension NotificationSummary {
    /// Writes the members of one notification.
    func write(to writer: inout JSONWriter) {
        writer.member("id", "\(publicID)")
        writer.member("event", event.name)
        writer.member("activity_id", activityID)
        writer.member("activity_type", activityType)
        writer.member("name", name)
        writer.member("state", state.rawValue)
        writer.member("targeted", targetedCount)
        writer.member("accepted", acceptedCount)
        writer.member("failed", failedCount)
        writer.member("unknown", unknownCount)
        writer.member("pending", pendingCount)
        writer.key("reasons")
        writer.beginObject()
        for (reason, count) in reasons { writer.member(reason.name, count) }
        writer.endObject()
        writer.member("clicks", clickCount)
        writer.member("clicked_devices", clickedDeviceCount)
        writer.member("unknown_entries", unknownEntryCount)
        writer.member("created_at", createdAt.dateText)
        writer.member("finished_at", finishedAt?.dateText)
    }
}

extension Refusal {
    static let unknownNotification = Refusal.notFound("There is no notification of this id.")
    static let nobodyHolds = Refusal.notFound(
        "No device holds the activity and can be pushed now; the state is kept for 60 s for the first that can.")
    static let unknownActivity = Refusal.notFound("There is no activity of this id.")
}
