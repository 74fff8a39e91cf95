import Gateway
import PostgreSQL

/// One round of removing what is past its time, by one session that is alone at it.
///
/// A day's deliveries, taps and chunks go with their partitions; rows of other tables go in batches, so that no statement holds
/// locks for long. Whatever a round does not get to is left for the next one.
struct Retention {
    /// Rows one statement removes.
    static let batchCount: Int32 = 10_000
    /// Notifications or activities one statement looks at: each is removed from several indexes.
    static let windowCount: Int32 = 1_000
    /// Statements of each kind in one round.
    static let statementLimit = 100
    /// How long an update token outlives the last moment it could be pushed, in seconds: until then the device may still say that
    /// its activity is over, and telling the token again does not make the activity a new one.
    static let deadTokenSeconds: Int64 = 24 * 3600

    let connection: DatabaseConnection
    let days: Int
    let moment: UnixMilliseconds?

    func round(_ progress: RetentionProgress) async throws -> UpkeepReport {
        let bounds = RetentionBounds(
            try await connection.query(
                RetentionStatements.bounds,
                [
                    moment.map { .timestamp($0.storedMicroseconds) } ?? .null, .int32(Int32(clamping: days)),
                    .int64(ActivityWindow.endSeconds),
                ]))
        var report = UpkeepReport()
        report.progress = progress
        try await PartitionRetention(connection: connection, bounds: bounds).drop(&report)
        report.removed.keys = try await removeAll(RetentionStatements.removeKeys, [.timestamp(bounds.moment)])
        report.removed.retries = try await removeAll(RetentionStatements.removeRetries, [.int64(bounds.firstKeptNumber)])
        // Before the notifications of their deliveries: what became of these is told by those.
        report.removed.instances = try await removeAll(RetentionStatements.removeInstances, [.timestamp(bounds.cutoff)])
        _ = try await removeAll(RetentionStatements.removeBroadcasts, [.timestamp(bounds.cutoff)])
        _ = try await removeAll(RetentionStatements.removeReports, [.timestamp(bounds.cutoff)])
        _ = try await removeAll(RetentionStatements.removeNames, [.timestamp(bounds.cutoff)])
        try await removeNotifications(&report, bounds)
        // Nobody was promised anything of these, so that they are not counted.
        _ = try await removeAll(RetentionStatements.removePendingStates, [.timestamp(bounds.moment)])
        _ = try await removeAll(RetentionStatements.removeQuietTokens, [.timestamp(bounds.moment)])
        report.removed.updateTokens = try await removeAll(
            RetentionStatements.removeUpdateTokens,
            [.timestamp(bounds.moment), .int64(ActivityWindow.endSeconds + Self.deadTokenSeconds)])
        try await removeActivities(&report, bounds)
        try await connection.query(RetentionStatements.markWorkersLost, [.timestamp(bounds.moment)])
        report.removed.workers = try await removeAll(RetentionStatements.removeWorkers, [.timestamp(bounds.moment)])
        return report
    }

    /// Repeats a statement, whose first parameter is the most rows it removes, until it finds less.
    private func removeAll(_ statement: Statement, _ parameters: [Parameter]) async throws -> Int {
        var total = 0
        for _ in 0..<Self.statementLimit {
            let count = try await connection.query(statement, [.int32(Self.batchCount)] + parameters).affectedRowCount
            total += count
            guard count == Int(Self.batchCount) else { break }
        }
        return total
    }

    private func removeNotifications(_ report: inout UpkeepReport, _ bounds: RetentionBounds) async throws {
        for _ in 0..<Self.statementLimit {
            let window = try await connection.query(
                RetentionStatements.removeNotifications,
                [
                    .int64(report.progress.notification), .int64(bounds.firstKeptNumber), .timestamp(bounds.cutoff),
                    .int32(Self.windowCount),
                ])
            report.removed.notifications += Int(window.int64(row: 0, column: 0))
            report.progress.notification = window.int64(row: 0, column: 1)
            guard report.progress.notification > 0 else { break }
        }
    }

    private func removeActivities(_ report: inout UpkeepReport, _ bounds: RetentionBounds) async throws {
        for _ in 0..<Self.statementLimit {
            let begin = report.progress.activity
            let (count, last): (Int, Int64) = try await connection.transaction { connection in
                let window = try await connection.query(
                    RetentionStatements.lockActivities,
                    [.int64(begin), .int64(bounds.firstKeptActivity), .timestamp(bounds.cutoff), .int32(Self.windowCount)])
                let locked = (0..<window.rowCount).filter { window.bool(row: $0, column: 1) }
                    .map { window.int64(row: $0, column: 0) }
                let isFull = window.rowCount == Int(Self.windowCount)
                let last = isFull ? window.int64(row: window.rowCount - 1, column: 0) : 0
                guard !locked.isEmpty else { return (0, last) }
                let gone = try await connection.query(
                    RetentionStatements.removeActivities, [.int64Array(locked), .timestamp(bounds.cutoff)])
                return (gone.affectedRowCount, last)
            }
            report.removed.activities += count
            report.progress.activity = last
            guard last > 0 else { break }
        }
    }
}

/// What is past its time.
struct RetentionBounds {
    /// What counts as now, microseconds since 1970.
    let moment: Int64
    /// What ended before is past its time, microseconds since 1970.
    let cutoff: Int64
    /// Notifications with a smaller number are of days that are past their time as a whole.
    let firstKeptNumber: Int64
    /// Activities with a smaller number began so long ago that they can neither be updated nor ended.
    let firstKeptActivity: Int64
    /// The first day that is kept, `YYYYMMDD`.
    let firstKeptDay: String

    /// Reads the row of `RetentionStatements.bounds`.
    init(_ row: QueryResult) {
        moment = row.timestampMicroseconds(row: 0, column: 0)
        cutoff = row.timestampMicroseconds(row: 0, column: 1)
        firstKeptNumber = row.int64(row: 0, column: 2)
        firstKeptActivity = row.int64(row: 0, column: 3)
        firstKeptDay = row.text(row: 0, column: 4)
    }
}

extension Parameter {
    fileprivate static func timestamp(_ microseconds: Int64) -> Parameter { .timestamp(microsecondsSince1970: microseconds) }
}
