import Gateway
import JSON
import PostgreSQL

extension DeviceProfile {
    /// Reads a row of `DeviceStatements.columns`; nil for what this version cannot read.
    init?(_ rows: QueryResult, row: Int) {
        guard let environment = PushEnvironment(rawValue: rows.int16(row: row, column: 2)),
            let platform = DevicePlatform(rawValue: rows.int16(row: row, column: 18)),
            let tags = Self.texts(rows.jsonb(row: row, column: 11)), let aliases = Self.texts(rows.jsonb(row: row, column: 12))
        else { return nil }
        self.init(environment: environment)
        self.platform = platform
        isRelayed = rows.bool(row: row, column: 19)
        self.tags = tags
        self.aliases = aliases
        language = rows.optionalText(row: row, column: 3)
        country = rows.optionalText(row: row, column: 4)
        appVersion = rows.optionalText(row: row, column: 5).map { ExactText($0) }
        osVersion = rows.optionalText(row: row, column: 6).map { ExactText($0) }
        timeZone = rows.optionalText(row: row, column: 7).map { ExactText($0) }
        sessionCount = rows.int64(row: row, column: 8)
        firstSession = rows.optionalInt64(row: row, column: 9)
        lastSession = rows.optionalInt64(row: row, column: 10)
        sessionSeconds = rows.int64(row: row, column: 13)
        location = rows.location(row: row, firstColumn: 14)
        isEnabled = rows.bool(row: row, column: 16)
    }

    private static func texts(_ json: [UInt8]) -> [ExactText: ExactText]? {
        guard let root = try? JSONDocument(parsing: json).root else { return nil }
        var texts: [ExactText: ExactText] = [:]
        for (key, value) in root.members { texts[ExactText(key)] = value.string.map { ExactText($0) } }
        return texts
    }

    var tagsJSON: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, value) in tags.sorted(by: { $0.key < $1.key }) { writer.member(key.text, value.text) }
        writer.endObject()
        return writer.bytes
    }
}
