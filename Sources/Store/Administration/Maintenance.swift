package import Gateway
import PostgreSQL

extension Store {
    /// Days for which partitions are made ahead: an insert finds its partition when a daemon ran within a day less.
    static let partitionDaysAhead: Int32 = 8
    /// Rows one statement of `maintain` removes, so that none holds locks for long.
    static let removalBatchCount: Int32 = 10_000
    /// Statements of each kind in one run of `maintain`; the rest is left for the next one.
    static let removalBatchLimit = 100
    /// How long an update token outlives the last moment it could be pushed, in seconds.
    static let deadTokenSeconds: Int64 = 24 * 3600

    /// Makes the partitions of the coming days that are missing; any number of daemons may do so at once.
    package func maintainPartitions() async throws(StorageError) {
        try await query(MaintenanceStatements.ensurePartitions, [.int32(Self.partitionDaysAhead)])
    }

    /// Removes what nobody will ask for again: idempotency keys past their time, update tokens no push can reach, workers long
    /// gone; and finishes fan-outs whose last worker died between its last two commits.
    package func maintain() async throws(StorageError) {
        try await maintainPartitions()
        for (statement, parameters) in [
            (MaintenanceStatements.removeKeys, [Parameter.int32(Self.removalBatchCount)]),
            (
                MaintenanceStatements.removeUpdateTokens,
                [.int32(Self.removalBatchCount), .int64(ActivityWindow.endSeconds + Self.deadTokenSeconds)]
            ),
            (MaintenanceStatements.removeWorkers, [.int32(Self.removalBatchCount)]),
        ] {
            for _ in 0..<Self.removalBatchLimit {
                guard try await query(statement, parameters).affectedRowCount == Int(Self.removalBatchCount) else { break }
            }
        }
        try await finish(nil)
    }
}

enum MaintenanceStatements {
    static let all = [ensurePartitions, removeKeys, removeUpdateTokens, removeWorkers]

    static let ensurePartitions = Statement(name: "maintenance_partitions", text: "select ensure_partitions($1)")

    static let removeKeys = Statement(
        name: "maintenance_remove_keys",
        text: """
            with old as (
                select app_id, key from idempotency
                where created_at <= now() - \(StartStatements.keyLifetime)
                order by created_at
                limit $1
                for update skip locked)
            delete from idempotency
            using old
            where idempotency.app_id = old.app_id and idempotency.key = old.key
            """)

    static let removeUpdateTokens = Statement(
        name: "maintenance_remove_update_tokens",
        text: """
            with old as (
                select activity_number, device_id from update_token
                where started_at < unix_seconds(now()) - $2
                order by activity_number, device_id
                limit $1
                for update skip locked)
            delete from update_token as token
            using old
            where token.activity_number = old.activity_number and token.device_id = old.device_id
            """)

    static let removeWorkers = Statement(
        name: "maintenance_remove_workers",
        text: """
            with old as (
                select worker_id from worker
                where lost_at < now() - interval '1 day' and not exists (
                    select from fan_out join fan_out_chunk as chunk using (notification_id)
                    where fan_out.finished_at is null and chunk.state = 1 and chunk.owner = worker.worker_id)
                order by worker_id
                limit $1
                for update skip locked)
            delete from worker
            using old
            where worker.worker_id = old.worker_id
            """)
}
