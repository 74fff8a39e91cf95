package import Gateway
import JSON
import PostgreSQL

extension Store: SegmentDirectory {
    package func createSegment(_ segment: NewSegment, application: ApplicationID) async throws(StorageError) -> SegmentCreation {
        let id = segment.id ?? .random()
        let created = try await query(
            SegmentStatements.create,
            [
                .uuid(id), .application(application), .text(segment.name),
                .text(String(decoding: segment.definition, as: UTF8.self)), .text(segment.note),
                .int32(Int32(AdmissionLimits.storedSegmentCount)),
            ])
        if created.bool(row: 0, column: 0) { return .created(id) }
        return created.bool(row: 0, column: 1) ? .tooMany : .conflict
    }

    package func segments(from start: SegmentPageStart, limit: Int, application: ApplicationID)
        async throws(StorageError) -> SegmentPage
    {
        // One more tells whether there is a next page.
        let size: [Parameter] = [.application(application), .int32(Int32(clamping: limit + 1))]
        let statement: StatementCall
        switch start {
        case .offset(let offset): statement = StatementCall(SegmentStatements.fromOffset, size + [.int64(Int64(offset))])
        case .behind(let microseconds, let id):
            statement = StatementCall(
                SegmentStatements.behind, size + [.timestamp(microsecondsSince1970: microseconds), .uuid(id)])
        }
        let results = try await run([statement, StatementCall(SegmentStatements.count, [.application(application)])])
        let rows = results[0]
        let count = min(rows.rowCount, limit)
        let next: SegmentPageStart? =
            rows.rowCount > limit && count > 0
            ? .behind(
                createdAtMicroseconds: rows.timestampMicroseconds(row: count - 1, column: 4),
                id: rows.uuid(row: count - 1, column: 0))
            : nil
        return SegmentPage(
            segments: (0..<count).map { StoredSegment(rows, row: $0) }, totalCount: results[1].int64(row: 0, column: 0),
            next: next)
    }

    package func segment(_ id: UUID, application: ApplicationID) async throws(StorageError) -> StoredSegment? {
        let found = try await query(SegmentStatements.one, [.application(application), .uuid(id)])
        return found.rowCount == 1 ? StoredSegment(found, row: 0) : nil
    }

    package func countDevices(in segment: StoredSegment, application: ApplicationID) async throws(StorageError) -> Int64 {
        let audience = FrozenAudience(included: try Self.branches(of: segment.definition), excluded: [])
        return try await transaction { connection in
            try await self.count(audience, type: nil, application: application, on: connection).matchedCount
        }
    }

    package func changeSegment(_ id: UUID, _ change: SegmentChange, application: ApplicationID)
        async throws(StorageError) -> SegmentChangeResult
    {
        do throws(StorageError) {
            let changed = try await query(
                SegmentStatements.change,
                [
                    .application(application), .uuid(id), Parameter(change.name), Parameter(change.note),
                    Parameter(change.definition.map { String(decoding: $0, as: UTF8.self) }),
                ])
            return changed.rowCount == 1 ? .changed : .unknown
        } catch {
            guard error == .refused(sqlState: SQLState.uniqueViolation) else { throw error }
            return .conflict
        }
    }

    package func removeSegment(_ id: UUID, application: ApplicationID) async throws(StorageError) -> Bool {
        try await query(SegmentStatements.remove, [.application(application), .uuid(id)]).rowCount == 1
    }

    /// Parsed when it was stored, by rules that may have been wider; a version that understands less must not send to somebody else.
    static func branches(of definition: [UInt8]) throws(StorageError) -> [[FilterCondition]] {
        guard let list = try? JSONDocument(parsing: definition).root,
            let expression = try? FilterParser.parse(list, field: "filters", isStored: true)
        else { throw .refused(sqlState: SQLStates.unreadableValue) }
        return expression.branches
    }
}

extension StoredSegment {
    /// Reads a row of `SegmentStatements.columns`.
    fileprivate init(_ rows: QueryResult, row: Int) {
        self.init(
            id: rows.uuid(row: row, column: 0), name: rows.text(row: row, column: 1), note: rows.text(row: row, column: 2),
            definition: rows.bytes(row: row, column: 3), createdAt: rows.milliseconds(row: row, column: 4),
            changedAt: rows.milliseconds(row: row, column: 5))
    }
}

enum SegmentStatements {
    static let all = [create, find, fromOffset, behind, count, one, change, remove]

    private static let columns = "public_id, name, note, definition, created_at, changed_at"

    /// Identifier, app, name, definition, note, most segments of an app. One row: whether it was stored, whether there are too many.
    static let create = Statement(
        name: "segment_create",
        text: """
            with stored as materialized (select count(*) as total from segment where app_id = $2),
            created as (
                insert into segment (public_id, app_id, name, definition, note)
                select $1, $2, $3, $4::text::json, $5 from stored where total < $6
                on conflict do nothing
                returning 1)
            select exists (select from created), (select total >= $6 from stored)
            """)

    /// The definitions of segments: app, names.
    static let find = Statement(
        name: "segment_find",
        text: """
            select name, definition
            from segment
            where app_id = $1 and name = any($2::text[])
            """)

    /// App, most rows, how many to pass over.
    static let fromOffset = Statement(
        name: "segment_from_offset",
        text: """
            select \(columns) from segment where app_id = $1 order by created_at, public_id limit $2 offset $3
            """)

    /// App, most rows, time of the last segment of the page before, its identifier.
    static let behind = Statement(
        name: "segment_behind",
        text: """
            select \(columns) from segment
            where app_id = $1 and (created_at, public_id) > ($3, $4)
            order by created_at, public_id
            limit $2
            """)

    static let count = Statement(name: "segment_count", text: "select count(*) from segment where app_id = $1")

    static let one = Statement(
        name: "segment_one", text: "select \(columns) from segment where app_id = $1 and public_id = $2")

    /// App, identifier, name, note, definition; null leaves what is there.
    static let change = Statement(
        name: "segment_change",
        text: """
            update segment
            set name = coalesce($3::text, name), note = coalesce($4::text, note),
                definition = coalesce($5::text::json, definition), changed_at = now()
            where app_id = $1 and public_id = $2
            returning 1
            """)

    static let remove = Statement(
        name: "segment_remove", text: "delete from segment where app_id = $1 and public_id = $2 returning 1")
}
