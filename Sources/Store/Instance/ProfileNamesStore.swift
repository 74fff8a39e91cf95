import Gateway
import JSON
import PostgreSQL

extension Store {
    func storeNames(_ told: ProfileNames, application: ApplicationID) async throws(StorageError) -> Bool {
        var writer = JSONWriter()
        writer.beginObject()
        for (label, name) in told.names.sorted(by: { $0.key < $1.key }) { writer.member(label.text, name) }
        writer.endObject()
        let kept = try await query(
            ProfileNameStatements.keep, [.application(application), .text(told.user), .jsonb(writer.bytes)])
        return kept.affectedRowCount == 1
    }

    func readNames(ofUser user: String, application: ApplicationID) async throws(StorageError) -> [ExactText: String] {
        let found = try await query(ProfileNameStatements.find, [.application(application), .text(user)])
        guard found.rowCount == 1 else { return [:] }
        guard let root = try? JSONDocument(parsing: found.jsonb(row: 0, column: 0)).root else {
            throw .refused(sqlState: SQLStates.unreadableValue)
        }
        var names: [ExactText: String] = [:]
        for (label, name) in root.members { names[ExactText(label)] = name.string }
        return names
    }
}

enum ProfileNameStatements {
    static let all = [keep, find]

    /// App, user, names, null for each that goes. A row when it changes anything.
    static let keep = Statement(
        name: "profile_names_keep",
        text: """
            insert into profile_names as known (app_id, external_id, names)
            select $1, $2, jsonb_strip_nulls($3)
            on conflict (app_id, external_id) do update
                set names = jsonb_strip_nulls(known.names || $3), told_at = now()
                where jsonb_strip_nulls(known.names || $3) <> known.names
            """)

    static let find = Statement(
        name: "profile_names_find", text: "select names from profile_names where app_id = $1 and external_id = $2")
}
