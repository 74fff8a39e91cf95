import Gateway
import HTTP
import JSON

/// What dashboards read of one device, and totals over many notifications.
struct DeviceReadingRoutes: Sendable {
    /// Longest time statistics may span, in days, and how far back they begin when the request does not say.
    static let longestDays: Int64 = 93
    static let defaultDays: Int64 = 7
    /// Most groups of statistics.
    static let groupCount = 1_000
    private static let daySeconds: Int64 = 86_400

    let reader: any DashboardReader
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    func device(_ id: String, application: Application) async throws(Refusal) -> HTTPResponse {
        guard let identifier = UUID(id) else { throw .unknownSubscription }
        let details = try await Refusal.catching { () async throws(StorageError) in
            try await reader.device(identifier, application: application.id)
        }
        guard let details else { throw .unknownSubscription }
        return .json(status: 200) { details.write(to: &$0) }
    }

    /// The pushes to a device, the newest first.
    func timeline(_ request: HTTPRequest, device id: String, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        let limit = checks.integer("limit", default: DashboardRoutes.defaultLimit, in: DashboardRoutes.limits)
        let cursor = checks.cursor(of: .timeline)
        try checks.finish()
        guard let identifier = UUID(id) else { throw .unknownSubscription }
        let begin = NotificationID(rawValue: cursor.map { Int64(bitPattern: $0.words[0]) } ?? .max)
        let page = try await Refusal.catching { () async throws(StorageError) in
            try await reader.timeline(of: identifier, before: begin, limit: limit, application: application.id)
        }
        guard let page else { throw .unknownSubscription }
        return .json(status: 200) { writer in
            writer.key("pushes")
            writer.beginArray()
            for entry in page.entries {
                writer.beginObject()
                writer.member("notification_id", "\(entry.notification)")
                writer.member("event", entry.event.name)
                writer.member("activity_id", entry.activityID)
                writer.member("name", entry.name)
                entry.delivery.writeMembers(to: &writer)
                writer.endObject()
            }
            writer.endArray()
            let next = page.next.map { Cursor(list: .timeline, words: [UInt64(bitPattern: $0.rawValue)]) }
            writer.member("next_cursor", next?.text)
        }
    }

    func statistics(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        // The end is exclusive: what happened in this very second counts.
        let end = Self.seconds("to", &checks) ?? now() + 1
        let begin = Self.seconds("from", &checks) ?? max(0, end - Self.defaultDays * Self.daySeconds)
        let by = checks.text("by")
        let grouping = by.map { StatisticsGrouping(rawValue: $0) } ?? .activityType
        if grouping == nil {
            checks.report("by", .notOneOf(StatisticsGrouping.allCases.map(\.rawValue).joined(separator: ", ")))
        }
        if begin >= end || end - begin > Self.longestDays * Self.daySeconds {
            checks.report("from", .notOneOf("before \"to\", by \(Self.longestDays) days at most"))
        }
        try checks.finish()
        guard let grouping else { preconditionFailure("a grouping is there or reported") }
        let rows = try await Refusal.catching { () async throws(StorageError) in
            try await reader.statistics(in: begin..<end, by: grouping, limit: Self.groupCount, application: application.id)
        }
        return .json(status: 200) { writer in
            writer.member("from", begin)
            writer.member("to", end)
            writer.member("by", grouping.rawValue)
            writer.key("groups")
            writer.beginArray()
            for row in rows { row.write(to: &writer, key: grouping.rawValue) }
            writer.endArray()
        }
    }

    private static func seconds(_ name: String, _ checks: inout QueryChecks) -> Int64? {
        guard let text = checks.text(name) else { return nil }
        guard let seconds = Int64(text), (0...AdmissionLimits.lastIdentifierDate).contains(seconds) else {
            checks.report(
                name, .wrongKind(expected: "a whole number of seconds since 1970, at most \(AdmissionLimits.lastIdentifierDate)"))
            return nil
        }
        return seconds
    }
}

extension DeviceDetails {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("subscription_id", "\(subscriptionID)")
        writer.member("platform", platform.name)
        writer.member("environment", environment.name)
        writer.member("external_id", externalID)
        Self.write("aliases", aliases, to: &writer)
        Self.write("tags", tags, to: &writer)
        writer.member("language", language)
        writer.member("country", country)
        writer.member("app_version", appVersion)
        writer.member("os_version", osVersion)
        writer.member("timezone", timeZone)
        writer.member("session_count", sessionCount)
        writer.member("first_session", firstSession)
        writer.member("last_session", lastSession)
        writer.member("session_time", sessionSeconds)
        Self.write("lat", location?.latitude, to: &writer)
        Self.write("long", location?.longitude, to: &writer)
        writer.member("registered_at", registeredAt.dateText)
        writer.key("start_tokens")
        writer.beginArray()
        for token in startTokens {
            writer.beginObject()
            writer.member("activity_type", token.activityType)
            writer.member("environment", token.service.environment?.name ?? "fcm")
            writer.member("registered_at", token.registeredAt.dateText)
            writer.endObject()
        }
        writer.endArray()
        writer.key("activities")
        writer.beginArray()
        for activity in activities {
            writer.beginObject()
            writer.member("activity_id", activity.activityID)
            writer.member("activity_type", activity.activityType)
            activity.window.write(to: &writer)
            writer.member("ended_at", activity.endedAt?.dateText)
            writer.endObject()
        }
        writer.endArray()
    }

    private static func write(_ name: String, _ degrees: Double?, to writer: inout JSONWriter) {
        writer.key(name)
        if let degrees { writer.raw("\(degrees)".utf8) } else { writer.null() }
    }

    private static func write(_ name: String, _ pairs: [(name: String, value: String)], to writer: inout JSONWriter) {
        writer.key(name)
        writer.beginObject()
        for pair in pairs { writer.member(pair.name, pair.value) }
        writer.endObject()
    }
}

extension StatisticsRow {
    fileprivate func write(to writer: inout JSONWriter, key name: String) {
        writer.beginObject()
        writer.member(name, key)
        writer.member("notifications", notificationCount)
        writer.member("targeted", targetedCount)
        writer.member("accepted", acceptedCount)
        writer.member("failed", failedCount)
        writer.member("unknown", unknownCount)
        writer.member("clicks", clickCount)
        writer.member("clicked_devices", clickedDeviceCount)
        writer.key("click_through")
        if let clickThrough { writer.raw("\(clickThrough)".utf8) } else { writer.null() }
        writer.endObject()
    }
}
