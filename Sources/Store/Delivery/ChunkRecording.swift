import Gateway
import PostgreSQL

extension Store {
    /// From this many rows on COPY is cheaper than an INSERT of arrays (facts: below 1000 to 2000 rows its fixed cost dominates).
    static let copyRowCount = 1_000

    /// Closes the chunks that still are this worker's, with everything that belongs to them.
    func store(_ records: [ChunkRecord], worker: WorkerID) async throws(StorageError) -> [ChunkID] {
        guard !records.isEmpty else { return [] }
        let closed: Set<ChunkID>
        do {
            closed = try await store(records, worker: worker, mayCopy: true)
        } catch .refused(sqlState: SQLState.uniqueViolation) {
            // A device has an outcome already: one that changed its token while its push was on the way was sent the state again.
            closed = try await store(records, worker: worker, mayCopy: false)
        }
        try await finish(closed.map(\.notification).uniqued())
        return records.map(\.chunk).filter { !closed.contains($0) }
    }

    private func store(_ records: [ChunkRecord], worker: WorkerID, mayCopy: Bool) async throws(StorageError) -> Set<ChunkID> {
        try await transaction { connection in
            let superseded = try await self.supersededAmongRetried(records, on: connection)
            let outcomes = records.map { ChunkTally($0, isSuperseded: superseded.contains($0.chunk.notification)) }
            let closing = try await connection.query(ChunkRecordStatements.close, ChunkTally.parameters(outcomes, worker: worker))
            var repeatable: [ChunkID: Bool] = [:]
            let byPlace = [ChunkPlace: ChunkTally](outcomes.map { (ChunkPlace($0.chunk), $0) }) { first, _ in first }
            for row in 0..<closing.rowCount {
                let place = ChunkPlace(
                    notification: closing.int64(row: row, column: 0), number: closing.int32(row: row, column: 1))
                guard let tally = byPlace[place] else { continue }
                repeatable[tally.chunk] = closing.bool(row: row, column: 2)
            }
            let kept = outcomes.filter { repeatable[$0.chunk] != nil }
            try await self.store(kept.filter { repeatable[$0.chunk] == true }, mayCopy: false, on: connection)
            try await self.store(kept.filter { repeatable[$0.chunk] == false }, mayCopy: mayCopy, on: connection)
            try await self.keepQuiet(kept, on: connection)
            try await self.storeRetries(kept, on: connection)
            try await self.removeDeadTokens(kept, on: connection)
            return Set(repeatable.keys)
        }
    }

    /// A retry that is stored after its notification was superseded would be sent behind the newer state. The lock keeps that
    /// from happening until the commit.
    private func supersededAmongRetried(
        _ records: [ChunkRecord], on connection: DatabaseConnection
    ) async throws -> Set<NotificationID> {
        let retried = records.filter { !$0.retries.isEmpty }.map(\.chunk.notification).uniqued()
        guard !retried.isEmpty else { return [] }
        let locked = try await connection.query(ChunkRecordStatements.lockRetried, [.notifications(retried)])
        return Set(
            (0..<locked.rowCount).filter { locked.bool(row: $0, column: 1) }
                .map { NotificationID(rawValue: locked.int64(row: $0, column: 0)) })
    }

    private func store(_ tallies: [ChunkTally], mayCopy: Bool, on connection: DatabaseConnection) async throws {
        let total = tallies.reduce(0) { $0 + $1.deliveries.count }
        guard total > 0 else { return }
        if mayCopy, total >= Self.copyRowCount {
            _ = try await connection.copyIn(ChunkRecordStatements.copy, data: Self.rows(of: tallies, count: total))
        } else {
            try await insert(tallies.flatMap { tally in tally.deliveries.map { (tally, $0) } }, on: connection)
        }
    }

    /// In the order of the key: neighbours go to the same page of its index, and pages fill up before they split.
    private static func rows(of tallies: [ChunkTally], count: Int) -> [UInt8] {
        let places = tallies.sorted {
            ($0.chunk.notification.rawValue, $0.chunk.number) < ($1.chunk.notification.rawValue, $1.chunk.number)
        }
        var buffer = CopyBuffer(byteCapacity: count * 42)
        for tally in places {
            for delivery in tally.deliveries.sorted(by: { $0.device < $1.device }) {
                buffer.appendRow(
                    int64: tally.chunk.notification.rawValue, int64: delivery.device, int32: tally.offset(of: delivery),
                    int16: delivery.reason.rawValue)
            }
        }
        return buffer.finish()
    }

    private func insert(_ rows: [(ChunkTally, DeliveryRecord)], on connection: DatabaseConnection) async throws {
        let inserted = try await connection.query(ChunkRecordStatements.insert, Self.parameters(rows))
        guard inserted.rowCount < rows.count else { return }
        let first = Set(
            (0..<inserted.rowCount).map {
                Recipient(notification: inserted.int64(row: $0, column: 0), device: inserted.int64(row: $0, column: 1))
            })
        var seen: Set<Recipient> = []
        let again = rows.filter { tally, delivery in
            let recipient = Recipient(notification: tally.chunk.notification.rawValue, device: delivery.device)
            return !seen.insert(recipient).inserted || !first.contains(recipient)
        }
        try await connection.query(
            ChunkRecordStatements.countOnce, Self.parameters(again) + [.int32Array(again.map(\.0.chunk.number))])
    }

    private static func parameters(_ rows: [(ChunkTally, DeliveryRecord)]) -> [Parameter] {
        [
            .int64Array(rows.map(\.0.chunk.notification.rawValue)), .int64Array(rows.map(\.1.device)),
            .int32Array(rows.map { $0.0.offset(of: $0.1) }), .int16Array(rows.map(\.1.reason.rawValue)),
        ]
    }

    private func storeRetries(_ tallies: [ChunkTally], on connection: DatabaseConnection) async throws {
        let rows = tallies.flatMap { tally in tally.retries.map { (tally.chunk.notification.rawValue, $0) } }
            .sorted { ($0.0, $0.1.device) < ($1.0, $1.1.device) }
        guard !rows.isEmpty else { return }
        try await connection.query(
            ChunkRecordStatements.insertRetries,
            [
                .int64Array(rows.map(\.0)), .int64Array(rows.map(\.1.device)), .int16Array(rows.map(\.1.attempt)),
                .timestampArray(rows.map { $0.1.notBefore.storedMicroseconds }),
            ])
    }

    private func removeDeadTokens(_ tallies: [ChunkTally], on connection: DatabaseConnection) async throws {
        for (isStart, statement) in [
            (true, ChunkRecordStatements.removeStartTokens), (false, ChunkRecordStatements.removeUpdateTokens),
        ] {
            let rows = tallies.filter { ($0.event == .start) == isStart }
                .flatMap { tally in tally.deadTokens.map { (tally.chunk.notification.rawValue, $0) } }
            guard !rows.isEmpty else { continue }
            var parameters: [Parameter] = [
                .int64Array(rows.map(\.0)), .int64Array(rows.map(\.1.device)), .bytesArray(rows.map(\.1.token)),
                .timestampArray(rows.map { row in row.1.since?.storedMicroseconds }),
            ]
            if isStart { parameters.append(.int16Array(rows.map(\.1.reason.rawValue))) }
            if !isStart { try await giveUpChannels(rows, on: connection) }
            try await connection.query(statement, parameters)
        }
    }

    /// Update tokens only: a start is sent once, and what waits of it waits by itself.
    private func keepQuiet(_ tallies: [ChunkTally], on connection: DatabaseConnection) async throws {
        let rows = tallies.filter { $0.event != .start }
            .flatMap { tally in tally.quietTokens.map { (tally.chunk.notification.rawValue, $0) } }
        guard !rows.isEmpty else { return }
        try await connection.query(
            ChunkRecordStatements.keepQuiet,
            [
                .int64Array(rows.map(\.0)), .int64Array(rows.map(\.1.device)), .bytesArray(rows.map(\.1.token)),
                .timestampArray(rows.map { $0.1.until.storedMicroseconds }),
            ])
    }

    // Channels before the rows of their tokens, as whoever takes a channel for an activity does.
    /// Apple knows these channels no more: a deletion finds that out for good.
    private func giveUpChannels(_ rows: [(Int64, DeadToken)], on connection: DatabaseConnection) async throws {
        let channels = rows.filter { $0.1.device < 0 }
        guard !channels.isEmpty else { return }
        try await connection.query(
            ChannelStatements.giveUp,
            [.int64Array(channels.map(\.0)), .textArray(channels.map { String(decoding: $0.1.token, as: UTF8.self) })])
    }
}

/// A device of a notification.
private struct Recipient: Hashable {
    let notification: Int64
    let device: Int64
}

/// A chunk without its epoch.
private struct ChunkPlace: Hashable {
    let notification: Int64
    let number: Int32
    init(notification: Int64, number: Int32) {
        self.notification = notification
        self.number = number
    }
    init(_ chunk: ChunkID) { self.init(notification: chunk.notification.rawValue, number: chunk.number) }
}
