import Gateway
import HTTP
import JSON

/// A notification as OneSignal's clients read a message.
struct MessageRoutes: Sendable {
    let reader: any NotificationReader

    /// What OneSignal's clients choose outcomes by, of which there are none here.
    private static let figures = [
        "outcome_names", "outcome_names[]", "outcome_time_range", "outcome_platforms", "outcome_attribution",
    ]

    func message(_ request: HTTPRequest, id: String, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        let text = checks.text("app_id")
        let app = text.flatMap { UUID($0) }
        if text == nil { checks.report("app_id", .missing) } else if app == nil { checks.report("app_id", .notUUID) }
        Self.figures.forEach { checks.passOver($0) }
        try checks.finish()
        guard app == application.publicID else { throw .wrongApplication }
        guard let identifier = UUID(id) else { throw .messageNotFound }
        let summary = try await Refusal.catching { () async throws(StorageError) in
            try await reader.notification(identifier, application: application.id)
        }
        guard let summary else { throw .messageNotFound }
        return .json(status: 200) { Self.write(summary, application: application, to: &$0) }
    }

    private static func write(_ summary: NotificationSummary, application: Application, to writer: inout JSONWriter) {
        writer.member("id", "\(summary.publicID)")
        writer.member("app_id", "\(application.publicID)")
        writer.member("name", summary.name)
        writer.member("isIos", application.bundleID != nil)
        writer.member("isAndroid", application.androidPackageName != nil)
        let counts = MessageCounts(summary)
        counts.write(to: &writer)
        writer.member("remaining", summary.pendingCount)
        writer.member("queued_at", summary.createdAt.seconds)
        writer.member("send_after", summary.createdAt.seconds)
        writer.member("completed_at", summary.finishedAt?.seconds)
        writer.member("canceled", false)
        writer.key("platform_delivery_stats")
        writer.beginObject()
        if let platform = onlyPlatform(of: application) {
            writer.key(platform.name)
            writer.beginObject()
            counts.write(to: &writer)
            writer.endObject()
        }
        writer.endObject()
        writer.key("outcomes")
        writer.beginArray()
        writer.endArray()
    }

    /// The platform that all totals are of. They are not counted by platform, so an app on both has no such statistics.
    private static func onlyPlatform(of application: Application) -> DevicePlatform? {
        switch (application.bundleID != nil, application.androidPackageName != nil) {
        case (true, false): .ios
        case (false, true): .android
        default: nil
        }
    }
}

/// The totals under OneSignal's names.
struct MessageCounts: Equatable {
    /// Reasons that mean that the device cannot be reached any more.
    static let unsubscribed: Set<DeliveryReason> = [
        .unregistered, .expiredToken, .badDeviceToken, .deviceTokenNotForTopic, .tokenGone, .fcmUnregistered,
        .fcmSenderIDMismatch,
    ]

    /// Handed to APNs or FCM.
    let successful: Int64
    /// The device is gone.
    let failed: Int64
    /// Everything else that did not get through, and what is not known.
    let errored: Int64
    /// Devices that tapped.
    let converted: Int64
    /// Devices that said that the push arrived.
    let received: Int64

    init(_ summary: NotificationSummary) {
        successful = summary.acceptedCount
        failed = summary.reasons.filter { Self.unsubscribed.contains($0.reason) }.reduce(0) { $0 + $1.count }
        errored = max(0, summary.failedCount - failed) + summary.unknownCount
        converted = summary.clickedDeviceCount
        received = summary.receiptCount
    }

    func write(to writer: inout JSONWriter) {
        writer.member("successful", successful)
        writer.member("failed", failed)
        writer.member("errored", errored)
        writer.member("converted", converted)
        writer.member("received", received)
    }
}

extension Refusal {
    /// OneSignal's own text, which its clients look for.
    fileprivate static let messageNotFound = Refusal.notFound("Notification not found")
}
