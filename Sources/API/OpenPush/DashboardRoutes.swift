import Gateway
import HTTP
import JSON

/// What dashboards read of single devices and of lists, page by page.
struct DashboardRoutes: Sendable {
    /// Entries of a page: when the request does not say, and at most.
    static let defaultLimit = 100
    static let limits = 1...1_000
    /// Most minutes of a chart: a day.
    static let minuteCount = 1_440

    let deliveries: any DashboardReader

    /// One row a device.
    func deliveries(_ request: HTTPRequest, notification: String, application: Application) async throws(Refusal) -> HTTPResponse
    {
        var checks = try QueryChecks(request)
        let limit = checks.integer("limit", default: Self.defaultLimit, in: Self.limits)
        let cursor = checks.cursor(of: .deliveries)
        try checks.finish()
        guard let identifier = UUID(notification) else { throw .unknownNotification }
        let begin = cursor.map { Int64(bitPattern: $0.words[0]) } ?? .min
        let page = try await Refusal.catching { () async throws(StorageError) in
            try await deliveries.deliveries(of: identifier, behind: begin, limit: limit, application: application.id)
        }
        guard let page else { throw .unknownNotification }
        let next = page.next.map { Cursor(list: .deliveries, words: [UInt64(bitPattern: $0)]) }
        return .json(status: 200) { writer in
            writer.key("deliveries")
            writer.beginArray()
            for delivery in page.deliveries { delivery.write(to: &writer) }
            writer.endArray()
            writer.member("next_cursor", next?.text)
        }
    }

    /// Activities of the app, the newest first.
    func activities(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        let limit = checks.integer("limit", default: Self.defaultLimit, in: Self.limits)
        let cursor = checks.cursor(of: .activities)
        try checks.finish()
        let begin = cursor.map { Int64(bitPattern: $0.words[0]) } ?? .max
        let found = try await Refusal.catching { () async throws(StorageError) in
            // One more tells whether there is a next page.
            try await deliveries.activities(before: begin, limit: limit + 1, application: application.id)
        }
        let page = found.prefix(limit)
        let next =
            found.count > limit
            ? page.last.map { Cursor(list: .activities, words: [UInt64(bitPattern: $0.number)]) } : nil
        return .json(status: 200) { writer in
            writer.key("activities")
            writer.beginArray()
            for activity in page { activity.write(to: &writer) }
            writer.endArray()
            writer.member("next_cursor", next?.text)
        }
    }

    /// The minutes of a notification's chart.
    func minutes(of notification: UUID, application: Application) async throws(Refusal) -> [NotificationMinute] {
        try await Refusal.catching { () async throws(StorageError) in
            try await deliveries.minutes(of: notification, limit: Self.minuteCount, application: application.id)
        }
    }
}

extension DeviceDelivery {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recipient", isChannel ? "channel" : "device")
        writer.member("subscription_id", subscriptionID.map { "\($0)" })
        writeMembers(to: &writer)
        writer.endObject()
    }

    /// Writes what there is to say of the push.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("outcome", reason.tally.name)
        writer.member("reason", reason.tally == .failed ? reason.name : nil)
        writer.member("joined_channel", reason == .acceptedForChannel)
        writer.member("apns_id", "\(apnsID)")
        writer.member("at", endedAt.dateText)
        writer.member("first_click_at", firstClickAt?.dateText)
        writer.member("taps", tapCount)
    }
}

extension Tally {
    /// As the totals name it.
    fileprivate var name: String {
        switch self {
        case .accepted: "accepted"
        case .failed: "failed"
        case .unknown: "unknown"
        }
    }
}

extension ListedActivity {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("activity_id", activityID)
        writer.member("activity_type", activityType)
        writer.member("state", endedAt == nil ? "active" : "ended")
        writer.member("created_at", createdAt.dateText)
        writer.member("ended_at", endedAt?.dateText)
        writer.endObject()
    }
}

extension NotificationMinute {
    /// Writes one entry of a chart.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("minute", startsAt.dateText)
        writer.member("accepted", acceptedCount)
        writer.member("clicked_devices", clickedDeviceCount)
        writer.endObject()
    }
}
