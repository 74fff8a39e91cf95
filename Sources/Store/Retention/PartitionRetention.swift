import Gateway
import PostgreSQL

/// Drops the partitions of days that are past their time.
///
/// A day's deliveries go first: without them no further tap and no receipt is counted, so that their sums can be kept in the fan-outs
/// before their rows go too. A partition is detached without stopping those who write to others, which waits for every transaction that
/// has begun. When that takes too long, or the daemon dies, the next round goes on from there.
struct PartitionRetention {
    /// Most partitions of one round: a month of four tables.
    static let partitionLimit: Int32 = 124
    /// Fan-outs of one statement that keeps the sums of taps and receipts.
    static let summedFanOutCount: Int32 = 1_000

    let connection: DatabaseConnection
    let bounds: RetentionBounds

    func drop(_ report: inout UpkeepReport) async throws {
        let found = try await connection.query(
            PartitionStatements.old, [.text(bounds.firstKeptDay), .int32(Self.partitionLimit)])
        for row in 0..<found.rowCount {
            let partition = OldPartition(found, row: row)
            guard !partition.isHeld else {
                report.heldPartitionCount += 1
                continue
            }
            do {
                try await drop(partition)
                report.removed.partitions += 1
            } catch {
                guard await connection.isOpen else { throw error }
                // Only one partition of a table can be on its way out at a time.
                report.partitionProblem = "\(partition.name): \(error)"
                return
            }
        }
    }

    private func drop(_ partition: OldPartition) async throws {
        switch partition.state {
        case .attached:
            if partition.table == "click" { try await keepSums(of: partition) }
            try await connection.execute("comment on table \(partition.name) is '\(PartitionStatements.mark)'")
            try await connection.execute("alter table \(partition.table) detach partition \(partition.name) concurrently")
        case .leaving:
            try await connection.execute("alter table \(partition.table) detach partition \(partition.name) finalize")
        case .detached: break
        }
        try await connection.execute("drop table \(partition.name)")
    }

    private func keepSums(of partition: OldPartition) async throws {
        var last = partition.low - 1
        repeat {
            let kept = try await connection.query(
                PartitionStatements.keepSums,
                [.int64(last), .int64(partition.high), .int32(Self.summedFanOutCount)])
            last = kept.int64(row: 0, column: 0)
        } while last > 0
    }
}

/// A partition whose day is past its time. Its name is one that `ensure_partitions` gives: letters, digits and underscores.
private struct OldPartition {
    enum State: Int32 {
        /// It takes part in its table.
        case attached = 0
        /// Detaching it was interrupted.
        case leaving = 1
        /// It was detached by an earlier round and only has to be dropped.
        case detached = 2
    }
    let table: String
    let name: String
    let state: State
    /// Whether a fan-out of that day still has something to do.
    let isHeld: Bool
    /// The numbers of its day: low <= notification_id < high.
    let low: Int64
    let high: Int64

    /// Reads a row of `PartitionStatements.old`.
    init(_ result: QueryResult, row: Int) {
        guard let state = State(rawValue: result.int32(row: row, column: 2)) else {
            preconditionFailure("the statement gives no other state")
        }
        table = result.text(row: row, column: 0)
        name = result.text(row: row, column: 1)
        self.state = state
        isHeld = result.bool(row: row, column: 3)
        low = result.int64(row: row, column: 4)
        high = result.int64(row: row, column: 5)
    }
}

enum PartitionStatements {
    static let all = [old, keepSums]

    /// The comment of a table that is on its way out. One that an operator detached does not have it and stays.
    static let mark = "openpushd drops this table"

    /// Partitions of days before the first that is kept, oldest first, in the order in which a day's are dropped; those that are
    /// held come last: first day that is kept, most rows.
    static let old = Statement(
        name: "retention_old_partitions",
        text: """
            with known as materialized (
                select parent.name as table_name, parent.place, child.relname::text as name, right(child.relname, 8) as day,
                    case when link.inhrelid is null then 2 when link.inhdetachpending then 1 else 0 end as state
                from (values ('delivery', 1), ('click', 2), ('device_report', 3),
                        ('fan_out_chunk', 4)) as parent (name, place)
                    join pg_class as owner on owner.oid = parent.name::regclass
                    join pg_class as child on child.relnamespace = owner.relnamespace and child.relkind = 'r'
                        and child.relname ~ ('^' || parent.name || '_[0-9]{8}$')
                    left join pg_inherits as link on link.inhrelid = child.oid
                where right(child.relname, 8) < $1
                    and (link.inhparent = owner.oid
                        or link.inhrelid is null and obj_description(child.oid, 'pg_class') = '\(mark)')),
            dated as materialized (
                select *, time_ordered_id(to_date(day, 'YYYYMMDD')::timestamp at time zone 'UTC', 0) as low,
                    time_ordered_id((to_date(day, 'YYYYMMDD') + 1)::timestamp at time zone 'UTC', 0) as high
                from known)
            select table_name, name, state, held.is_held, low, high
            from dated cross join lateral (
                select exists (
                        select from fan_out
                        where finished_at is null and notification_id >= low and notification_id < high)
                    or exists (
                        select from delivery_retry
                        where notification_id >= low and notification_id < high) as is_held) as held
            order by held.is_held, day, place
            limit $2
            """)

    /// Number to begin behind, end of the numbers, how many fan-outs to look at. Tells where to go on; 0 at the end.
    static let keepSums = Statement(
        name: "retention_keep_sums",
        text: """
            with seen as materialized (
                select notification_id
                from fan_out
                where notification_id > $1 and notification_id < $2
                order by notification_id
                limit $3),
            tapped as materialized (
                select click.notification_id, sum(click.taps)::bigint as taps, count(*) as devices
                from seen join click using (notification_id)
                group by click.notification_id),
            received as materialized (
                select report.notification_id, count(*) as receipts
                from seen join device_report as report using (notification_id)
                where report.report_id = \(ClickStatements.receiptLiteral)
                group by report.notification_id),
            summed as materialized (
                select notification_id, coalesce(taps, 0) as taps, coalesce(devices, 0) as devices,
                    coalesce(receipts, 0) as receipts
                from tapped full join received using (notification_id)),
            kept as (
                update fan_out
                set clicks = summed.taps, clicked_devices = summed.devices, receipts = summed.receipts
                from summed
                where fan_out.notification_id = summed.notification_id)
            select case when count(*) = $3 then max(notification_id) else 0 end from seen
            """)
}
