package import Gateway
import PostgreSQL

/// What became of the request to send a notification's unknown pushes again.
package enum ResendOutcome: Hashable, Sendable {
    /// So many devices are queued; the notification is open again until they have an outcome.
    case queued(deviceCount: Int64)
    /// No notification has that identifier.
    case notFound
    /// Something of it is still to be sent.
    case unfinished
    /// Its time to live has passed.
    case expired
    /// A newer state of the activity took its place, or the activity has ended.
    case overtaken
    /// No device of it is recorded as unknown.
    case nothingUnknown
}

extension Store {
    /// Sends a notification again to the devices whose push left without an answer, and to no other.
    ///
    /// They lose their old outcome in the transaction that queues them, under the lock of the fan-out's row: however many ask for it
    /// at once, each device is queued once.
    package func resendUnknown(of publicID: UUID) async throws(StorageError) -> ResendOutcome {
        let found = try await query(ResendStatements.find, [.uuid(publicID)])
        guard found.rowCount == 1 else { return .notFound }
        let notification = Parameter.int64(found.int64(row: 0, column: 0))
        return try await transaction { connection in
            // As every start, update and end of this activity: what the next statement sees stays true.
            let row = try await connection.run([
                StatementCall(
                    UpdateStatements.lock,
                    [.int32(found.int32(row: 0, column: 1)), .text(found.text(row: 0, column: 2))]),
                StatementCall(ResendStatements.lock, [notification]),
            ])[1]
            guard row.rowCount == 1 else { return .notFound }
            if row.bool(row: 0, column: 0) { return .unfinished }
            if row.bool(row: 0, column: 1) { return .overtaken }
            if row.bool(row: 0, column: 2) { return .expired }
            let queued = try await connection.query(
                ResendStatements.queue, [notification, .int32(Int32(Self.listChunkDeviceCount))])
            let count = queued.int64(row: 0, column: 0)
            return count > 0 ? .queued(deviceCount: count) : .nothingUnknown
        }
    }
}

enum ResendStatements {
    static let all = [find, lock, queue]

    static let find = Statement(
        name: "resend_find",
        text: """
            select notification.notification_id, notification.app_id, activity.activity_id
            from notification join activity using (activity_number)
            where notification.public_id = $1
            """)

    /// Whether it is unfinished, overtaken, expired.
    static let lock = Statement(
        name: "resend_lock",
        text: """
            select fan_out.finished_at is null,
                fan_out.is_superseded
                    or fan_out.event <> \(ActivityEvent.end.rawValue) and activity.ended_at is not null
                    or fan_out.event <> \(ActivityEvent.start.rawValue)
                        and activity.latest_notification is distinct from fan_out.notification_id,
                notification.expires_at <= unix_seconds(clock_timestamp())
            from fan_out join notification using (notification_id)
                join activity on activity.activity_number = fan_out.activity_number
            where fan_out.notification_id = $1
            for update of fan_out
            """)

    // The chunks that counted the devices as unknown are closed. A new chunk takes that back with a number below zero, so that the
    // sum over all chunks stays the truth, whatever becomes of it.
    /// Puts the unknown devices into chunks to be sent, without their old outcome: notification, devices of a chunk.
    static let queue = Statement(
        name: "resend_queue",
        text: """
            with forgotten as materialized (
                delete from delivery
                where notification_id = $1 and status = \(DeliveryReason.unknown.rawValue)
                returning device_id),
            placed as materialized (
                select device_id, ((row_number() over (order by device_id) - 1) / $2::int)::int as place from forgotten),
            listed as materialized (
                select place, array_agg(device_id order by device_id) as devices from placed group by place),
            counted as materialized (select count(*)::int as chunks from listed),
            opened as (
                update fan_out
                set chunk_count = fan_out.chunk_count + counted.chunks, finished_at = null
                from counted
                where fan_out.notification_id = $1 and counted.chunks > 0
                returning fan_out.chunk_count - counted.chunks as first),
            queued as (
                insert into fan_out_chunk (notification_id, number, state, devices, is_retry, unknown)
                select $1, opened.first + listed.place, 0, listed.devices, true, -cardinality(listed.devices)
                from opened, listed),
            told as (select pg_notify('fan_out', '') from opened)
            select (select count(*) from forgotten), (select count(*) from told)
            """)
}
