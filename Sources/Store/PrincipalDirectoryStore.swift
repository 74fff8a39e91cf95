package import Gateway
import PostgreSQL

extension Store: PrincipalDirectory {
    package func principal(forKeyDigest digest: [UInt8]) async throws(StorageError) -> Principal? {
        let result = try await query(PrincipalStatements.find, [.bytes(digest)])
        guard result.rowCount == 1, let kind = KeyKind(rawValue: result.int16(row: 0, column: Application.columnCount)) else {
            return nil
        }
        return Principal(application: result.application(row: 0, firstColumn: 0), kind: kind)
    }
}

enum PrincipalStatements {
    static let all = [find]

    /// The app and kind of a key in force: digest.
    static let find = Statement(
        name: "principal_find",
        text: """
            select \(Application.columns), api_key.kind
            from api_key join app using (app_id)
            where api_key.digest = $1 and api_key.revoked_at is null
            """)
}
