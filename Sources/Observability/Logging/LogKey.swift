/// The name of a field of a log line. The list is closed, so that searches and dashboards can rely on it, and no key invites a secret,
/// a device token or a payload.
package struct LogKey: Hashable, Sendable {
    /// The name as it is written.
    package let name: String

    private init(_ name: String) { self.name = name }

    // What it is about.
    package static let appID = LogKey("app_id")
    package static let notificationID = LogKey("notification_id")
    package static let chunkID = LogKey("chunk_id")
    package static let workerID = LogKey("worker_id")
    package static let teamID = LogKey("team_id")
    package static let keyID = LogKey("key_id")
    package static let projectID = LogKey("project_id")
    package static let topic = LogKey("topic")
    package static let environment = LogKey("environment")

    // Where it happened.
    package static let address = LogKey("address")
    package static let host = LogKey("host")
    package static let port = LogKey("port")
    package static let method = LogKey("method")
    package static let route = LogKey("route")

    // What came of it.
    package static let reason = LogKey("reason")
    package static let errorCode = LogKey("error_code")
    package static let sqlState = LogKey("sql_state")
    package static let status = LogKey("status")
    package static let signal = LogKey("signal")

    // How much.
    package static let count = LogKey("count")
    package static let acceptedCount = LogKey("accepted_count")
    package static let rejectedCount = LogKey("rejected_count")
    package static let unknownCount = LogKey("unknown_count")
    package static let unsentCount = LogKey("unsent_count")
    package static let file = LogKey("file")
    package static let partitionCount = LogKey("partition_count")
    package static let idempotencyKeyCount = LogKey("idempotency_key_count")
    package static let notificationCount = LogKey("notification_count")
    package static let activityCount = LogKey("activity_count")
    package static let goneChannelCount = LogKey("gone_channel_count")
    package static let recoveredChannelCount = LogKey("recovered_channel_count")
    package static let foreignChannelCount = LogKey("foreign_channel_count")
    package static let updateTokenCount = LogKey("update_token_count")
    package static let instanceCount = LogKey("instance_count")
    package static let retryCount = LogKey("retry_count")
    package static let workerCount = LogKey("worker_count")
    package static let durationMilliseconds = LogKey("duration_ms")
}
