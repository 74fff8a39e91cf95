package import Gateway
import PostgreSQL

extension Store: SegmentDirectory {
    package func createSegment(id: UUID?, name: String, definition: [UInt8], application: ApplicationID)
        async throws(StorageError) -> SegmentCreation
    {
        let text = String(decoding: definition, as: UTF8.self)
        let id = id ?? .random()
        let created = try await query(SegmentStatements.create, [.uuid(id), .application(application), .text(name), .text(text)])
        return created.rowCount == 1 ? .created(id) : .conflict
    }
}

enum SegmentStatements {
    static let all = [create, find]

    static let create = Statement(
        name: "segment_create",
        text: """
            insert into segment (public_id, app_id, name, definition)
            values ($1, $2, $3, $4::text::json)
            on conflict do nothing
            returning 1
            """)

    /// The definitions of segments: app, names.
    static let find = Statement(
        name: "segment_find",
        text: """
            select name, definition
            from segment
            where app_id = $1 and name = any($2::text[])
            """)
}
