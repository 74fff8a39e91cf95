package import Gateway
import PostgreSQL
import Security

extension Store {
    /// The devices of one page, behind `low` and up to `high`: rows as `Chunk` reads them, with what is asked for.
    func page(
        of audience: FrozenAudience, type: Int32, low: Int64, high: Int64, momentMicroseconds: Int64, deviceCount: Int,
        hasLanguages: Bool, joinsChannels: Bool = false, application: ApplicationID, on connection: DatabaseConnection
    ) async throws -> QueryResult {
        let sql = AudienceSQL(audience)
        // A column more is a call more for every device.
        let facts =
            joinsChannels
            ? ", device.language, joins_channels(device.os_version)" : hasLanguages ? ", device.language" : ""
        let text = """
            select token.device_id, token.token, token.service\(facts)
            \(sql.source(withDevice: hasLanguages || joinsChannels))
            order by token.device_id
            limit \(AudienceSQL.Position.next)
            """
        return try await connection.query(
            Statement(varying: "audience_page", text: text),
            sql.parameters(
                application: application, type: type, low: low, high: high, momentMicroseconds: momentMicroseconds)
                + [.int32(Int32(deviceCount))])
    }

    /// Reads through everybody whom conditions match, page by page and window by window as a fan-out does, and stores nothing: what
    /// `benchmark audience` measures. Returns how many devices it found.
    package func readThrough(_ audience: Audience, activityType: String, deviceCount: Int, application: ApplicationID)
        async throws(StorageError) -> Int
    {
        try await transaction { connection in
            let found = try await connection.query(CountingStatements.type, [.application(application), .text(activityType)])
            guard found.rowCount == 1 else { return 0 }
            let type = found.int32(row: 0, column: 0)
            guard
                case .conditions(let frozen) = try await self.resolve(
                    audience, type: type, application: application, on: connection)
            else { return 0 }
            let moment = try await connection.query(CountingStatements.moment).timestampMicroseconds(row: 0, column: 0)
            var (low, windowEnd, total): (Int64, Int64, Int) = (0, 0, 0)
            while low < .max {
                if windowEnd <= low {
                    let window = try await connection.query(
                        CarvingStatements.windowEnd,
                        [.application(application), .int32(type), .int64(low), .int32(Int32(Self.windowTokenCount))])
                    windowEnd = window.rowCount == 1 ? window.int64(row: 0, column: 0) : .max
                }
                let page = try await self.page(
                    of: frozen, type: type, low: low, high: windowEnd, momentMicroseconds: moment, deviceCount: deviceCount,
                    hasLanguages: false, application: application, on: connection)
                let count = page.rowCount
                total += count
                (low, windowEnd) = CarvingWindow(low: low, end: windowEnd == .max ? nil : windowEnd).after(
                    count > 0 ? page.int64(row: count - 1, column: 0) : nil, isFull: count == deviceCount)
            }
            return total
        }
    }
}

extension Statement {
    /// A statement whose text depends on what is asked, prepared for the many pages of one fan-out: to plan a page takes longer than to read
    /// a third of it. What it names is bound to the text by 128 bits of its SHA-256.
    init(varying kind: String, text: String) {
        let digest = SHA256.digest(Array(text.utf8)).prefix(16)
        self.init(name: "\(kind)_\(Hexadecimal.encode(Array(digest)))", text: text)
    }
}
